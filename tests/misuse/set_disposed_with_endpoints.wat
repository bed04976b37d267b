;; Disposes of a set with endpoints in it, ready and idle: they are unchanged, and can be added to
;; another.
;; stopped: no
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (import "sing_v1" "endpoint_peek" (func $endpoint_peek (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32) (local $imp i32) (local $exp i32) (local $a i32) (local $b i32)
    (local.set $set (call $set_create))
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Ask.new (i32.const 0)))
    (local.set $a (i32.load (i32.const 0)))
    (local.set $b (i32.load (i32.const 4)))
    (if (i32.ne (call $set_add (local.get $set) (local.get $imp) (i32.const 1)) (i32.const 0))
      (then (return (i32.const 1))))
    (if (i32.ne (call $set_add (local.get $set) (local.get $a) (i32.const 2)) (i32.const 0))
      (then (return (i32.const 2))))
    (drop (call $handle_dispose (local.get $exp)))
    (drop (call $handle_dispose (local.get $set)))
    (local.set $set (call $set_create))
    (if (i32.ne (call $set_add (local.get $set) (local.get $imp) (i32.const 5)) (i32.const 0))
      (then (return (i32.const 3))))
    (if (i32.ne (call $set_add (local.get $set) (local.get $a) (i32.const 6)) (i32.const 0))
      (then (return (i32.const 4))))
    (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.const 5))
      (then (return (i32.const 5))))
    (if (i32.ne (call $endpoint_peek (local.get $a)) (i32.const -8))
      (then (return (i32.const 6))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"set_disposed_with_endpoints\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
