;; Imports a send by the side that never sends this message, in a call.
;; stopped: install
;; with: message "Say" of contract "Ask" is sent by Imp, never by Exp
(module
  (import "contract:Ask" "exp.call.Say" (func (param i32 i64 i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"wrong_direction_in_a_call\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Ask\", \"side\": \"imp\"},\n"
    "  {\"name\": \"from\", \"contract\": \"Ask\", \"side\": \"exp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
