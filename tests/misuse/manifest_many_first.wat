;; An endpoint other than the last is declared `many`.
;; stopped: install
;; with: may be given many times, so it must be declared last
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_many_first\", \"abi\": 1, \"endpoints\": [{\"name\": \"a\", \"contract\": \"Ask\", \"side\": \"imp\", \"many\": true}, {\"name\": \"b\", \"contract\": \"Ask\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
