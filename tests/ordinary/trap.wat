;; Reads behind the end of its memory, where another memory could lie.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func $inner (drop (i32.load (i32.const 65536))))
  (func $begin (export "_start") (call $inner)))
