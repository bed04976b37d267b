;; A thread receives on an endpoint; meanwhile another closes it.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "contract:Ask" "imp.recv" (func $Ask.imp.recv (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $exp i32) (local $thread i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $h (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $sleep (i64.const 2000000)))
    (drop (call $handle_dispose (local.get $h)))
    (drop (call $thread_join (local.get $thread) (i64.const -1)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $Ask.imp.recv (local.get $argument) (i32.const 64))))
  (@custom "singularity.manifest" "{\"name\": \"receive_of_a_closed_endpoint\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
