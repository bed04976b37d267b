;; A thread makes a block of another thread a part of its own.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $thread i32)
    (local.set $h (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $thread_join (local.get $thread) (i64.const -1)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $xh_attach (call $xh_alloc (i32.const 64) (i32.const 0)) (i32.const 0) (local.get $argument))))
  (@custom "singularity.manifest" "{\"name\": \"block_attached_by_another_thread\", \"abi\": 1}"))
