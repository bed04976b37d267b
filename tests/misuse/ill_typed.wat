;; Uses a number as a function.
;; stopped: install
;; with: type mismatch
(module
  (func (export "sip_main") (result i32)
    (i64.const 1))
  (@custom "singularity.manifest" "{\"name\": \"ill_typed\", \"abi\": 1}"))
