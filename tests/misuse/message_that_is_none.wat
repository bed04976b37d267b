;; Imports a send of a message that the contract does not have.
;; stopped: install
;; with: contract "Ask" has no message "Shout"
(module
  (import "contract:Ask" "imp.send.Shout" (func (param i32 i64) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"message_that_is_none\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Ask\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
