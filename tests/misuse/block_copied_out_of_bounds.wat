;; Copies more out of a block than it has.
;; stopped: run
;; with: out-of-bounds access to an exchange-heap block
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_read" (func $xh_read (param i32 i32 i32 i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (call $xh_read (local.get $h) (i32.const 32) (i32.const 0) (i32.const 33))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_copied_out_of_bounds\", \"abi\": 1}"))
