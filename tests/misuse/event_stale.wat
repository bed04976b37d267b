;; Sets an event that it has disposed of, though another one has taken its place.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "event_set" (func $event_set (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $auto_event_create (i32.const 0)))
    (drop (call $handle_dispose (local.get $h)))
    (drop (call $auto_event_create (i32.const 0)))
    (drop (call $event_set (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"event_stale\", \"abi\": 1}"))
