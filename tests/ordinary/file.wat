;; Opens `in.txt` in its first directory, writes the beginning of it to standard output and to `out.txt` there. Ends with the
;; number of the error if the file cannot be opened.
(module
  (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 512) "in.txtout.txt")
  (func $must (param $errno i32)
    (if (local.get $errno) (then (call $proc_exit (local.get $errno)))))
  (func (export "_start")
    (call $must (call $path_open (i32.const 3) (i32.const 0) (i32.const 512) (i32.const 6)
      (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 100)))
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 4096))
    (call $must (call $fd_read (i32.load (i32.const 100)) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (call $must (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
    ;; Made, and to be written.
    (call $must (call $path_open (i32.const 3) (i32.const 0) (i32.const 518) (i32.const 7)
      (i32.const 1) (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 104)))
    (call $must (call $fd_write (i32.load (i32.const 104)) (i32.const 0) (i32.const 1) (i32.const 12)))))
