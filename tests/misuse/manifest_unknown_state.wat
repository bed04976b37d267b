;; An endpoint is in a state that its contract does not have.
;; stopped: install
;; with: is to be in state "Middle", which contract "Ask" has not
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_unknown_state\", \"abi\": 1, \"endpoints\": [{\"name\": \"a\", \"contract\": \"Ask\", \"side\": \"imp\", \"state\": \"Middle\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
