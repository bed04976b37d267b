;; Sends Kill on a channel of a contract of which it has another text under the same name.
;; stopped: start
;; with: argument out of range
(module
  (import "contract:PingContract" "imp.send.Ping" (func $PingContract.imp.send.Ping (param i32 i64) (result i32)))
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (func (export "sip_main") (result i32)
    (call $PingContract.imp.send.Ping (call $startup_endpoint (i32.const 0)) (i64.const 1)))
  (@custom "singularity.manifest"
    "{\"name\": \"contract_lies_about_its_name\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"ping\", \"contract\": \"PingContract\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract PingContract {\n"
    "  in message Ping(uint number);\n"
    "  in message Kill(uint number);\n"
    "  out message Pong(uint number);\n"
    "  state Start: one { Ping? -> Pong! -> Start; Kill? -> Pong! -> Start; }\n"
    "}"))
