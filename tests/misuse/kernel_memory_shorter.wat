;; Has kernel calls mean its second memory, which is shorter than its first: a message at its end comes there, and a
;; long copy that goes beyond it, though not beyond the first, stops it.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_write" (func $xh_write (param i32 i32 i32 i32)))
  (import "contract:Ask" "new" (func $new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $say (param i32 i64) (result i32)))
  (import "contract:Ask" "exp.recv" (func $recv (param i32 i32) (result i32)))
  (memory $first 20)
  (memory $called 4)
  (func (export "sip_main") (result i32)
    (local $block i32)
    (drop (call $new (i32.const 16)))
    (drop (call $say (i32.load $called (i32.const 16)) (i64.const 0x1234)))
    (if (call $recv (i32.load $called (i32.const 20)) (i32.const 0x3fff8)) (then (return (i32.const 4))))
    (if (i64.ne (i64.load $called (i32.const 0x3fff8)) (i64.const 0x1234)) (then (return (i32.const 5))))
    (local.set $block (call $xh_alloc (i32.const 0x50000) (i32.const 0)))
    (call $xh_write (local.get $block) (i32.const 0) (i32.const 0) (i32.const 0x50000))
    (i32.const 6))
  (@custom "singularity.memory" "\01")
  (@custom "singularity.manifest" "{\"name\": \"kernel_memory_shorter\", \"abi\": 1, \"memory\": 16777216}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
