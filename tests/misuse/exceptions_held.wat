;; Holds more exceptions by reference than there is room for.
;; stopped: run
;; with: too many exceptions held by reference
(module
  (tag $t (param i64))
  (func $throw (param i64) (throw $t (local.get 0)))
  (func $hold (param $n i64) (result exnref)
    (local $e exnref)
    (block $r (result exnref)
      (try_table (catch_all_ref $r) (call $throw (local.get $n)))
      (unreachable))
    (local.set $e)
    (if (i64.ne (local.get $n) (i64.const 0))
      (then (drop (call $hold (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $e))
  (func (export "sip_main") (result i32)
    (drop (call $hold (i64.const 600)))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"exceptions_held\", \"abi\": 1, \"stack\": 262144}"))
