;; Casts an event to an endpoint.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "contract:Ask" "imp.cast" (func $Ask.imp.cast (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (local.set $imp (call $auto_event_create (i32.const 0)))
    (drop (call $Ask.imp.cast (local.get $imp) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"event_cast\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
