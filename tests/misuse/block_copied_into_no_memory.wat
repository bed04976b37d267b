;; Copies from a block to an address outside its memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_read" (func $xh_read (param i32 i32 i32 i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (call $xh_read (local.get $h) (i32.const 0) (i32.const 65530) (i32.const 64))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_copied_into_no_memory\", \"abi\": 1}"))
