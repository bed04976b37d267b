;; Opens `in.txt` in its first directory until it is refused. Ends with 0 if that is because it has as many descriptors
;; as it may (`mfile`), with the number of the error otherwise.
(module
  (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 512) "in.txt")
  (func (export "_start") (local $errno i32)
    (loop $again
      (local.set $errno (call $path_open (i32.const 3) (i32.const 0) (i32.const 512) (i32.const 6)
        (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 100)))
      (br_if $again (i32.eqz (local.get $errno))))
    (if (i32.ne (local.get $errno) (i32.const 33))
      (then (call $proc_exit (local.get $errno))))))
