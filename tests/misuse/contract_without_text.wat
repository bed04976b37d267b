;; Imports from a contract whose text it does not bring.
;; stopped: install
;; with: the text of contract "Ask" is not in section singularity.contracts
(module
  (import "contract:Ask" "imp.recv" (func (param i32 i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_without_text\", \"abi\": 1}"))
