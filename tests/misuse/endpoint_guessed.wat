;; Sends on its endpoint under another generation.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Ask.imp.send.Say (i32.xor (local.get $imp) (i32.const 458752)) (i64.const 1)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_guessed\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
