;; Its table of blocks is full, so that a share and a cut are refused: the block is unchanged.
;; stopped: no
(module
  (import "sing_v1" "xh_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_share" (func $share (param i32 i32 i32) (result i32)))
  (import "sing_v1" "xh_split" (func $split (param i32 i32) (result i32)))
  (import "sing_v1" "xh_store8" (func $store8 (param i32 i32 i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $block i32)
    (local.set $block (call $alloc (i32.const 64) (i32.const 0)))
    (loop $more
      (br_if $more (i32.gt_s (call $alloc (i32.const 1) (i32.const 0)) (i32.const 0))))
    (if (i32.ne (call $share (local.get $block) (i32.const 0) (i32.const 8)) (i32.const -3))
      (then (return (i32.const 1))))
    (if (i32.ne (call $split (local.get $block) (i32.const 8)) (i32.const -3))
      (then (return (i32.const 2))))
    (call $store8 (local.get $block) (i32.const 63) (i32.const 1))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"share_refused\", \"abi\": 1}"))
