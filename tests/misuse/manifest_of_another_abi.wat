;; The program is for an unknown version of the ABI.
;; stopped: install
;; with: written for version 2 of the ABI
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"x\", \"abi\": 2}"))
