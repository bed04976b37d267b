;;; process_create
  ;; An argument of its own, four endpoints at the most: importing, exporting, importing, exporting.
  (func $op.process_create
    (local $name i32) (local $len i32) (local $i i32) (local $n i32) (local $h i32) (local $r i32)
    (if (i32.or (i32.gt_u (global.get $depth) (i32.const 1)) (i32.gt_u (global.get $children) (i32.const 5)))
      (then (return)))
    (global.set $children (i32.add (global.get $children) (i32.const 1)))
    (local.set $name (i32.const 0x9000)) (local.set $len (i32.const 10))
    (local.set $i (call $below (i32.const 8)))
    (if (i32.lt_u (local.get $i) (i32.const 3))
      (then (local.set $name (i32.const 0x9010)) (local.set $len (i32.const 8))))
    (if (i32.eq (local.get $i) (i32.const 7))
      (then (local.set $name (i32.const 0x9020)) (local.set $len (i32.const 13))))
    (if (call $wrong) (then (local.set $name (call $edge)) (local.set $len (call $length))))
    ;; One argument of 19 bytes.
    (i32.store (i32.const 0x9900) (i32.const 19))
    (i32.store8 (i32.const 0x9904) (i32.add (i32.const 48) (call $below (i32.const 4))))
    (i32.store8 (i32.const 0x9905) (i32.add (i32.const 48) (global.get $logs)))
    (i32.store8 (i32.const 0x9906) (i32.add (i32.const 49) (global.get $depth)))
    (i64.store (i32.const 0x9907) (call $wide))
    (i64.store (i32.const 0x990f) (call $wide))
    (local.set $n (call $below (i32.const 5)))
    (memory.fill (i32.const 0x9a00) (i32.const 0) (i32.const 64))
    (local.set $i (i32.const 0))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (local.set $h (i32.const 0))
        (if (i32.and (call $rng) (i32.const 1))
          (then
            (local.set $h (call $handle (i32.add (i32.const 6) (i32.shl (i32.and (local.get $i) (i32.const 1)) (i32.const 1)))))
            (if (i32.and (i32.ge_u (local.get $i) (i32.const 2))
                  (i32.and (i32.eqz (global.get $forged))
                    (i32.eq (local.get $h)
                      (i32.load (i32.add (i32.const 0x99f8) (i32.shl (local.get $i) (i32.const 2)))))))
              (then (local.set $h (i32.const 0))))))
        (i32.store (i32.add (i32.const 0x9a00) (i32.shl (local.get $i) (i32.const 2))) (local.get $h))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (call $say (i32.const #process_create) (local.get $name) (local.get $len) (local.get $n) (i32.load (i32.const 0x9a00)))
    (local.set $r (call $e.process_create (local.get $name) (local.get $len) (i32.const 0x9900)
      (if (result i32) (call $wrong) (then (call $below (i32.const 64))) (else (i32.const 23)))
      (i32.const 0x9a00) (local.get $n)))
    (call $note (i32.const #process_create) (local.get $r))
    (if (i32.gt_s (local.get $r) (i32.const 0))
      (then
        (local.set $i (i32.const 0))
        (loop $next
          (local.set $h (i32.load (i32.add (i32.const 0x9a00) (i32.shl (local.get $i) (i32.const 2)))))
          (if (local.get $h) (then (call $take (local.get $h))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
        (call $put (i32.const 3) (local.get $r))
        (if (i32.and (call $rng) (i32.const 3))
          (then (drop (call $e.process_start (local.get $r))))))))
;;; process_exit
  (func $op.process_exit
    (if (call $below (i32.const 3)) (then (return)))
    (call $note (i32.const #process_exit) (i32.const 0))
    (call $flush)
    (call $say (i32.const #process_exit) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $e.process_exit (call $rng)))
;;; startup_endpoint
  (func $op.startup_endpoint
    (local $i i32) (local $r i32)
    (local.set $i (call $number (i32.const 4)))
    (call $say (i32.const #startup_endpoint) (local.get $i) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.startup_endpoint (local.get $i)))
    (call $note (i32.const #startup_endpoint) (local.get $r))
    (call $put (i32.add (i32.const 6) (i32.shl (i32.and (local.get $i) (i32.const 1)) (i32.const 1))) (local.get $r)))
;;; thread_create
  ;; Three further threads, each with pools of its own for blocks; a rude first thread makes more of
  ;; them.
  (func $op.thread_create
    (local $r i32) (local $a i32)
    (if (i32.or (global.get $slot) (i32.ge_u (global.get $threads) (i32.const 3)))
      (then (if (i32.eqz (call $wrong)) (then (return)))))
    (global.set $threads (i32.add (global.get $threads) (i32.const 1)))
    (local.set $a (i32.or (i32.shl (call $rng) (i32.const 2)) (i32.and (global.get $threads) (i32.const 3))))
    (call $say (i32.const #thread_create) (local.get $a) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.thread_create (local.get $a) (call $any32)))
    (call $note (i32.const #thread_create) (local.get $r))
    (call $put (i32.const 2) (local.get $r))
    (if (i32.and (i32.gt_s (local.get $r) (i32.const 0)) (i32.and (call $rng) (i32.const 1)))
      (then (drop (call $e.thread_start (local.get $r))))))
;;; spin
  (func $op.spin
    (local $n i32)
    (local.set $n (call $below (i32.const 1000)))
    (if (i32.eqz (call $below (i32.const 16))) (then (local.set $n (i32.const -1))))
    (call $say (i32.const #spin) (local.get $n) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $e.spin (local.get $n))
    (call $note (i32.const #spin) (i32.const 0)))
;;; wait_any
  (func $op.wait_any
    (local $n i32) (local $at i32) (local $r i32) (local $t i64)
    (local.set $n (call $vector))
    (local.set $at (call $vector_at))
    (if (call $wrong) (then (local.set $at (call $edge))))
    (if (call $wrong) (then (local.set $n (i32.add (i32.const 60) (call $below (i32.const 9))))))
    (local.set $t (call $timeout))
    (call $say (i32.const #wait_any) (local.get $at) (local.get $n) (i32.load (call $vector_at)) (i32.wrap_i64 (local.get $t)))
    (local.set $r (call $e.wait_any (local.get $at) (local.get $n) (local.get $t)))
    (call $note (i32.const #wait_any) (local.get $r)))
;;; select
  ;; If the tags are at the last address, the answer is a position.
  (func $op.select
    (local $n i32) (local $at i32) (local $r i32) (local $t i64) (local $tags i32)
    (local.set $n (call $vector))
    (local.set $at (call $vector_at))
    (memory.fill (i32.add (local.get $at) (i32.const 512)) (i32.const 255) (i32.const 400))
    (local.set $t (i64.const 0))
    (loop $next
      (i32.store (i32.add (i32.add (local.get $at) (i32.const 512)) (i32.wrap_i64 (local.get $t))) (i32.const -8))
      (local.set $t (i64.add (local.get $t) (i64.const 4)))
      (br_if $next (i64.lt_u (local.get $t) (i64.const 256))))
    (local.set $t (call $timeout))
    (if (call $wrong) (then (local.set $at (call $edge))))
    (if (call $wrong) (then (local.set $n (i32.add (i32.const 60) (call $below (i32.const 9))))))
    (local.set $tags (i32.add (local.get $at) (i32.const 512)))
    (if (i32.and (call $rng) (i32.const 1)) (then (local.set $tags (i32.const -1))))
    (call $say (i32.const #select) (local.get $at) (local.get $n) (local.get $tags) (i32.wrap_i64 (local.get $t)))
    (local.set $r (call $e.select (local.get $at) (local.get $tags) (local.get $n) (local.get $t)))
    (call $note (i32.const #select) (local.get $r)))
;;; xh_share
  (func $op.xh_share
    (local $h i32) (local $size i32) (local $a i32) (local $b i32) (local $r i32)
    (local.set $h (call $handle (i32.or (i32.const 12) (i32.and (call $rng) (i32.const 1)))))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $say (i32.const #xh_share) (local.get $h) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $size (call $e.xh_size (local.get $h)))
    (local.set $a (call $number (local.get $size)))
    (local.set $b (i32.add (local.get $a) (call $number (i32.add (i32.const 1) (i32.sub (local.get $size) (local.get $a))))))
    (local.set $r (call $e.xh_share (local.get $h) (local.get $a) (local.get $b)))
    (call $note (i32.const #xh_share) (local.get $r))
    (if (i32.gt_s (local.get $r) (i32.const 0))
      (then (call $take (local.get $h)) (call $put (i32.const 13) (local.get $h)) (call $put (i32.const 13) (local.get $r)))))
;;; xh_split
  (func $op.xh_split
    (local $kind i32) (local $h i32) (local $r i32) (local $a i32)
    (local.set $kind (i32.or (i32.const 12) (i32.and (call $rng) (i32.const 1))))
    (local.set $h (call $handle (local.get $kind)))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $say (i32.const #xh_split) (local.get $h) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $a (call $number (i32.add (i32.const 1) (call $e.xh_size (local.get $h)))))
    (local.set $r (call $e.xh_split (local.get $h) (local.get $a)))
    (call $note (i32.const #xh_split) (local.get $r))
    (call $put (local.get $kind) (local.get $r)))
;;; xh_unshare
  (func $op.xh_unshare
    (local $h i32) (local $r i32)
    (local.set $h (call $handle (i32.const 13)))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $say (i32.const #xh_unshare) (local.get $h) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.xh_unshare (local.get $h)))
    (call $note (i32.const #xh_unshare) (local.get $r))
    (if (i32.eqz (local.get $r)) (then (call $take (local.get $h)) (call $put (i32.const 12) (local.get $h)))))
;;; xh_read
  (func $op.xh_read
    (local $h i32) (local $size i32) (local $a i32) (local $n i32) (local $p i32)
    (local.set $h (call $handle (i32.const 13)))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $p (call $pointer))
    (call $say (i32.const #xh_read) (local.get $h) (local.get $p) (i32.const 0) (i32.const 0))
    (local.set $size (call $e.xh_size (local.get $h)))
    (local.set $a (call $number (local.get $size)))
    (local.set $n (call $number (i32.and (i32.sub (local.get $size) (local.get $a)) (i32.const 0xfff))))
    (if (i32.eq (local.get $p) (i32.sub (call $ends) (i32.const 64))) (then (local.set $n (i32.and (local.get $n) (i32.const 63)))))
    (call $e.xh_read (local.get $h) (local.get $a) (local.get $p) (local.get $n))
    (call $note (i32.const #xh_read) (i32.const 0)))
;;; xh_write
  (func $op.xh_write
    (local $h i32) (local $size i32) (local $a i32) (local $n i32) (local $p i32)
    (local.set $h (call $handle (i32.const 12)))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $p (call $pointer))
    (call $say (i32.const #xh_write) (local.get $h) (local.get $p) (i32.const 0) (i32.const 0))
    (local.set $size (call $e.xh_size (local.get $h)))
    (local.set $a (call $number (local.get $size)))
    (local.set $n (call $number (i32.and (i32.sub (local.get $size) (local.get $a)) (i32.const 0xfff))))
    (if (i32.eq (local.get $p) (i32.sub (call $ends) (i32.const 64))) (then (local.set $n (i32.and (local.get $n) (i32.const 63)))))
    (call $e.xh_write (local.get $h) (local.get $a) (local.get $p) (local.get $n))
    (call $note (i32.const #xh_write) (i32.const 0)))
;;; channel_new
  (func $op.channel_new
    (local $p i32) (local $r i32)
    (local.set $p (call $words))
    (if (call $wrong) (then (local.set $p (call $edge))))
    (call $say (i32.const #channel_new) (local.get $p) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $c.new (local.get $p)))
    (call $note (i32.const #channel_new) (local.get $r))
    (if (i32.eqz (local.get $r))
      (then
        (call $put (i32.const 6) (i32.load (local.get $p)))
        (call $put (i32.const 8) (i32.load offset=4 (local.get $p))))))
;;; channel_send
  ;; A message with words in registers, of either side.
  (func $op.channel_send
    (local $h i32) (local $a i32) (local $b i32) (local $r i32) (local $m i32)
    (if (i32.and (call $rng) (i32.const 1))
      (then
        (local.set $h (call $handle (i32.const 9)))
        (if (call $lacks (local.get $h)) (then (return)))
        (if (i32.and (call $rng) (i32.const 1))
          (then
            (call $say (i32.const #channel_send) (local.get $h) (i32.const 8) (i32.const 0) (i32.const 0))
            (local.set $r (call $c.ok (local.get $h))))
          (else
            (local.set $a (call $handle (i32.or (i32.const 12) (i32.and (call $rng) (i32.const 1)))))
            (if (call $lacks (local.get $a)) (then (return)))
            (call $say (i32.const #channel_send) (local.get $h) (i32.const 9) (local.get $a) (i32.const 0))
            (local.set $r (call $c.back (local.get $h) (i64.extend_i32_u (local.get $a))))
            (if (i32.eqz (local.get $r)) (then (call $take (local.get $a))))))
        (call $note (i32.const #channel_send) (local.get $r))
        (if (i32.eqz (local.get $r)) (then (call $take (local.get $h)) (call $put (i32.const 8) (local.get $h))))
        (return)))
    (local.set $h (call $handle (i32.const 6)))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $m (call $below (i32.const 7)))
    (block $sent
      (if (i32.eq (local.get $m) (i32.const 0))
        (then
          (call $say (i32.const #channel_send) (local.get $h) (local.get $m) (i32.const 0) (i32.const 0))
          (local.set $r (call $c.nothing (local.get $h))) (br $sent)))
      (if (i32.eq (local.get $m) (i32.const 1))
        (then
          (call $say (i32.const #channel_send) (local.get $h) (local.get $m) (i32.const 0) (i32.const 0))
          (local.set $r (call $c.words (local.get $h) (call $wide) (call $wide) (call $wide))) (br $sent)))
      (if (i32.eq (local.get $m) (i32.const 2))
        (then
          (local.set $a (i32.add (i32.const 1) (call $below (i32.const 9))))
          (if (call $wrong) (then (local.set $a (call $edge))))
          (call $say (i32.const #channel_send) (local.get $h) (i32.const 3) (local.get $a) (i32.const 0))
          (local.set $r (call $c.small (local.get $h) (i64.extend_i32_s (local.get $a)))) (br $sent)))
      (if (i32.eq (local.get $m) (i32.const 3))
        (then
          (local.set $a (call $handle (i32.const 12)))
          (local.set $b (call $handle (i32.const 13)))
          (if (i32.or (call $lacks (local.get $a)) (call $lacks (local.get $b))) (then (return)))
          (call $say (i32.const #channel_send) (local.get $h) (i32.const 5) (local.get $a) (local.get $b))
          (local.set $r (call $c.two (local.get $h) (i64.extend_i32_u (local.get $a)) (i64.extend_i32_u (local.get $b))))
          (br $sent)))
      (if (i32.eq (local.get $m) (i32.const 4))
        (then
          (local.set $a (call $handle (i32.const 6)))
          (if (i32.and (i32.eq (local.get $a) (local.get $h)) (i32.eqz (global.get $forged))) (then (return)))
          (if (call $lacks (local.get $a)) (then (return)))
          (call $say (i32.const #channel_send) (local.get $h) (i32.const 6) (local.get $a) (i32.const 0))
          (local.set $r (call $c.move (local.get $h) (i64.extend_i32_u (local.get $a))))
          (br $sent)))
      (local.set $a (call $handle (i32.or (i32.const 12) (i32.and (call $rng) (i32.const 1)))))
      (if (call $lacks (local.get $a)) (then (return)))
      (call $say (i32.const #channel_send) (local.get $h) (i32.const 4) (local.get $a) (i32.const 0))
      (local.set $r (call $c.give (local.get $h) (i64.extend_i32_u (local.get $a)))))
    (call $note (i32.const #channel_send) (local.get $r))
    (if (i32.eqz (local.get $r))
      (then
        (if (local.get $a) (then (call $take (local.get $a))))
        (if (local.get $b) (then (call $take (local.get $b))))
        (call $take (local.get $h)) (call $put (i32.const 7) (local.get $h)))))
;;; channel_send_mem
  (func $op.channel_send_mem
    (local $h i32) (local $a i32) (local $b i32) (local $r i32) (local $p i32)
    (local.set $p (call $words))
    (i64.store offset=24 (local.get $p) (call $wide))
    (i64.store offset=32 (local.get $p) (call $wide))
    (if (i32.eqz (call $below (i32.const 3)))
      (then
        (local.set $h (call $handle (i32.const 9)))
        (if (call $lacks (local.get $h)) (then (return)))
        (if (call $wrong) (then (local.set $p (call $edge))))
        (call $say (i32.const #channel_send_mem) (local.get $h) (i32.const 10) (local.get $p) (i32.const 0))
        (local.set $r (call $c.lots (local.get $h) (local.get $p)))
        (call $note (i32.const #channel_send_mem) (local.get $r))
        (if (i32.eqz (local.get $r)) (then (call $take (local.get $h)) (call $put (i32.const 8) (local.get $h))))
        (return)))
    (local.set $h (call $handle (i32.const 6)))
    (if (call $lacks (local.get $h)) (then (return)))
    (if (i32.and (call $rng) (i32.const 1))
      (then
        (if (call $wrong) (then (local.set $p (call $edge))))
        (call $say (i32.const #channel_send_mem) (local.get $h) (i32.const 2) (local.get $p) (i32.const 0))
        (local.set $r (call $c.many (local.get $h) (local.get $p))))
      (else
        (local.set $a (call $handle (i32.const 12)))
        (local.set $b (call $handle (i32.const 6)))
        (if (i32.or (call $lacks (local.get $a)) (call $lacks (local.get $b))) (then (return)))
        (if (i32.and (i32.eq (local.get $b) (local.get $h)) (i32.eqz (global.get $forged))) (then (return)))
        (i64.store offset=8 (local.get $p) (i64.extend_i32_u (local.get $a)))
        (i64.store offset=16 (local.get $p) (i64.extend_i32_u (local.get $b)))
        (call $say (i32.const #channel_send_mem) (local.get $h) (i32.const 7) (local.get $a) (local.get $b))
        (local.set $r (call $c.mixed (local.get $h) (local.get $p)))))
    (call $note (i32.const #channel_send_mem) (local.get $r))
    (if (i32.eqz (local.get $r))
      (then
        (if (local.get $a) (then (call $take (local.get $a))))
        (if (local.get $b) (then (call $take (local.get $b))))
        (call $take (local.get $h)) (call $put (i32.const 7) (local.get $h)))))
;;; channel_recv
  ;; If no message has come it hardly ever waits, as the other side may never send.
  (func $op.channel_recv
    (local $side i32) (local $h i32) (local $r i32) (local $p i32)
    (local.set $side (i32.and (call $rng) (i32.const 1)))
    (local.set $h (call $handle (i32.add (i32.const 7) (local.get $side))))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $p (call $words))
    (if (call $wrong) (then (local.set $p (call $edge))))
    (if (i32.and (i32.eq (call $e.endpoint_peek (local.get $h)) (i32.const -8)) (i32.ne (call $below (i32.const 100)) (i32.const 0)))
      (then (return)))
    (call $say (i32.const #channel_recv) (local.get $h) (local.get $side) (local.get $p) (i32.const 0))
    (local.set $r (if (result i32) (local.get $side)
      (then (call $c.exp_recv (local.get $h) (local.get $p)))
      (else (call $c.imp_recv (local.get $h) (local.get $p)))))
    (call $note (i32.const #channel_recv) (local.get $r))
    (if (i32.lt_s (local.get $r) (i32.const 0)) (then (return)))
    (call $take (local.get $h))
    (call $put (if (result i32) (local.get $side) (then (i32.const 9)) (else (i32.const 6))) (local.get $h))
    (call $unpack (local.get $r) (local.get $p)))
;;; channel_call
  (func $op.channel_call
    (local $h i32) (local $a i32) (local $r i32) (local $p i32)
    (if (call $below (i32.const 8)) (then (return)))
    (local.set $p (call $words))
    (if (call $wrong) (then (local.set $p (call $edge))))
    (local.set $h (call $handle (i32.const 6)))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $a (call $handle (i32.const 12)))
    (if (call $lacks (local.get $a)) (then (return)))
    (call $flush)
    (call $say (i32.const #channel_call) (local.get $h) (local.get $a) (local.get $p) (i32.const 0))
    (call $take (local.get $a))
    (local.set $r (call $c.call_give (local.get $h) (i64.extend_i32_u (local.get $a)) (local.get $p)))
    (call $note (i32.const #channel_call) (local.get $r))
    (if (i32.ge_s (local.get $r) (i32.const 0)) (then (call $unpack (local.get $r) (local.get $p)))))
;;; channel_call_mem
  (func $op.channel_call_mem
    (local $h i32) (local $r i32) (local $p i32)
    (if (call $below (i32.const 4)) (then (return)))
    (local.set $p (call $words))
    (if (call $wrong) (then (local.set $p (call $edge))))
    (local.set $h (call $handle (i32.const 6)))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $flush)
    (call $say (i32.const #channel_call_mem) (local.get $h) (local.get $p) (i32.const 0) (i32.const 0))
    (local.set $r (call $c.call_many (local.get $h) (local.get $p) (call $words)))
    (call $note (i32.const #channel_call_mem) (local.get $r))
    (if (i32.ge_s (local.get $r) (i32.const 0)) (then (call $unpack (local.get $r) (call $words)))))
;;; endpoint_peek
  (func $op.endpoint_peek
    (local $h i32) (local $r i32)
    (local.set $h (call $handle (i32.add (i32.const 6) (call $below (i32.const 4)))))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $say (i32.const #endpoint_peek) (local.get $h) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.endpoint_peek (local.get $h)))
    (call $note (i32.const #endpoint_peek) (local.get $r)))
;;; endpoint_cast
  (func $op.endpoint_cast
    (local $h i32) (local $r i32) (local $s i32)
    (local.set $h (call $handle (i32.add (i32.const 6) (call $below (i32.const 4)))))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $s (call $number (i32.const 3)))
    (call $say (i32.const #endpoint_cast) (local.get $h) (local.get $s) (i32.const 0) (i32.const 0))
    (local.set $r (if (result i32) (i32.and (call $rng) (i32.const 1))
      (then (call $c.imp_cast (local.get $h) (local.get $s)))
      (else (call $c.exp_cast (local.get $h) (local.get $s)))))
    (call $note (i32.const #endpoint_cast) (local.get $r)))
;;; endpoint_keep
  (func $op.endpoint_keep
    (local $h i32) (local $r i32)
    (local.set $h (call $handle (i32.add (i32.const 6) (call $below (i32.const 4)))))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $say (i32.const #endpoint_keep) (local.get $h) (i32.const 7) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.endpoint_keep (local.get $h) (i32.const 7)))
    (call $note (i32.const #endpoint_keep) (local.get $r)))
;;; startup_kept
  ;; The state of what comes is unknown, so it is given up again.
  (func $op.startup_kept
    (local $p i32) (local $r i32)
    (local.set $p (call $words))
    (if (call $wrong) (then (local.set $p (call $edge))))
    (call $say (i32.const #startup_kept) (local.get $p) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.startup_kept (local.get $p)))
    (call $note (i32.const #startup_kept) (local.get $r))
    (if (i32.gt_s (local.get $r) (i32.const 0))
      (then (drop (call $e.handle_dispose (local.get $r))))))
;;; set_add
  (func $op.set_add
    (local $s i32) (local $h i32) (local $r i32)
    (local.set $s (call $handle (i32.const 5)))
    (local.set $h (call $handle (i32.add (i32.const 6) (call $below (i32.const 4)))))
    (if (i32.or (call $lacks (local.get $s)) (call $lacks (local.get $h))) (then (return)))
    (call $say (i32.const #set_add) (local.get $s) (local.get $h) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.set_add (local.get $s) (local.get $h) (call $any32)))
    (call $note (i32.const #set_add) (local.get $r)))
;;; set_remove
  (func $op.set_remove
    (local $s i32) (local $h i32) (local $r i32)
    (local.set $s (call $handle (i32.const 5)))
    (local.set $h (call $handle (i32.add (i32.const 6) (call $below (i32.const 4)))))
    (if (i32.or (call $lacks (local.get $s)) (call $lacks (local.get $h))) (then (return)))
    (call $say (i32.const #set_remove) (local.get $s) (local.get $h) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.set_remove (local.get $s) (local.get $h)))
    (call $note (i32.const #set_remove) (local.get $r)))
;;; sys_stop
  ;; Processes that came after it: adults of the herd and their children. Never a bystander, all of
  ;; whom are older.
  (func $op.sys_stop
    (local $id i32) (local $r i32)
    (if (call $below (i32.const 6)) (then (return)))
    (local.set $id (i32.add (call $e.self_id) (i32.add (i32.const 1) (call $below (i32.const 12)))))
    (if (i32.eqz (call $below (i32.const 8))) (then (local.set $id (i32.const 0x7fffffff))))
    (if (i32.eqz (call $below (i32.const 40))) (then (local.set $id (call $e.self_id)) (call $flush)))
    (call $say (i32.const #sys_stop) (local.get $id) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.sys_stop (local.get $id) (call $rng)))
    (call $note (i32.const #sys_stop) (local.get $r)))
;;; sys_stop_by
  ;; As sys_stop, with and without force. Never bit 0 of `how`: nothing may outlive the run.
  (func $op.sys_stop_by
    (local $id i32) (local $r i32)
    (if (call $below (i32.const 6)) (then (return)))
    (local.set $id (i32.add (call $e.self_id) (i32.add (i32.const 1) (call $below (i32.const 12)))))
    (if (i32.eqz (call $below (i32.const 8))) (then (local.set $id (i32.const 0x7fffffff))))
    (call $say (i32.const #sys_stop_by) (local.get $id) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.sys_stop_by (local.get $id) (call $rng) (i32.shl (call $below (i32.const 2)) (i32.const 1))))
    (call $note (i32.const #sys_stop_by) (local.get $r)))
;;; xh_attach
  (func $op.xh_attach
    (local $h i32) (local $part i32) (local $a i32) (local $r i32)
    (local.set $h (call $handle (i32.const 12)))
    (local.set $part (call $handle (i32.or (i32.const 12) (i32.and (call $rng) (i32.const 1)))))
    (if (i32.or (call $lacks (local.get $h)) (call $lacks (local.get $part))) (then (return)))
    (if (i32.and (i32.eq (local.get $h) (local.get $part)) (i32.eqz (global.get $forged))) (then (return)))
    (local.set $a (call $number (i32.const 64)))
    (if (call $below (i32.const 8)) (then (local.set $a (i32.and (local.get $a) (i32.const -4)))))
    (call $say (i32.const #xh_attach) (local.get $h) (local.get $a) (local.get $part) (i32.const 0))
    (local.set $r (call $e.xh_attach (local.get $h) (local.get $a) (local.get $part)))
    (call $note (i32.const #xh_attach) (local.get $r))
    (if (i32.eqz (local.get $r)) (then (call $take (local.get $part)))))
;;; xh_detach
  (func $op.xh_detach
    (local $h i32) (local $a i32) (local $r i32)
    (local.set $h (call $handle (i32.const 12)))
    (if (call $lacks (local.get $h)) (then (return)))
    (local.set $a (i32.and (call $number (i32.const 64)) (i32.const -4)))
    (call $say (i32.const #xh_detach) (local.get $h) (local.get $a) (i32.const 0) (i32.const 0))
    (local.set $r (call $e.xh_detach (local.get $h) (local.get $a)))
    (call $note (i32.const #xh_detach) (local.get $r))
    (call $put (i32.const 13) (local.get $r)))
;;; memory_grow
  (func $op.memory_grow
    (local $r i32)
    (local.set $r (memory.grow (call $number (i32.const 3))))
    (call $note (i32.const #memory_grow) (local.get $r)))
;;; memory_copy
  (func $op.memory_copy
    (call $say (i32.const #memory_copy) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.copy (call $scribble) (call $scribble) (call $number (i32.const 5000)))
    (call $note (i32.const #memory_copy) (i32.const 0)))
;;; memory_fill
  (func $op.memory_fill
    (call $say (i32.const #memory_fill) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.fill (call $scribble) (call $rng) (call $number (i32.const 5000)))
    (call $note (i32.const #memory_fill) (i32.const 0)))
;;; memory_init
  (func $op.memory_init
    (call $say (i32.const #memory_init) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.init $kept (call $scribble) (call $number (i32.const 20)) (call $number (i32.const 20)))
    (memory.init $dropped (call $scribble) (i32.const 0) (i32.const 0))
    (call $note (i32.const #memory_init) (i32.const 0)))
;;; data_drop
  (func $op.data_drop
    (data.drop $dropped)
    (call $note (i32.const #data_drop) (i32.const 0)))
;;; table_grow
  (func $op.table_grow
    (local $r i32)
    (local.set $r (table.grow $ft (ref.func $noop) (call $number (i32.const 4))))
    (call $note (i32.const #table_grow) (local.get $r)))
;;; table_fill
  (func $op.table_fill
    (call $say (i32.const #table_fill) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (table.fill $ft (call $number (i32.const 4)) (ref.null func) (call $number (i32.const 4)))
    (call $note (i32.const #table_fill) (i32.const 0)))
;;; table_copy
  (func $op.table_copy
    (call $say (i32.const #table_copy) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (table.copy $ft $ft (call $number (i32.const 4)) (call $number (i32.const 4)) (call $number (i32.const 5)))
    (call $note (i32.const #table_copy) (i32.const 0)))
;;; table_init
  (func $op.table_init
    (call $say (i32.const #table_init) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (table.init $ft $some (call $number (i32.const 4)) (call $number (i32.const 2)) (call $number (i32.const 2)))
    (call $note (i32.const #table_init) (i32.const 0)))
;;; elem_drop
  (func $op.elem_drop
    (elem.drop $gone)
    (call $note (i32.const #elem_drop) (i32.const 0)))
;;; ref_func
  (func $op.ref_func
    (table.set $ft (call $below (i32.const 8)) (ref.func $noop))
    (call $note (i32.const #ref_func) (i32.const 0)))
;;; any_memory_grow
  (func $op.any_memory_grow
    (local $r i32)
    (local.set $r (memory.grow $second (call $number (i32.const 3))))
    (call $note (i32.const #any_memory_grow) (local.get $r)))
;;; any_memory_copy
  (func $op.any_memory_copy
    (call $say (i32.const #any_memory_copy) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.copy $second 0 (call $number (i32.const 70000)) (call $scribble) (call $number (i32.const 5000)))
    (call $note (i32.const #any_memory_copy) (i32.const 0)))
;;; any_memory_fill
  (func $op.any_memory_fill
    (call $say (i32.const #any_memory_fill) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.fill $second (call $number (i32.const 70000)) (call $rng) (call $number (i32.const 5000)))
    (call $note (i32.const #any_memory_fill) (i32.const 0)))
;;; any_memory_init
  (func $op.any_memory_init
    (call $say (i32.const #any_memory_init) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.init $second $kept (call $number (i32.const 70000)) (call $number (i32.const 20)) (call $number (i32.const 20)))
    (call $note (i32.const #any_memory_init) (i32.const 0)))
