;; Asks that nothing of its standard streams waits, as Go's library does, and writes 2,000 lines to each of output and
;; errors, one call a line, as Go's runtime writes a panic. Ends with 0, or the number of the first write's error.
(module
  (import "wasi_snapshot_preview1" "fd_fdstat_set_flags" (func $set_flags (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "\00\02\00\00\05\00\00\00")
  (data (i32.const 512) "line\n")
  (func $lines (param $fd i32) (local $left i32) (local $errno i32)
    (drop (call $set_flags (local.get $fd) (i32.const 4)))
    (local.set $left (i32.const 2000))
    (loop $again
      (local.set $errno (call $fd_write (local.get $fd) (i32.const 16) (i32.const 1) (i32.const 24)))
      (if (local.get $errno) (then (call $proc_exit (local.get $errno))))
      (if (i32.ne (i32.load (i32.const 24)) (i32.const 5)) (then (call $proc_exit (i32.const 100))))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
  (func (export "_start")
    (drop (call $set_flags (i32.const 0) (i32.const 4)))
    (call $lines (i32.const 1))
    (call $lines (i32.const 2))))
