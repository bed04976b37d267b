;; A thread waits for an event; meanwhile another disposes of it and makes a new one, which may
;; reuse its record: the wait is not for that.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "wait_one" (func $wait_one (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $thread i32)
    (local.set $h (call $auto_event_create (i32.const 0)))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $sleep (i64.const 2000000)))
    (drop (call $handle_dispose (local.get $h)))
    (drop (call $auto_event_create (i32.const 1)))
    (drop (call $thread_join (local.get $thread) (i64.const -1)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $wait_one (local.get $argument) (i64.const -1))))
  (@custom "singularity.manifest" "{\"name\": \"event_disposed_while_waited_for\", \"abi\": 1}"))
