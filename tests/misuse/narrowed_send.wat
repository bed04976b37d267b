;; Imports a send that the permission lacks.
;; stopped: install
;; with: contract "Listener" is a permission without message "Connect"
(module
  (import "contract:Listener" "imp.send.Connect" (func (param i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"narrowed_send\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Listener\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Listener narrows Tcp.Imp { Listen; Close; }"))
