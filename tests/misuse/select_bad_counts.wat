;; Selects more objects than allowed, and none.
;; stopped: no
(module
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (import "sing_v1" "wait_any" (func $wait_any (param i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (if (i32.ne (call $select (i32.const 0) (i32.const 512) (i32.const 65) (i64.const 0)) (i32.const -7))
      (then (return (i32.const 1))))
    (if (i32.ne (call $select (i32.const 0) (i32.const 0) (i32.const -1) (i64.const 0)) (i32.const -7))
      (then (return (i32.const 2))))
    (if (i32.ne (call $select (i32.const 0) (i32.const 0) (i32.const 0) (i64.const -1)) (i32.const -7))
      (then (return (i32.const 3))))
    (if (i32.ne (call $select (i32.const 0) (i32.const 512) (i32.const 64) (i64.const -1)) (i32.const -7))
      (then (return (i32.const 4))))
    (if (i32.ne (call $wait_any (i32.const 0) (i32.const 65) (i64.const 0)) (i32.const -7))
      (then (return (i32.const 5))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"select_bad_counts\", \"abi\": 1}"))
