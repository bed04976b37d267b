;; Brings a contract with an endpoint in a state that the endpoint's contract does not have.
;; stopped: install
;; with: contract Ask has no state Never
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_in_no_state\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract C {\n"
    "  in message Take(Ask.Imp:Never e);\n"
    "  state Start: Take? -> closed;\n"
    "}"))
