;; Uses an endpoint as a set.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $other i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $h (i32.load (i32.const 0)))
    (local.set $other (i32.load (i32.const 4)))
    (drop (call $set_wait (local.get $h) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_as_set\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
