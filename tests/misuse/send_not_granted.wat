;; Imports a send on an endpoint that it can never hold.
;; stopped: install
;; with: the program can never hold an endpoint Ask.Imp
;; with: its manifest asks for none
(module
  (import "contract:Ask" "imp.send.Say" (func (param i32 i64) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"send_not_granted\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
