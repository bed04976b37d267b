;; A thread waits for either of two objects, and a second thread for the first of them. The first
;; object becomes ready, which wakes the first thread; then, before that runs, the other object
;; becomes ready. The thread must not leave with that while the second thread sleeps beside the
;; ready one. Tried with an event, a mutex, an endpoint and a set.
;; stopped: no
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "wait_one" (func $wait_one (param i32 i64) (result i32)))
  (import "sing_v1" "wait_any" (func $wait_any (param i32 i32 i64) (result i32)))
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "event_set" (func $event_set (param i32) (result i32)))
  (import "sing_v1" "mutex_create" (func $mutex_create (param i32) (result i32)))
  (import "sing_v1" "mutex_release" (func $mutex_release (param i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_state" (func $thread_state (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "yield" (func $yield))
  (memory 1)
  ;; For all threads: what both wait for at 32, the other thing at 36, which of them the first thread left with at 40.
  (func (export "sip_main") (result i32)
    (local $kind i32) (local $first i32) (local $second i32)
    (loop $kinds
      (drop (call $Ask.new (i32.const 0)))
      (i32.store (i32.const 32) (call $thing (local.get $kind)))
      (i32.store (i32.const 36) (call $auto_event_create (i32.const 0)))
      (i32.store (i32.const 40) (i32.const -1))
      (local.set $first (call $waits (i32.const 0)))
      (local.set $second (call $waits (i32.const 1)))
      (call $comes (local.get $kind))
      (drop (call $event_set (i32.load (i32.const 36))))
      (drop (call $thread_join (local.get $first) (i64.const -1)))
      ;; Either it has left with what both have waited for, or the second thread must get that.
      (if (i32.ne (i32.load (i32.const 40)) (i32.const 0))
        (then
          (if (i32.ne (call $thread_join (local.get $second) (i64.const 1000000000)) (i32.const 0))
            (then (return (i32.add (i32.const 1) (local.get $kind)))))))
      (local.set $kind (i32.add (local.get $kind) (i32.const 1)))
      (br_if $kinds (i32.lt_u (local.get $kind) (i32.const 4))))
    (i32.const 0))

  ;; The objects that both wait for, of each kind.
  (func $thing (param $kind i32) (result i32)
    (local $set i32)
    (if (i32.eq (local.get $kind) (i32.const 0))
      (then (return (call $auto_event_create (i32.const 0)))))
    (if (i32.eq (local.get $kind) (i32.const 1))
      (then (return (call $mutex_create (i32.const 1)))))
    (if (i32.eq (local.get $kind) (i32.const 2))
      (then (return (i32.load (i32.const 4)))))
    (local.set $set (call $set_create))
    (drop (call $set_add (local.get $set) (i32.load (i32.const 4)) (i32.const 1)))
    (local.get $set))

  ;; It comes.
  (func $comes (param $kind i32)
    (if (i32.eq (local.get $kind) (i32.const 0))
      (then (drop (call $event_set (i32.load (i32.const 32)))) (return)))
    (if (i32.eq (local.get $kind) (i32.const 1))
      (then (drop (call $mutex_release (i32.load (i32.const 32)))) (return)))
    (drop (call $Ask.imp.send.Say (i32.load (i32.const 0)) (i64.const 1))))

  ;; A thread that waits.
  (func $waits (param $which i32) (result i32)
    (local $thread i32)
    (local.set $thread (call $thread_create (local.get $which) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (loop $until
      (if (i32.ne (call $thread_state (local.get $thread)) (i32.const 3))
        (then
          (call $yield)
          (br $until))))
    (local.get $thread))

  (func (export "sip_thread") (param $which i32)
    (if (local.get $which)
      (then (drop (call $wait_one (i32.load (i32.const 32)) (i64.const -1))))
      (else (i32.store (i32.const 40) (call $wait_any (i32.const 32) (i32.const 2) (i64.const -1))))))
  (@custom "singularity.manifest" "{\"name\": \"woken_for_one_of_two\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
