;; Polls a set again and again, before it takes the next endpoint: a poll is no turn, and each
;; member has its own, however often the set is polled.
;; stopped: no
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (import "sing_v1" "wait_one" (func $wait_one (param i32 i64) (result i32)))
  (import "sing_v1" "wait_any" (func $wait_any (param i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32) (local $i i32) (local $looks i32) (local $ones i32)
    (local.set $set (call $set_create))
    (i32.store (i32.const 64) (local.get $set))
    (drop (call $Ask.new (i32.const 0)))
    (drop (call $Ask.new (i32.const 8)))
    (drop (call $set_add (local.get $set) (i32.load (i32.const 4)) (i32.const 0)))
    (drop (call $set_add (local.get $set) (i32.load (i32.const 12)) (i32.const 1)))
    (drop (call $Ask.imp.send.Say (i32.load (i32.const 0)) (i64.const 1)))
    (drop (call $Ask.imp.send.Say (i32.load (i32.const 8)) (i64.const 1)))
    (loop $next
      ;; None, one, two, three looks.
      (local.set $looks (i32.div_u (local.get $i) (i32.const 10)))
      (if (i32.gt_u (local.get $looks) (i32.const 0))
        (then
          (if (i32.ne (call $wait_any (i32.const 64) (i32.const 1) (i64.const -1)) (i32.const 0))
            (then (return (i32.const 1))))))
      (if (i32.gt_u (local.get $looks) (i32.const 1))
        (then
          (if (i32.ne (call $wait_one (local.get $set) (i64.const -1)) (i32.const 0))
            (then (return (i32.const 2))))))
      (if (i32.gt_u (local.get $looks) (i32.const 2))
        (then
          (if (i32.ne (call $wait_any (i32.const 64) (i32.const 1) (i64.const 0)) (i32.const 0))
            (then (return (i32.const 3))))))
      (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.and (local.get $i) (i32.const 1)))
        (then (return (i32.add (i32.const 10) (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 40))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"set_looked_at\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
