;; Begins a line of standard error, waits until it is written, and traps.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\0b\00\00\00")
  (data (i32.const 16) "half a line")
  ;; The monotonic clock, in 300 ms.
  (data (i32.const 80) "\01\00\00\00\00\00\00\00\00\a3\e1\11")
  (func (export "_start")
    (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $poll (i32.const 64) (i32.const 128) (i32.const 1) (i32.const 8)))
    (unreachable)))
