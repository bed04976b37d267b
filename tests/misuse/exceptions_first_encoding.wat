;; Exceptions in their first encoding, in a clause of which others are thrown, a hundred thousand times.
;; stopped: no
(module
  (tag $t (param i32))
  (func $throw (param i32) (throw $t (local.get 0)))
  (func $finally (param i32)
    try
      (call $throw (local.get 0))
    catch_all
      try (call $throw (i32.const 99)) catch $t (drop) end
      rethrow 0
    end)
  (func (export "sip_main") (result i32)
    (local $n i32)
    (loop $l
      try (result i32)
        (call $finally (local.get $n))
        (unreachable)
      catch $t
      end
      (if (i32.ne (local.get $n)) (then (return (i32.const 1))))
      (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"exceptions_first_encoding\", \"abi\": 1}"))
