;; An exception leaves a stack of 64 MiB of frames, again and again, and then one is caught nowhere above the end of the stack.
;; stopped: run
;; with: stack overflow
(module
  (tag $t (param i32))
  (func $deep (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (throw $t (i32.const 7))))
    (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
  (func $leave (param i32) (result i32)
    (block $h (result i32)
      (try_table (result i32) (catch $t $h) (call $deep (local.get 0)))))
  (func (export "sip_main") (result i32)
    (local $i i32)
    (loop $l
      (if (i32.ne (call $leave (i32.const 500000)) (i32.const 7)) (then (return (i32.const 1))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20))))
    (call $leave (i32.const 100000000)))
  (@custom "singularity.manifest" "{\"name\": \"exception_out_of_the_depths\", \"abi\": 1, \"stack\": 67108864, \"memory\": 268435456}"))
