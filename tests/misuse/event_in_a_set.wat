;; Adds an event to a set.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32) (local $h i32)
    (local.set $set (call $set_create))
    (local.set $h (call $auto_event_create (i32.const 0)))
    (drop (call $set_add (local.get $set) (local.get $h) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"event_in_a_set\", \"abi\": 1}"))
