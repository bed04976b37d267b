;; Calls a side that has closed, with an event in place of an endpoint: the call finds the channel
;; closed and leaves the event alone.
;; stopped: no
(module
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "contract:Carry" "imp.call.Take" (func $Carry.imp.call.Take (param i32 i64 i32) (result i32)))
  (import "sing_v1" "event_set" (func $event_set (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $carry i32) (local $carried i32) (local $h i32)
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $handle_dispose (local.get $carried)))
    (local.set $h (call $auto_event_create (i32.const 0)))
    (if (i32.ne (call $Carry.imp.call.Take (local.get $carry) (i64.extend_i32_u (local.get $h)) (i32.const 64)) (i32.const -1))
      (then (return (i32.const 1))))
    (if (i32.ne (call $event_set (local.get $h)) (i32.const 0))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"call_of_the_closed_with_an_event\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract Carry {\n"
    "  in message Take(Ask.Imp:Start e);\n"
    "  in message Both(Ask.Imp:Start a, Ask.Imp:Start b);\n"
    "  out message Ok();\n"
    "  state Start: one { Take? -> Ok! -> Start; Both? -> Ok! -> Start; }\n"
    "}"))
