;; Sends twice a message that a permission allows once.
;; stopped: run
;; with: message out of turn
(module
  (import "contract:Tcp" "new" (func $Tcp.new (param i32) (result i32)))
  (import "contract:Listener" "imp.cast" (func $Listener.imp.cast (param i32 i32) (result i32)))
  (import "contract:Listener" "imp.send.Listen" (func $Listener.imp.send.Listen (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Tcp.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Listener.imp.cast (local.get $imp) (i32.const 0)))
    (drop (call $Listener.imp.send.Listen (local.get $imp)))
    (drop (call $Listener.imp.send.Listen (local.get $imp)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"narrowed_out_of_turn\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Listener narrows Tcp.Imp { Listen; Close; }"))
