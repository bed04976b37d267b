;; Brings a contract that replaces an inherited state without `override`.
;; stopped: install
;; with: state Start is inherited
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_without_override\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Base { out message Success(); state Start: Success! -> closed; }\n"
    "contract Derived : Base { state Start: Success! -> Start2; state Start2; }"))
