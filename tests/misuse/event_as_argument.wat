;; Sends an event in place of an endpoint.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "contract:Carry" "imp.send.Take" (func $Carry.imp.send.Take (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $carry i32) (local $carried i32)
    (local.set $imp (call $auto_event_create (i32.const 1)))
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $Carry.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"event_as_argument\", \"abi\": 1}")
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
