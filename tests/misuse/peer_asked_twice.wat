;; Asks another process twice without receiving.
;; stopped: run
;; with: message out of turn
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:PingContract" "imp.send.Ping" (func $PingContract.imp.send.Ping (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $ping i32)
    (local.set $ping (call $startup_endpoint (i32.const 0)))
    (drop (call $PingContract.imp.send.Ping (local.get $ping) (i64.const 1)))
    (drop (call $PingContract.imp.send.Ping (local.get $ping) (i64.const 2)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"peer_asked_twice\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"ping\", \"contract\": \"PingContract\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "public contract PingContract {\n"
    "  in message Ping(uint number);\n"
    "  out message Pong(uint number);\n"
    "  state Start: Ping? -> Pong! -> Start;\n"
    "}"))
