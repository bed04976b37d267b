;; Sends a block twice in one message, as two blocks that may be absent.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (import "contract:Rack" "new" (func $Rack.new (param i32) (result i32)))
  (import "contract:Rack" "imp.send.Put" (func $Rack.imp.send.Put (param i32 i64 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $block i32) (local $part i32)
    (drop (call $Rack.new (i32.const 0)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $Rack.imp.send.Put (i32.load (i32.const 0)) (i64.extend_i32_u (local.get $block)) (i64.extend_i32_u (local.get $block))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"block_that_may_be_absent_twice\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "rep struct Node { int x; Node*? in ExHeap next; }\n"
    "contract Rack {\n"
    "  in message Put(byte[]? in ExHeap data, byte[]? in ExHeap more);\n"
    "  in message Plant(Node*? in ExHeap tree);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Plant? -> Ok! -> Start; }\n"
    "}"))
