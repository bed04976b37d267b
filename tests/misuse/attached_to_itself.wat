;; Makes a block a part of itself.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_attach (local.get $h) (i32.const 0) (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"attached_to_itself\", \"abi\": 1}"))
