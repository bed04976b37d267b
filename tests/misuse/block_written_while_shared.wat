;; Writes to a block of which there is a second view.
;; stopped: run
;; with: out-of-bounds access to an exchange-heap block
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_share" (func $xh_share (param i32 i32 i32) (result i32)))
  (import "sing_v1" "xh_store8" (func $xh_store8 (param i32 i32 i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_share (local.get $h) (i32.const 0) (i32.const 8)))
    (call $xh_store8 (local.get $h) (i32.const 32) (i32.const 1))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_written_while_shared\", \"abi\": 1}"))
