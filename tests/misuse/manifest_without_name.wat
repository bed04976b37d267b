;; The program has no name.
;; stopped: install
;; with: missing field `name`
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"abi\": 1}"))
