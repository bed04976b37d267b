;; Brings a contract whose queue would grow without bound.
;; stopped: install
;; with: contract Flood has no finite queue
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_without_end\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Flood {\n"
    "  in message More();\n"
    "  in message Again();\n"
    "  state Start: More? -> Again? -> Start;\n"
    "}"))
