;; Sends when only the close is left.
;; stopped: run
;; with: message out of turn
(module
  (import "contract:Once" "new" (func $Once.new (param i32) (result i32)))
  (import "contract:Once" "imp.send.Go" (func $Once.imp.send.Go (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Once.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Once.imp.send.Go (local.get $imp)))
    (drop (call $Once.imp.send.Go (local.get $imp)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"after_the_end\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Once {\n"
    "  in message Go();\n"
    "  state Start: Go? -> closed;\n"
    "}"))
