;; A thread selects with a time-out; meanwhile another puts one of its endpoints into a set and
;; removes it, again and again. The time-out does not begin anew each time.
;; stopped: no
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_remove" (func $set_remove (param i32 i32) (result i32)))
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "sing_v1" "uptime" (func $uptime (result i64)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32) (local $exp i32) (local $thread i32) (local $leave_in i32) (local $end i64)
    (loop $twice
      (local.set $set (call $set_create))
      (drop (call $Ask.new (i32.const 0)))
      (drop (call $Ask.new (i32.const 8)))
      (local.set $exp (i32.load (i32.const 4)))
      (i32.store (i32.const 64) (local.get $exp))
      (i32.store (i32.const 68) (i32.load (i32.const 12)))
      (i32.store (i32.const 72) (i32.const -8))
      (i32.store (i32.const 76) (i32.const -8))
      (i32.store (i32.const 128) (i32.const 0))
      (local.set $thread (call $thread_create (i32.const 0) (i32.const 0)))
      (drop (call $thread_start (local.get $thread)))
      (local.set $end (i64.add (call $uptime) (i64.const 400000000)))
      ;; The second time it stays in the set, after a while: then the thread waits in another way.
      (loop $disturb
        (drop (call $sleep (i64.const 20000000)))
        (drop (call $set_add (local.get $set) (local.get $exp) (i32.const 1)))
        (if (i32.eqz (local.get $leave_in))
          (then (drop (call $set_remove (local.get $set) (local.get $exp)))))
        (br_if $disturb (i64.lt_u (call $uptime) (local.get $end))))
      (if (i32.ne (call $thread_join (local.get $thread) (i64.const 0)) (i32.const 0))
        (then (return (i32.const 1))))
      (if (i32.ne (i32.load (i32.const 128)) (i32.const -2))
        (then (return (i32.const 2))))
      (local.set $leave_in (i32.add (local.get $leave_in) (i32.const 1)))
      (br_if $twice (i32.lt_u (local.get $leave_in) (i32.const 2))))
    (i32.const 0))
  (func (export "sip_thread") (param $argument i32)
    (i32.store (i32.const 128) (call $select (i32.const 64) (i32.const 72) (i32.const 2) (i64.const 100000000))))
  (@custom "singularity.manifest" "{\"name\": \"select_disturbed\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
