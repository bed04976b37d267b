;; A process ends while a thread of its own searches two hundred thousand frames for who catches: each has a block that looks at the
;; exception and does not take it, so that nearly all of the thread's time goes to the search.
;; stopped: no
(module
  (import "sing_v1" "yield" (func $yield))
  (import "sing_v1" "thread_create" (func $create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $begin (param i32) (result i32)))
  (memory 1)
  (tag $thrown (param i32))
  (tag $other (param i32))
  (func $deep (param i32) (result i32)
    (block $never (result i32)
      (try_table (result i32) (catch $other $never)
        (if (i32.eqz (local.get 0)) (then (throw $thrown (i32.const 7))))
        (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))))
  (func $leave (result i32)
    (block $h (result i32)
      (try_table (result i32) (catch $thrown $h) (call $deep (i32.const 200000)))))
  (func (export "sip_thread") (param i32)
    (loop $l
      (drop (call $leave))
      (drop (i32.atomic.rmw.add (i32.const 8) (i32.const 1)))
      (br $l)))
  (func (export "sip_main") (result i32)
    (local $i i32)
    (if (call $begin (call $create (i32.const 1) (i32.const 0))) (then (return (i32.const 10))))
    ;; Once through, so that all frames have been there; then into another search.
    (loop $wait
      (call $yield)
      (br_if $wait (i32.eqz (i32.atomic.load (i32.const 8)))))
    (loop $more
      (call $yield)
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"exception_search_killed\", \"abi\": 1, \"shadow_stack\": false, \"stack\": 16777216, \"memory\": 134217728}"))
