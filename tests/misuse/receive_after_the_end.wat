;; Receives when only the close is left: there is no message, until the other side has closed.
;; stopped: no
(module
  (import "contract:Once" "new" (func $Once.new (param i32) (result i32)))
  (import "contract:Once" "imp.send.Go" (func $Once.imp.send.Go (param i32) (result i32)))
  (import "sing_v1" "endpoint_peek" (func $endpoint_peek (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "contract:Once" "imp.recv" (func $Once.imp.recv (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Once.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Once.imp.send.Go (local.get $imp)))
    (if (i32.ne (call $endpoint_peek (local.get $imp)) (i32.const -8))
      (then (return (i32.const 1))))
    (drop (call $handle_dispose (local.get $exp)))
    (if (i32.ne (call $Once.imp.recv (local.get $imp) (i32.const 64)) (i32.const -1))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"receive_after_the_end\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Once {\n"
    "  in message Go();\n"
    "  state Start: Go? -> closed;\n"
    "}"))
