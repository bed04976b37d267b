;; Sends words from an address outside its memory, in a call.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "contract:Many" "new" (func $Many.new (param i32) (result i32)))
  (import "contract:Many" "imp.call.Four" (func $Many.imp.call.Four (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Many.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Many.imp.call.Four (local.get $imp) (i32.const -8) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"words_of_a_call_out_of_memory\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Many {\n"
    "  in message Four(ulong a, ulong b, ulong c, ulong d);\n"
    "  out message Done();\n"
    "  state Start: Four? -> Done! -> Start;\n"
    "}"))
