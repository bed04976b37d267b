;; A thread waits for the first of several objects; meanwhile another closes one of them.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "wait_any" (func $wait_any (param i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $exp i32) (local $thread i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $h (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (i32.store (i32.const 128) (local.get $h))
    (i32.store (i32.const 132) (call $auto_event_create (i32.const 0)))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $sleep (i64.const 2000000)))
    (drop (call $handle_dispose (local.get $h)))
    (drop (call $thread_join (local.get $thread) (i64.const 200000000)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $wait_any (i32.const 128) (i32.const 2) (i64.const -1))))
  (@custom "singularity.manifest" "{\"name\": \"wait_for_one_that_is_closed\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
