;; Sends no block in a message that carries one.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "contract:Store" "imp.send.Put" (func $Store.imp.send.Put (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Store.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Store.imp.send.Put (local.get $imp) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"nothing_as_block_argument\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Store {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}"))
