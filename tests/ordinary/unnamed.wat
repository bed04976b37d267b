;; A library that other engines run, too: it is initialised, and the function without a name is called. Ends with 7.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (global $initialised (mut i32) (i32.const 0))
  (func (export "_initialize") (global.set $initialised (i32.const 7)))
  (func (export "") (call $proc_exit (global.get $initialised))))
