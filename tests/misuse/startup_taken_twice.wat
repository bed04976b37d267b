;; Takes a start-up endpoint twice, and some that it was never given.
;; stopped: no
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:PingContract" "imp.call.Ping" (func $PingContract.imp.call.Ping (param i32 i64 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $ping i32)
    (local.set $ping (call $startup_endpoint (i32.const 0)))
    (if (i32.ne (call $PingContract.imp.call.Ping (local.get $ping) (i64.const 21) (i32.const 64)) (i32.const 1))
      (then (return (i32.const 1))))
    (if (i32.ne (i32.load (i32.const 64)) (i32.const 42))
      (then (return (i32.const 2))))
    (if (i32.ne (call $startup_endpoint (i32.const 0)) (i32.const -4))
      (then (return (i32.const 3))))
    (if (i32.ne (call $startup_endpoint (i32.const 1)) (i32.const -4))
      (then (return (i32.const 4))))
    (if (i32.ne (call $startup_endpoint (i32.const -1)) (i32.const -4))
      (then (return (i32.const 5))))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"startup_taken_twice\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"ping\", \"contract\": \"PingContract\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "public contract PingContract {\n"
    "  in message Ping(uint number);\n"
    "  out message Pong(uint number);\n"
    "  state Start: Ping? -> Pong! -> Start;\n"
    "}"))
