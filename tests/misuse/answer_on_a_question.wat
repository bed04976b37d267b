;; Sends an answer on the end that asks: the message belongs to the other side, whose end it may
;; hold as well.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:PingContract" "new" (func $PingContract.new (param i32) (result i32)))
  (import "contract:PingContract" "exp.send.Pong" (func $PingContract.exp.send.Pong (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $ping i32) (local $imp i32) (local $exp i32)
    (local.set $ping (call $startup_endpoint (i32.const 0)))
    (drop (call $PingContract.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $PingContract.exp.send.Pong (local.get $ping) (i64.const 1)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"answer_on_a_question\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"ping\", \"contract\": \"PingContract\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "public contract PingContract {\n"
    "  in message Ping(uint number);\n"
    "  out message Pong(uint number);\n"
    "  state Start: Ping? -> Pong! -> Start;\n"
    "}"))
