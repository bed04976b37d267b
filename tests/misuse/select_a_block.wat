;; Selects a block among other objects.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (i32.store (i32.const 0) (local.get $h))
    (i32.store (i32.const 4) (i32.const -8))
    (drop (call $select (i32.const 0) (i32.const 4) (i32.const 1) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"select_a_block\", \"abi\": 1}"))
