;; Calls a side that has closed: the block in the message is freed, and its handle is invalid.
;; stopped: no
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "contract:Store" "imp.call.Put" (func $Store.imp.call.Put (param i32 i64 i32) (result i32)))
  (import "sing_v1" "xh_size" (func $xh_size (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $block i32) (local $other i32)
    (drop (call $Store.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $handle_dispose (local.get $exp)))
    (if (i32.ne (call $Store.imp.call.Put (local.get $imp) (i64.extend_i32_u (local.get $block)) (i32.const 64)) (i32.const -1))
      (then (return (i32.const 1))))
    (local.set $other (call $xh_alloc (i32.const 64) (i32.const 0)))
    (if (i32.ne (call $xh_size (local.get $other)) (i32.const 64))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"call_of_the_closed_with_a_block\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Store {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}"))
