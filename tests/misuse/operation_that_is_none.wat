;; Imports an unknown operation.
;; stopped: install
;; with: "imp.steal" is no operation on a contract
(module
  (import "contract:Ask" "imp.steal" (func (param i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"operation_that_is_none\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Ask\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
