;; Brings bytes that are no text.
;; stopped: install
;; with: the contracts are not UTF-8 text
(module
  (@custom "singularity.contracts" "\ff\fe")
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_of_no_text\", \"abi\": 1}"))
