;; Imports an unknown kernel entry.
;; stopped: install
;; with: version 1 of the ABI has no entry "xh_address"
(module
  (import "sing_v1" "xh_address" (func (param i32) (result i64)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"entry_that_is_none\", \"abi\": 1}"))
