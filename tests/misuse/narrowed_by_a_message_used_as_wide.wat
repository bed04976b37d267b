;; Sends a wide endpoint to itself in a message that declares a narrow one, and uses it as wide.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Tcp" "new" (func $Tcp.new (param i32) (result i32)))
  (import "contract:GiveNarrow" "new" (func $GiveNarrow.new (param i32) (result i32)))
  (import "contract:GiveNarrow" "imp.send.Take" (func $GiveNarrow.imp.send.Take (param i32 i64) (result i32)))
  (import "contract:GiveNarrow" "exp.recv" (func $GiveNarrow.exp.recv (param i32 i32) (result i32)))
  (import "contract:Tcp" "imp.send.Connect" (func $Tcp.imp.send.Connect (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $carry i32) (local $carried i32)
    (drop (call $Tcp.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $GiveNarrow.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $GiveNarrow.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (drop (call $GiveNarrow.exp.recv (local.get $carried) (i32.const 64)))
    (drop (call $Tcp.imp.send.Connect (i32.load (i32.const 64))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"narrowed_by_a_message_used_as_wide\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Listener narrows Tcp.Imp { Listen; Close; }\n"
    "contract GiveNarrow {\n"
    "  in message Take(Listener.Imp:Start e);\n"
    "  out message Done();\n"
    "  state Start: Take? -> Done! -> Start;\n"
    "}"))
