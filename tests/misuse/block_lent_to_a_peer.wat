;; Keeps a view of a block that another process has taken: the handle is gone with the block.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "contract:BenchContract" "imp.call.Give" (func $BenchContract.imp.call.Give (param i32 i64 i32) (result i32)))
  (import "sing_v1" "xh_load8" (func $xh_load8 (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $bench i32) (local $block i32)
    (local.set $bench (call $startup_endpoint (i32.const 0)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $BenchContract.imp.call.Give (local.get $bench) (i64.extend_i32_u (local.get $block)) (i32.const 64)))
    (drop (call $xh_load8 (local.get $block) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"block_lent_to_a_peer\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"bench\", \"contract\": \"BenchContract\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "public contract BenchContract {\n"
    "  in message Ping(ulong word);\n"
    "  out message Pong(ulong word);\n"
    "  in message Give(byte[] in ExHeap data);\n"
    "  out message Return(byte[] in ExHeap data);\n"
    "  in message Yield(uint times);\n"
    "  out message Yielded();\n"
    "  state Start: one {\n"
    "    Ping? -> Pong! -> Start;\n"
    "    Give? -> Return! -> Start;\n"
    "    Yield? -> Yielded! -> Start;\n"
    "  }\n"
    "}"))
