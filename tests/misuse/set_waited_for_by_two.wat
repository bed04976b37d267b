;; Two threads wait for one endpoint, each in one of many ways, and the endpoint is a member of a
;; set or not. The first message wakes one thread, which receives it and then does other work; the
;; second must wake the other.
;; stopped: no
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (import "contract:Ask" "imp.recv" (func $Ask.imp.recv (param i32 i32) (result i32)))
  (import "contract:Ask" "exp.recv" (func $Ask.exp.recv (param i32 i32) (result i32)))
  (import "contract:Ask" "exp.send.Said" (func $Ask.exp.send.Said (param i32 i64) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (import "sing_v1" "wait_one" (func $wait_one (param i32 i64) (result i32)))
  (import "sing_v1" "wait_any" (func $wait_any (param i32 i32 i64) (result i32)))
  (import "sing_v1" "manual_event_create" (func $manual_event_create (param i32) (result i32)))
  (import "sing_v1" "event_set" (func $event_set (param i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_state" (func $thread_state (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "yield" (func $yield))
  (memory 1)
  ;; For all threads: the importing end at 0, the exporting one at 4, the set at 32, the end of business at 36.
  ;; The longest that a thread may sleep beside a waiting message.
  (global $long i64 (i64.const 1000000000))

  (func (export "sip_main") (result i32)
    (local $first i32) (local $second i32) (local $from i32)
    ;; The first three ways are by the set; without a set there are the others.
    (loop $members
      (local.set $first (local.get $from))
      (loop $firsts
        (local.set $second (local.get $from))
        (loop $seconds
          (if (i32.eqz (call $two (local.get $first) (local.get $second) (i32.eqz (local.get $from))))
            (then (return (i32.add (i32.const 1)
              (i32.add (i32.mul (local.get $first) (i32.const 6)) (local.get $second))))))
          (local.set $second (i32.add (local.get $second) (i32.const 1)))
          (br_if $seconds (i32.lt_u (local.get $second) (i32.const 6))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (br_if $firsts (i32.lt_u (local.get $first) (i32.const 6))))
      (local.set $from (i32.add (local.get $from) (i32.const 3)))
      (br_if $members (i32.eq (local.get $from) (i32.const 3))))
    (i32.const 0))

  ;; Whether both are served.
  (func $two (param $first i32) (param $second i32) (param $member i32) (result i32)
    (local $a i32) (local $b i32)
    (drop (call $Ask.new (i32.const 0)))
    (i32.store (i32.const 32) (call $set_create))
    (i32.store (i32.const 36) (call $manual_event_create (i32.const 0)))
    (if (local.get $member)
      (then (drop (call $set_add (i32.load (i32.const 32)) (i32.load (i32.const 4)) (i32.const 7)))))
    (local.set $a (call $waits (local.get $first) (i32.const 1024)))
    (local.set $b (call $waits (local.get $second) (i32.const 2048)))
    (if (i32.eqz (i32.and (call $is_served) (call $is_served)))
      (then (return (i32.const 0))))
    (drop (call $event_set (i32.load (i32.const 36))))
    (drop (call $thread_join (local.get $a) (i64.const -1)))
    (drop (call $thread_join (local.get $b) (i64.const -1)))
    (drop (call $handle_dispose (local.get $a)))
    (drop (call $handle_dispose (local.get $b)))
    (drop (call $handle_dispose (i32.load (i32.const 0))))
    (drop (call $handle_dispose (i32.load (i32.const 4))))
    (drop (call $handle_dispose (i32.load (i32.const 32))))
    (drop (call $handle_dispose (i32.load (i32.const 36))))
    (i32.const 1))

  ;; A thread that waits in this way; its own memory is at an address.
  (func $waits (param $way i32) (param $at i32) (result i32)
    (local $thread i32)
    (i32.store (local.get $at) (local.get $way))
    (local.set $thread (call $thread_create (local.get $at) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (loop $until
      (if (i32.ne (call $thread_state (local.get $thread)) (i32.const 3))
        (then
          (call $yield)
          (br $until))))
    (local.get $thread))

  ;; Whether the other thread answers.
  (func $is_served (result i32)
    (drop (call $Ask.imp.send.Say (i32.load (i32.const 0)) (i64.const 1)))
    (if (i32.ne (call $wait_one (i32.load (i32.const 0)) (global.get $long)) (i32.const 0))
      (then (return (i32.const 0))))
    (drop (call $Ask.imp.recv (i32.load (i32.const 0)) (i32.const 64)))
    (i32.const 1))

  ;; Waits, serves one message, and is busy until the end.
  (func (export "sip_thread") (param $at i32)
    (local $handles i32) (local $tags i32) (local $way i32)
    (local.set $handles (i32.add (local.get $at) (i32.const 8)))
    (local.set $tags (i32.add (local.get $at) (i32.const 16)))
    (local.set $way (i32.load (local.get $at)))
    (i32.store (local.get $handles)
      (select (i32.load (i32.const 32)) (i32.load (i32.const 4)) (i32.lt_u (local.get $way) (i32.const 3))))
    (i32.store (local.get $tags) (i32.const -8))
    (block $waited
      (block $selects
        (block $one
          (block $any
            (block $by_set
              (br_table $by_set $any $selects $waited $one $selects (local.get $way)))
            (drop (call $set_wait (i32.load (i32.const 32)) (i64.const -1)))
            (br $waited))
          (drop (call $wait_any (local.get $handles) (i32.const 1) (i64.const -1)))
          (br $waited))
        (drop (call $wait_one (i32.load (i32.const 4)) (i64.const -1)))
        (br $waited))
      (drop (call $select (local.get $handles) (local.get $tags) (i32.const 1) (i64.const -1))))
    (drop (call $Ask.exp.recv (i32.load (i32.const 4)) (i32.add (local.get $at) (i32.const 64))))
    (drop (call $Ask.exp.send.Said (i32.load (i32.const 4)) (i64.const 1)))
    (drop (call $wait_one (i32.load (i32.const 36)) (i64.const -1))))
  (@custom "singularity.manifest" "{\"name\": \"set_waited_for_by_two\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
