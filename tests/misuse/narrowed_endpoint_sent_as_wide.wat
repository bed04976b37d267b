;; Narrows an endpoint, and sends it in a message that declares a wide one.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Tcp" "new" (func $Tcp.new (param i32) (result i32)))
  (import "contract:Listener" "imp.cast" (func $Listener.imp.cast (param i32 i32) (result i32)))
  (import "contract:GiveWide" "new" (func $GiveWide.new (param i32) (result i32)))
  (import "contract:GiveWide" "imp.send.Take" (func $GiveWide.imp.send.Take (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $carry i32) (local $carried i32)
    (drop (call $Tcp.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Listener.imp.cast (local.get $imp) (i32.const 0)))
    (drop (call $GiveWide.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $GiveWide.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"narrowed_endpoint_sent_as_wide\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Listener narrows Tcp.Imp { Listen; Close; }\n"
    "contract GiveWide {\n"
    "  in message Take(Tcp.Imp:Start e);\n"
    "  out message Done();\n"
    "  state Start: Take? -> Done! -> Start;\n"
    "}"))
