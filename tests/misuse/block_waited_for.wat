;; Waits for a block.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "wait_one" (func $wait_one (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $wait_one (local.get $h) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_waited_for\", \"abi\": 1}"))
