;; Selects a handle that was never given.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (i32.store (i32.const 0) (i32.const 65537))
    (i32.store (i32.const 4) (i32.const -8))
    (drop (call $select (i32.const 0) (i32.const 4) (i32.const 1) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"select_forged\", \"abi\": 1}"))
