;; Was granted a permission, and imports a send that this lacks under the name of the contract.
;; stopped: install
;; with: the program can never hold an endpoint Tcp.Imp
;; with: which allows less
(module
  (import "contract:Tcp" "imp.send.Connect" (func (param i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"wide_send_not_granted\", \"abi\": 1, \"endpoints\": [\n"
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
