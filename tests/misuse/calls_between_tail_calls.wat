;; Calls between tail calls take stack as all others do, and its end is found.
;; stopped: run
;; with: stack overflow
(module
  (func $deep (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
    (i32.add (call $tail (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
  (func $tail (param i32) (result i32) (return_call $deep (local.get 0)))
  (func (export "sip_main") (result i32) (return_call $tail (i32.const 100000000)))
  (@custom "singularity.manifest" "{\"name\": \"calls_between_tail_calls\", \"abi\": 1}"))
