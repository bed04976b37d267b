;; Sends a tree and then detaches a part of it.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (import "contract:Store" "imp.send.Put" (func $Store.imp.send.Put (param i32 i64) (result i32)))
  (import "sing_v1" "xh_detach" (func $xh_detach (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $block i32) (local $b i32)
    (drop (call $Store.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $b (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_attach (local.get $block) (i32.const 8) (local.get $b)))
    (drop (call $Store.imp.send.Put (local.get $imp) (i64.extend_i32_u (local.get $block))))
    (drop (call $xh_detach (local.get $block) (i32.const 8)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"part_of_a_sent_tree\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "rep struct Node { ulong x; Node*? in ExHeap next; }\n"
    "contract Store {\n"
    "  in message Put(Node* in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}"))
