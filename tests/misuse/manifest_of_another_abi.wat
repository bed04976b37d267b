;; The program is for a version of the ABI that there is not.
;; stopped: install
;; with: written for version 2 of the ABI
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"x\", \"abi\": 2}"))
