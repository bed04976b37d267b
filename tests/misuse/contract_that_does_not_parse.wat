;; Brings a text that is no contract.
;; stopped: install
;; with: expected the contract's name
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_that_does_not_parse\", \"abi\": 1}")
  (@custom "singularity.contracts" "contract {"))
