;; Uses an endpoint as an event.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "event_set" (func $event_set (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $other i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $h (i32.load (i32.const 0)))
    (local.set $other (i32.load (i32.const 4)))
    (drop (call $event_set (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_as_event\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
