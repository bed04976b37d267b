;; Asks for the console's interrupt line, which the console holds, and for unknown lines: all are
;; refused.
;; stopped: no
(module
  (import "sing_v1" "interrupt_create" (func $create (param i32) (result i32)))
  (func (export "sip_main") (result i32)
    ;; The timer is the kernel's.
    (if (i32.ne (call $create (i32.const 0)) (i32.const -4)) (then (return (i32.const 1))))
    (if (i32.ne (call $create (i32.const 1)) (i32.const -11)) (then (return (i32.const 2))))
    (if (i32.ne (call $create (i32.const 31)) (i32.const -4)) (then (return (i32.const 3))))
    (if (i32.ne (call $create (i32.const 32)) (i32.const -4)) (then (return (i32.const 4))))
    (i32.ne (call $create (i32.const -1)) (i32.const -4)))
  (@custom "singularity.manifest" "{\"name\": \"interrupt_held_by_another\", \"abi\": 1, \"privileges\": [\"console\"]}"))
