;; A thread selects a set among other objects; meanwhile another disposes of it and makes a new one,
;; which may reuse its record, with an endpoint that is ready.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $h i32) (local $thread i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $handle_dispose (local.get $exp)))
    (local.set $h (call $set_create))
    (i32.store (i32.const 128) (local.get $h))
    (i32.store (i32.const 132) (i32.const -8))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $sleep (i64.const 2000000)))
    (drop (call $handle_dispose (local.get $h)))
    (drop (call $set_add (call $set_create) (local.get $imp) (i32.const 5)))
    (drop (call $thread_join (local.get $thread) (i64.const -1)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $select (i32.const 128) (i32.const 132) (i32.const 1) (i64.const -1))))
  (@custom "singularity.manifest" "{\"name\": \"set_disposed_while_selected\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
