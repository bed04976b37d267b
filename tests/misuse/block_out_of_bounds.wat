;; Reads the byte after a block.
;; stopped: run
;; with: out-of-bounds access to an exchange-heap block
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_load8" (func $xh_load8 (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_load8 (local.get $h) (i32.const 64)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_out_of_bounds\", \"abi\": 1}"))
