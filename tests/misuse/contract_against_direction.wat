;; Brings a contract with a message sent against its direction.
;; stopped: install
;; with: message Hello goes the other way
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_against_direction\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract C {\n"
    "  out message Hello();\n"
    "  state Start: Hello? -> Start;\n"
    "}"))
