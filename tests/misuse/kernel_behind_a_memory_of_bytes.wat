;; Has the kernel write behind a memory's end, into the rest of the machine's page.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "xh_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_read" (func $read (param i32 i32 i32 i32)))
  (memory 100 (pagesize 1))
  (func (export "sip_main") (result i32)
    (i32.store8 (i32.const 0) (i32.const 1))
    (call $read (call $alloc (i32.const 64) (i32.const 0)) (i32.const 0) (i32.const 60) (i32.const 41))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"kernel_behind_a_memory_of_bytes\", \"abi\": 1}"))
