;; A thread sends a block of another thread.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "contract:Store" "imp.send.Put" (func $Store.imp.send.Put (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $h i32) (local $thread i32)
    (drop (call $Store.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (i32.store (i32.const 128) (local.get $imp))
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $thread_join (local.get $thread) (i64.const -1)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $Store.imp.send.Put (i32.load (i32.const 128)) (i64.extend_i32_u (local.get $argument)))))
  (@custom "singularity.manifest" "{\"name\": \"block_sent_by_another_thread\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Store {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}"))
