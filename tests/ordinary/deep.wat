;; Calls itself 8,000 deep, as interpreters and parsers do, with values that are kept for each call, and ends with 7 if all of
;; them were there. With a word, it never ends.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func $down (param $left i32) (param $a i64) (param $b i64) (result i64)
    (if (i32.eqz (local.get $left)) (then (return (i64.const 0))))
    (i64.add
      (call $down (i32.sub (local.get $left) (i32.const 1)) (local.get $b) (i64.add (local.get $a) (i64.const 1)))
      (i64.sub (i64.add (local.get $a) (i64.const 1)) (local.get $a))))
  (func (export "_start")
    (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
    (if (i64.eq (i64.const 8000)
        (call $down (select (i32.const 8000) (i32.const -1) (i32.eq (i32.load (i32.const 0)) (i32.const 1)))
          (i64.const 0) (i64.const 1)))
      (then (call $proc_exit (i32.const 7))))))
