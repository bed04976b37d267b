  ;; Words of a message: a place of the thread's own.
  (func $words (result i32)
    (i32.add (i32.const 0x2f000) (i32.shl (global.get $slot) (i32.const 8))))

  (func $scribble (result i32)
    (i32.add (i32.const 0x10000) (call $below (i32.const 0x1d000))))

  ;; Keeps the handles of a received message.
  (func $unpack (param $message i32) (param $p i32)
    (if (i32.or (i32.eq (local.get $message) (i32.const 4)) (i32.eq (local.get $message) (i32.const 9)))
      (then (call $put (i32.const 13) (i32.load (local.get $p)))))
    (if (i32.eq (local.get $message) (i32.const 5))
      (then
        (call $put (i32.const 13) (i32.load (local.get $p)))
        (call $put (i32.const 13) (i32.load offset=8 (local.get $p)))))
    (if (i32.eq (local.get $message) (i32.const 6))
      (then (call $put (i32.const 6) (i32.load (local.get $p)))))
    (if (i32.eq (local.get $message) (i32.const 7))
      (then
        (call $put (i32.const 13) (i32.load offset=8 (local.get $p)))
        (call $put (i32.const 6) (i32.load offset=16 (local.get $p))))))

  (func $vector_at (result i32)
    (i32.add (i32.const 0x2d000) (i32.shl (global.get $slot) (i32.const 10))))

  ;; Handles to wait for: how many.
  (func $vector (result i32)
    (local $n i32) (local $i i32)
    (local.set $n (i32.add (i32.const 1) (call $below (i32.const 9))))
    (if (i32.eqz (call $below (i32.const 16))) (then (local.set $n (call $below (i32.const 65)))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (i32.store (i32.add (call $vector_at) (i32.shl (local.get $i) (i32.const 2))) (call $waitable))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $n))
