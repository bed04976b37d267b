;; Traps with blocks, trees and endpoints in queues, in each other, parked and in sets; nothing is
;; left behind.
;; stopped: run
;; with: unreachable code was reached
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (import "contract:Store" "imp.send.Put" (func $Store.imp.send.Put (param i32 i64) (result i32)))
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "contract:Carry" "imp.send.Take" (func $Carry.imp.send.Take (param i32 i64) (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "xh_park" (func $xh_park (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $block i32) (local $b i32) (local $carry i32) (local $carried i32) (local $a i32)
    (drop (call $Store.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $b (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_attach (local.get $block) (i32.const 0) (local.get $b)))
    (drop (call $Store.imp.send.Put (local.get $imp) (i64.extend_i32_u (local.get $block))))
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $Carry.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (drop (call $set_add (call $set_create) (local.get $exp) (i32.const 1)))
    (local.set $a (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_park (local.get $a)))
    (unreachable))
  (@custom "singularity.manifest" "{\"name\": \"everything_left_by_a_trap\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "rep struct Node { ulong x; Node*? in ExHeap next; }\n"
    "contract Store {\n"
    "  in message Put(Node* in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}\n"
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
