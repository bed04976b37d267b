;; Exceptions in their first encoding, beside the later one.

(module
  (tag $none)
  (tag $one (param i32))
  (tag $two (param i32 i64))
  (func $throws (param i32)
    (if (i32.eq (local.get 0) (i32.const 1)) (then (throw $one (i32.const 11))))
    (if (i32.eq (local.get 0) (i32.const 2)) (then (throw $two (i32.const 12) (i64.const 30))))
    (if (i32.eq (local.get 0) (i32.const 3)) (then (throw $none))))

  (func (export "which") (param i32) (result i32)
    try (result i32)
      (call $throws (local.get 0)) (i32.const 0)
      catch $one (i32.add (i32.const 100))
      catch $two (drop) (i32.add (i32.const 200))
      catch_all (i32.const 300) end)
  ;; Without clause for all: goes on to the caller.
  (func $some (export "some") (param i32) (result i32)
    try (result i32)
      (call $throws (local.get 0)) (i32.const 0)
      catch $one (i32.add (i32.const 100)) end)
  (func (export "outer") (param i32) (result i32)
    try (result i32)
      (call $some (local.get 0))
      catch_all (i32.const -1) end)
  (func (export "here") (param i32) (result i32)
    try (result i32)
      (throw $two (local.get 0) (i64.const 5))
      catch $one
      catch $two (i32.wrap_i64) (i32.add) end)
  ;; A try without clauses catches nothing.
  (func (export "bare") (param i32) (result i32)
    try (result i32)
      try (call $throws (local.get 0)) end (i32.const 0)
      catch_all (i32.const 9) end)
  ;; A body that throws nothing.
  (func (export "quiet") (result i32)
    try (result i32) (i32.const 4) catch $one (drop) (i32.const 5) catch_all (i32.const 6) end)

  ;; Again: from the clause, and past others that were thrown and caught in it.
  (func $again (export "again") (param i32) (result i32)
    try (result i32)
      (call $throws (local.get 0)) (i32.const 0)
      catch_all
        try (call $throws (i32.const 2)) catch $two (drop) (drop) end
        (rethrow 0) end)
  (func (export "around-again") (param i32) (result i32)
    try (result i32)
      (call $again (local.get 0))
      catch $one (i32.add (i32.const 1000))
      catch_all (i32.const 2000) end)
  ;; The outer one from inside a clause of the inner one.
  (func (export "outer-again") (result i32)
    try (result i32)
      try (result i32)
          (throw $one (i32.const 7))
          catch $one
            (drop)
            try (result i32)
              (throw $none)
              catch $none (rethrow 1) end end
      catch $one (i32.add (i32.const 70))
      catch_all (i32.const -1) end)
  ;; A throw in a clause is not caught by its own try.
  (func (export "from-clause") (result i32)
    try (result i32)
      try (result i32)
          (throw $none)
          catch_all (throw $one (i32.const 3)) end
      catch $one (i32.add (i32.const 30)) end)

  ;; Past the blocks between.
  (func (export "delegate") (param i32) (result i32)
    try $outer (result i32)
      try (result i32)
          try (result i32)
              (call $throws (local.get 0)) (i32.const 0)
              delegate $outer
          catch_all (i32.const -1) end
      catch $one (i32.add (i32.const 40))
      catch_all (i32.const 50) end)
  (func $to-caller (param i32)
    try
      try (call $throws (local.get 0)) delegate 1
      catch_all end)
  (func (export "delegate-to-caller") (param i32) (result i32)
    try (result i32)
      (call $to-caller (local.get 0)) (i32.const 0)
      catch_all (i32.const 60) end)
  (func (export "delegate-to-block") (param i32) (result i32)
    try (result i32)
      (block $b
          try try (call $throws (local.get 0)) delegate $b catch_all (return (i32.const -1)) end)
        (i32.const 0)
      catch_all (i32.const 61) end)

  ;; Where nothing is reached.
  (func (export "dead") (result i32)
    (return (i32.const 8))
    try (result i32)
      try (result i32) (throw $none) delegate 0
      catch $one
      catch_all (rethrow 0) end)

  ;; One encoding inside the other.
  (func (export "mixed") (param i32) (result i32)
    (block $h (result i32)
      (try_table (result i32) (catch $one $h)
        try (result i32)
          (call $throws (local.get 0)) (i32.const 0)
          catch $two (drop) end))))

(assert_return (invoke "which" (i32.const 0)) (i32.const 0))
(assert_return (invoke "which" (i32.const 1)) (i32.const 111))
(assert_return (invoke "which" (i32.const 2)) (i32.const 212))
(assert_return (invoke "which" (i32.const 3)) (i32.const 300))
(assert_return (invoke "some" (i32.const 1)) (i32.const 111))
(assert_exception (invoke "some" (i32.const 2)))
(assert_return (invoke "outer" (i32.const 1)) (i32.const 111))
(assert_return (invoke "outer" (i32.const 2)) (i32.const -1))
(assert_return (invoke "here" (i32.const 6)) (i32.const 11))
(assert_return (invoke "bare" (i32.const 0)) (i32.const 0))
(assert_return (invoke "bare" (i32.const 3)) (i32.const 9))
(assert_return (invoke "quiet") (i32.const 4))
(assert_return (invoke "again" (i32.const 0)) (i32.const 0))
(assert_exception (invoke "again" (i32.const 1)))
(assert_return (invoke "around-again" (i32.const 1)) (i32.const 1011))
(assert_return (invoke "around-again" (i32.const 3)) (i32.const 2000))
(assert_return (invoke "outer-again") (i32.const 77))
(assert_return (invoke "from-clause") (i32.const 33))
(assert_return (invoke "delegate" (i32.const 0)) (i32.const 0))
(assert_return (invoke "delegate" (i32.const 1)) (i32.const 51))
(assert_return (invoke "delegate" (i32.const 3)) (i32.const 50))
(assert_return (invoke "delegate-to-caller" (i32.const 0)) (i32.const 0))
(assert_return (invoke "delegate-to-caller" (i32.const 1)) (i32.const 60))
(assert_return (invoke "delegate-to-block" (i32.const 1)) (i32.const 61))
(assert_return (invoke "dead") (i32.const 8))
(assert_return (invoke "mixed" (i32.const 1)) (i32.const 11))
(assert_return (invoke "mixed" (i32.const 2)) (i32.const 12))
(assert_exception (invoke "mixed" (i32.const 3)))

;; The folded form.
(module
  (tag $one (param i32))
  (tag $none)
  (func (export "folded") (param i32) (result i32)
    (try $outer (result i32)
      (do
        (try (result i32)
          (do
            (try (result i32)
              (do
                (if (local.get 0) (then (throw $one (i32.const 40))))
                (throw $none))
              (delegate 0)))
          (catch $one (i32.add (i32.const 2)))))
      (catch_all (i32.const 7)))))

(assert_return (invoke "folded" (i32.const 1)) (i32.const 42))
(assert_return (invoke "folded" (i32.const 0)) (i32.const 7))
