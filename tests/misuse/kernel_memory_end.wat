;; Has a kernel call write behind the memory that its calls mean, where its first memory goes on.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_read" (func $xh_read (param i32 i32 i32 i32)))
  (memory 4)
  (memory 1)
  (func (export "sip_main") (result i32)
    (i32.store 0 (i32.const 131072) (i32.const 1))
    (call $xh_read (call $xh_alloc (i32.const 64) (i32.const 0)) (i32.const 0) (i32.const 65530) (i32.const 64))
    (i32.const 1))
  (@custom "singularity.memory" "\01")
  (@custom "singularity.manifest" "{\"name\": \"kernel_memory_end\", \"abi\": 1}"))
