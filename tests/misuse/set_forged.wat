;; Waits for a set that was never given.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $set_wait (i32.const 65537) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"set_forged\", \"abi\": 1}"))
