;; Brings a permission that restores a message which the one that it narrows has removed.
;; stopped: install
;; with: has already taken it away
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"permission_widened\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Listener narrows Tcp.Imp { Listen; Close; }\n"
    "contract Wide narrows Listener.Imp { Listen; Connect; }"))
