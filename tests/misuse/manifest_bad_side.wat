;; An endpoint has an unknown side.
;; stopped: install
;; with: unknown variant `both`
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_bad_side\", \"abi\": 1, \"endpoints\": [{\"name\": \"a\", \"contract\": \"Ask\", \"side\": \"both\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
