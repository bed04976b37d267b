;; Frees a tree twice.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (import "sing_v1" "xh_free" (func $xh_free (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $a i32) (local $b i32)
    (local.set $a (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $b (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_attach (local.get $a) (i32.const 0) (local.get $b)))
    (drop (call $xh_free (local.get $a)))
    (drop (call $xh_free (local.get $a)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"tree_freed_twice\", \"abi\": 1}"))
