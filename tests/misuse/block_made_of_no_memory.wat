;; Makes a block of bytes that lie partly outside its memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "xh_alloc_from" (func $xh_alloc_from (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $xh_alloc_from (i32.const 65530) (i32.const 64) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_made_of_no_memory\", \"abi\": 1}"))
