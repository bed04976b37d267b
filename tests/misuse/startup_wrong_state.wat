;; Declares a start-up endpoint in another state than the given one.
;; stopped: start
;; with: argument out of range
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"startup_wrong_state\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"ping\", \"contract\": \"PingContract\", \"side\": \"imp\", \"state\": \"Start'Ping\"}]}")
  (@custom "singularity.contracts"
    "public contract PingContract {\n"
    "  in message Ping(uint number);\n"
    "  out message Pong(uint number);\n"
    "  state Start: Ping? -> Pong! -> Start;\n"
    "}"))
