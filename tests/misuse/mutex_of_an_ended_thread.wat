;; A thread acquires a mutex and ends. A thread that is made afterwards may reuse the record of that
;; one; it does not hold the mutex.
;; stopped: no
(module
  (import "sing_v1" "mutex_create" (func $mutex_create (param i32) (result i32)))
  (import "sing_v1" "mutex_release" (func $mutex_release (param i32) (result i32)))
  (import "sing_v1" "wait_one" (func $wait_one (param i32 i64) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (memory 1)
  ;; For all threads: the mutex at 0, what a release answered at 4.
  (func (export "sip_main") (result i32)
    (local $i i32)
    (i32.store (i32.const 0) (call $mutex_create (i32.const 0)))
    (call $run (i32.const 0))
    (if (i32.ne (i32.load (i32.const 4)) (i32.const 0))
      (then (return (i32.const 1))))
    (loop $others
      (call $run (i32.const 1))
      ;; BAD_STATE
      (if (i32.ne (i32.load (i32.const 4)) (i32.const -6))
        (then (return (i32.const 2))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $others (i32.lt_u (local.get $i) (i32.const 10))))
    (i32.const 0))
  (func $run (param $what i32)
    (local $thread i32)
    (local.set $thread (call $thread_create (local.get $what) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $thread_join (local.get $thread) (i64.const -1)))
    (drop (call $handle_dispose (local.get $thread))))
  (func (export "sip_thread") (param $what i32)
    (i32.store (i32.const 4)
      (if (result i32) (local.get $what)
        (then (call $mutex_release (i32.load (i32.const 0))))
        (else (call $wait_one (i32.load (i32.const 0)) (i64.const -1))))))
  (@custom "singularity.manifest" "{\"name\": \"mutex_of_an_ended_thread\", \"abi\": 1}"))
