;; Gives a child as many arguments as it may have, one more, and a megabyte of empty ones, for which the kernel would take long.
;; stopped: no
(module
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (memory 18)
  (data (i32.const 1024) "arguments_too_many")
  ;; An argument is its length and no bytes.
  (func $with (param $arguments i32) (result i32)
    (call $process_create (i32.const 1024) (i32.const 18) (i32.const 65536) (i32.mul (local.get $arguments) (i32.const 4)) (i32.const 0) (i32.const 0)))
  (func (export "sip_main") (result i32)
    (if (i32.lt_s (call $with (i32.const 4096)) (i32.const 0)) (then (return (i32.const 1))))
    (if (i32.ne (call $with (i32.const 4097)) (i32.const -7)) (then (return (i32.const 2))))
    (if (i32.ne (call $with (i32.const 262144)) (i32.const -7)) (then (return (i32.const 3))))
    (if (i32.ne (call $with (i32.const 262145)) (i32.const -7)) (then (return (i32.const 4))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"arguments_too_many\", \"abi\": 1, \"privileges\": [\"create\"]}"))
