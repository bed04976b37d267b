;; A thread selects several objects; meanwhile another sends one of them away.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "contract:Carry" "imp.send.Take" (func $Carry.imp.send.Take (param i32 i64) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32) (local $exp i32) (local $thread i32) (local $carry i32) (local $carried i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $h (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (i32.store (i32.const 128) (local.get $h))
    (i32.store (i32.const 132) (i32.const -8))
    (local.set $thread (call $thread_create (local.get $h) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (drop (call $sleep (i64.const 2000000)))
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $Carry.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $h))))
    (drop (call $thread_join (local.get $thread) (i64.const 200000000)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (drop (call $select (i32.const 128) (i32.const 132) (i32.const 1) (i64.const -1))))
  (@custom "singularity.manifest" "{\"name\": \"select_of_a_moved_endpoint\", \"abi\": 1}")
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
