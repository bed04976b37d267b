;; Imports a kernel entry with another type.
;; stopped: install
;; with: its type is (i64) -> i64, but must be (i32) -> i32
(module
  (import "sing_v1" "xh_size" (func (param i64) (result i64)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"entry_of_another_type\", \"abi\": 1}"))
