;; Sends away an endpoint that is in a set: the set reports it no more, not even when it comes back
;; and gets a message.
;; stopped: no
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "contract:Carry" "imp.send.Take" (func $Carry.imp.send.Take (param i32 i64) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (import "contract:Carry" "exp.recv" (func $Carry.exp.recv (param i32 i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (import "contract:Ask" "exp.recv" (func $Ask.exp.recv (param i32 i32) (result i32)))
  (import "contract:Ask" "exp.send.Said" (func $Ask.exp.send.Said (param i32 i64) (result i32)))
  (import "sing_v1" "endpoint_peek" (func $endpoint_peek (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32) (local $imp i32) (local $exp i32) (local $carry i32) (local $carried i32)
    (local.set $set (call $set_create))
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (if (i32.ne (call $set_add (local.get $set) (local.get $imp) (i32.const 3)) (i32.const 0))
      (then (return (i32.const 1))))
    (drop (call $Carry.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.const -2))
      (then (return (i32.const 2))))
    (if (i32.ne (call $Carry.exp.recv (local.get $carried) (i32.const 64)) (i32.const 0))
      (then (return (i32.const 3))))
    (local.set $imp (i32.load (i32.const 64)))
    (drop (call $Ask.imp.send.Say (local.get $imp) (i64.const 1)))
    (drop (call $Ask.exp.recv (local.get $exp) (i32.const 64)))
    (drop (call $Ask.exp.send.Said (local.get $exp) (i64.const 1)))
    (if (i32.ne (call $endpoint_peek (local.get $imp)) (i32.const 1))
      (then (return (i32.const 4))))
    (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.const -2))
      (then (return (i32.const 5))))
    (if (i32.ne (call $set_add (local.get $set) (local.get $imp) (i32.const 9)) (i32.const 0))
      (then (return (i32.const 6))))
    (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.const 9))
      (then (return (i32.const 7))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"moved_endpoint_leaves_its_set\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract Carry {\n"
    "  in message Take(Ask.Imp:Start e);\n"
    "  in message Both(Ask.Imp:Start a, Ask.Imp:Start b);\n"
    "  out message Ok();\n"
    "  state Start: one { Take? -> Ok! -> Start; Both? -> Ok! -> Start; }\n"
    "}"))
