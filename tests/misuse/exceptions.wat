;; Exceptions from the first function, the start function and other threads; a million with references that nothing holds later,
;; and references that stay good meanwhile: in locals of callers, in globals, in other exceptions.
;; stopped: no
(module
  (import "sing_v1" "yield" (func $yield))
  (import "sing_v1" "thread_create" (func $create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $begin (param i32) (result i32)))
  (memory 1)
  (tag $number (param i32))
  (tag $chain (param i32 exnref))
  (global $last (mut exnref) (ref.null exn))
  (func $throw (param i32) (throw $number (local.get 0)))
  (func $start
    (block $h (try_table (catch_all $h) (call $throw (i32.const 1)))))
  (start $start)

  ;; Makes a reference to an exception of a number.
  (func $make (param i32) (result exnref)
    (local $e exnref)
    (block $r (result i32 exnref)
      (try_table (catch_ref $number $r) (call $throw (local.get 0)))
      (unreachable))
    (local.set $e)
    (drop)
    (local.get $e))
  ;; The number of an exception; of a chain, the sum.
  (func $number (param $e exnref) (result i32)
    (local $sum i32)
    (loop $next
      (block $one (result i32)
        (block $chained (result i32 exnref)
          (try_table (catch $number $one) (catch $chain $chained) (throw_ref (local.get $e)))
          (unreachable))
        (local.set $e)
        (local.set $sum (i32.add (local.get $sum)))
        (br $next))
      (return (i32.add (local.get $sum))))
    (unreachable))
  (func $link (param i32 exnref) (result exnref)
    (block $r (result exnref)
      (try_table (catch_all_ref $r) (throw $chain (local.get 0) (local.get 1)))
      (unreachable)))
  ;; Makes n references and holds none.
  (func $churn (param $n i32)
    (loop $l
      (drop (call $make (local.get $n)))
      (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  ;; Each frame holds one, while those further down churn.
  (func $hold (param $n i32) (result i32)
    (local $e exnref)
    (local.set $e (call $make (local.get $n)))
    (if (result i32) (i32.eqz (local.get $n))
      (then (call $churn (i32.const 2000)) (i32.const 0))
      (else (i32.add (call $hold (i32.sub (local.get $n) (i32.const 1))) (call $number (local.get $e))))))
  (func $work (result i32)
    (local $i i32) (local $e exnref)
    ;; In a global.
    (global.set $last (call $make (i32.const 4711)))
    (call $churn (i32.const 1000000))
    (if (i32.ne (call $number (global.get $last)) (i32.const 4711)) (then (return (i32.const 1))))
    ;; In frames: 0 + 1 + ... + 200.
    (if (i32.ne (call $hold (i32.const 200)) (i32.const 20100)) (then (return (i32.const 2))))
    (if (i32.ne (call $hold (i32.const 200)) (i32.const 20100)) (then (return (i32.const 3))))
    ;; In each other: 100 links, then a number.
    (local.set $e (call $make (i32.const 5)))
    (loop $l
      (local.set $e (call $link (i32.const 3) (local.get $e)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))
    (global.set $last (local.get $e))
    (local.set $e (ref.null exn))
    (call $churn (i32.const 2000))
    (if (i32.ne (call $number (global.get $last)) (i32.const 305)) (then (return (i32.const 4))))
    (global.set $last (ref.null exn))
    (if (i32.ne (call $hold (i32.const 250)) (i32.const 31375)) (then (return (i32.const 5))))
    (i32.const 0))
  ;; Threads throw at the same time, each with exceptions of its own.
  (func (export "sip_thread") (param i32)
    (local $i i32)
    (block $wrong
      (loop $l
        (br_if $wrong (i32.ne (call $number (call $make (local.get 0))) (local.get 0)))
        (call $yield)
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
      (drop (i32.atomic.rmw.add (i32.const 8) (i32.const 1)))
      (return))
    (unreachable))
  (func (export "sip_main") (result i32)
    (local $i i32)
    (loop $threads
      (if (call $begin (call $create (i32.add (local.get $i) (i32.const 100)) (i32.const 0)))
        (then (return (i32.const 10))))
      (br_if $threads (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4))))
    (local.set $i (call $work))
    (loop $wait
      (call $yield)
      (br_if $wait (i32.ne (i32.atomic.load (i32.const 8)) (i32.const 4))))
    (local.get $i))
  (@custom "singularity.manifest" "{\"name\": \"exceptions\", \"abi\": 1, \"shadow_stack\": false}"))
