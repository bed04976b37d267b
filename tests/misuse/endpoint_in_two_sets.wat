;; Adds an endpoint to a second set, and under invalid keys, and removes one that is in no set: all
;; is refused.
;; stopped: no
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_remove" (func $set_remove (param i32 i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32) (local $other i32) (local $imp i32) (local $exp i32)
    (local.set $set (call $set_create))
    (local.set $other (call $set_create))
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (if (i32.ne (call $set_add (local.get $set) (local.get $imp) (i32.const 3)) (i32.const 0))
      (then (return (i32.const 1))))
    (if (i32.ne (call $set_add (local.get $other) (local.get $imp) (i32.const 4)) (i32.const -6))
      (then (return (i32.const 2))))
    (if (i32.ne (call $set_add (local.get $other) (local.get $exp) (i32.const -1)) (i32.const -7))
      (then (return (i32.const 3))))
    (if (i32.ne (call $set_remove (local.get $other) (local.get $imp)) (i32.const -4))
      (then (return (i32.const 4))))
    (if (i32.ne (call $set_remove (local.get $other) (local.get $exp)) (i32.const -4))
      (then (return (i32.const 5))))
    (drop (call $handle_dispose (local.get $exp)))
    (if (i32.ne (call $set_wait (local.get $other) (i64.const 0)) (i32.const -2))
      (then (return (i32.const 6))))
    (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.const 3))
      (then (return (i32.const 7))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_in_two_sets\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
