;; Disposes of a parked block that it has unparked.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_park" (func $xh_park (param i32) (result i32)))
  (import "sing_v1" "xh_unpark" (func $xh_unpark (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $h (call $xh_park (local.get $h)))
    (drop (call $xh_unpark (local.get $h)))
    (drop (call $handle_dispose (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"parked_disposed_after_taken\", \"abi\": 1}"))
