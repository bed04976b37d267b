;; Two endpoints have the same name.
;; stopped: install
;; with: start-up endpoint "a" is declared twice
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_endpoint_twice\", \"abi\": 1, \"endpoints\": [{\"name\": \"a\", \"contract\": \"Ask\", \"side\": \"imp\"}, {\"name\": \"a\", \"contract\": \"Ask\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
