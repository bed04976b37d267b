;; Sends on an endpoint that it has closed.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $handle_dispose (local.get $imp)))
    (drop (call $Ask.imp.send.Say (local.get $imp) (i64.const 1)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"use_after_close\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
