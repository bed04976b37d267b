;; Imports a send by the side that never sends this message.
;; stopped: install
;; with: message "Said" of contract "Ask" is sent by Exp, never by Imp
(module
  (import "contract:Ask" "imp.send.Said" (func (param i32 i64) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"wrong_direction\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Ask\", \"side\": \"imp\"},\n"
    "  {\"name\": \"from\", \"contract\": \"Ask\", \"side\": \"exp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
