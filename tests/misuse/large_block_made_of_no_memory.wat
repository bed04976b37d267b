;; Makes a large block of bytes that lie partly outside its memory; too long and empty ones are refused before.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "xh_alloc_from" (func $xh_alloc_from (param i32 i32 i32) (result i32)))
  (memory 3)
  (func (export "sip_main") (result i32)
    (if (i32.ne (call $xh_alloc_from (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const -7))
      (then (return (i32.const 1))))
    (if (i32.ne (call $xh_alloc_from (i32.const 0) (i32.const 0x40000001) (i32.const 0)) (i32.const -7))
      (then (return (i32.const 2))))
    (if (i32.le_s (call $xh_alloc_from (i32.const 0) (i32.const 0x30000) (i32.const 0)) (i32.const 0))
      (then (return (i32.const 3))))
    (drop (call $xh_alloc_from (i32.const 8) (i32.const 0x30000) (i32.const 0)))
    (i32.const 4))
  (@custom "singularity.manifest" "{\"name\": \"large_block_made_of_no_memory\", \"abi\": 1}"))
