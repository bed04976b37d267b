;; Brings a permission to send a message that only the other side sends.
;; stopped: install
;; with: never sends
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"narrowing_of_what_the_other_sends\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Answerer narrows Tcp.Imp { Ok; }"))
