;; Copies its standard input to its standard output.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (loop $more
      (i32.store (i32.const 0) (i32.const 65536))
      (i32.store (i32.const 4) (i32.const 5000))
      (if (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (then unreachable))
      (if (i32.load (i32.const 8))
        (then
          (loop $rest
            (i32.store (i32.const 4) (i32.load (i32.const 8)))
            (if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)) (then unreachable))
            (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.load (i32.const 12))))
            (i32.store (i32.const 8) (i32.sub (i32.load (i32.const 8)) (i32.load (i32.const 12))))
            (br_if $rest (i32.load (i32.const 8))))
          (br $more))))))
