;; Waits for a set that it has disposed of, though another one has taken its place.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $set_create))
    (drop (call $handle_dispose (local.get $h)))
    (drop (call $set_create))
    (drop (call $set_wait (local.get $h) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"set_stale\", \"abi\": 1}"))
