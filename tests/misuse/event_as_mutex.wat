;; Uses an event as a mutex.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "mutex_release" (func $mutex_release (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $auto_event_create (i32.const 0)))
    (drop (call $mutex_release (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"event_as_mutex\", \"abi\": 1}"))
