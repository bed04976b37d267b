;; Frees a block twice, though another one has taken its place.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_free" (func $xh_free (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $other i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_free (local.get $h)))
    (local.set $other (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_free (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_freed_twice\", \"abi\": 1}"))
