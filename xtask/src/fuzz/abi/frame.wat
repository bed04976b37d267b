  ;; Shared by all operations: random numbers, handles by kind, coverage.
  ;;
  ;; Memory: 0x1000 pools of 32 handles for each kind, 0x2000 words to be printed, one line a
  ;; thread, 0x4000 coverage (16 bytes an entry), 0x8000 lines, 0x9000 names, 0x9800 the argument,
  ;; 0x10000 to 0x30000 scratch space.
  (memory 3 8)
  (memory $second 1 4)
  (table $ops OPS funcref)
  (table $ft 8 32 funcref)
  (elem (table $ops) (i32.const 0) func OPLIST)
  (elem $some func $noop $rng $flush)
  (elem $gone func $noop)
  (data (i32.const 0x9000) "herd-plain")
  (data (i32.const 0x9010) "herd-all")
  (data (i32.const 0x9020) "no-such-image")
  (data (i32.const 0x9030) "script")
  (data (i32.const 0x9040) "no/such/file")
  (data (i32.const 0x9050) "noise\n")
  (data (i32.const 0x9060) "0123456789abcdef")
  (data $kept "kept kept kept kept kept kept kept kept ")
  (data $dropped "dropped")
  (global $stack (export "__stack_pointer") (mut i32) (i32.const 0x10000))
  (global $seed (mut i64) (i64.const 1))
  ;; Of 1024 arguments, this many are deliberately wrong.
  (global $rude (mut i32) (i32.const 0))
  (global $logs (mut i32) (i32.const 0))
  (global $depth (mut i32) (i32.const 0))
  (global $slot (mut i32) (i32.const 0))
  (global $children (mut i32) (i32.const 0))
  (global $threads (mut i32) (i32.const 0))
  (global $pending (mut i32) (i32.const 0))
  ;; Whether an argument of this call is deliberately wrong.
  (global $forged (mut i32) (i32.const 0))

  (func $noop)

  (func $wide (result i64)
    (global.set $seed (i64.xor (global.get $seed) (i64.shl (global.get $seed) (i64.const 13))))
    (global.set $seed (i64.xor (global.get $seed) (i64.shr_u (global.get $seed) (i64.const 7))))
    (global.set $seed (i64.xor (global.get $seed) (i64.shl (global.get $seed) (i64.const 17))))
    (global.get $seed))

  (func $rng (result i32)
    (i32.wrap_i64 (i64.shr_u (call $wide) (i64.const 21))))

  (func $below (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (i32.rem_u (call $rng) (local.get $n)))

  (func $wrong (result i32)
    (if (i32.lt_u (i32.and (call $rng) (i32.const 1023)) (global.get $rude))
      (then (global.set $forged (i32.const 1)) (return (i32.const 1))))
    (i32.const 0))

  (func $ends (result i32) (i32.shl (memory.size) (i32.const 16)))

  ;; A number of some size; a wrong one is at an edge.
  (func $edge (result i32)
    (local $i i32)
    (local.set $i (call $below (i32.const 12)))
    (if (i32.eq (local.get $i) (i32.const 0)) (then (return (i32.const 0))))
    (if (i32.eq (local.get $i) (i32.const 1)) (then (return (i32.const 1))))
    (if (i32.eq (local.get $i) (i32.const 2)) (then (return (i32.const -1))))
    (if (i32.eq (local.get $i) (i32.const 3)) (then (return (i32.const 0x7fffffff))))
    (if (i32.eq (local.get $i) (i32.const 4)) (then (return (i32.const 0x80000000))))
    (if (i32.eq (local.get $i) (i32.const 5)) (then (return (call $ends))))
    (if (i32.eq (local.get $i) (i32.const 6)) (then (return (i32.sub (call $ends) (i32.const 1)))))
    (if (i32.eq (local.get $i) (i32.const 7)) (then (return (i32.sub (call $ends) (i32.const 4)))))
    (if (i32.eq (local.get $i) (i32.const 8)) (then (return (i32.add (call $ends) (i32.const 1)))))
    (if (i32.eq (local.get $i) (i32.const 9)) (then (return (i32.const 0xfffffff8))))
    (if (i32.eq (local.get $i) (i32.const 10)) (then (return (i32.const 0x10000))))
    (call $rng))

  (func $number (param $n i32) (result i32)
    (if (call $wrong) (then (return (call $edge))))
    (call $below (local.get $n)))

  (func $any32 (result i32)
    (if (i32.and (call $rng) (i32.const 3)) (then (return (call $below (i32.const 64)))))
    (call $edge))

  (func $any64 (result i64) (call $wide))

  (func $pointer (result i32)
    (if (call $wrong) (then (return (call $edge))))
    (if (i32.eqz (call $below (i32.const 48)))
      (then (return (i32.sub (call $ends) (i32.const 64)))))
    (i32.add (i32.const 0x10000) (call $below (i32.const 0x1e000))))

  (func $length (result i32)
    (local $i i32)
    (if (call $wrong) (then (return (call $edge))))
    (local.set $i (call $below (i32.const 8)))
    (if (i32.eq (local.get $i) (i32.const 0)) (then (return (i32.const 0))))
    (if (i32.eq (local.get $i) (i32.const 1)) (then (return (i32.const 1))))
    (if (i32.eq (local.get $i) (i32.const 2)) (then (return (i32.const 64))))
    (if (i32.eq (local.get $i) (i32.const 3)) (then (return (i32.const 4096))))
    (if (i32.eq (local.get $i) (i32.const 4)) (then (return (call $below (i32.const 64)))))
    (if (i32.eq (local.get $i) (i32.const 5)) (then (return (i32.const 32))))
    (call $below (i32.const 2000)))

  (func $size (result i32)
    (local $i i32)
    (if (call $wrong) (then (return (call $edge))))
    (local.set $i (call $below (i32.const 16)))
    (if (i32.eq (local.get $i) (i32.const 0)) (then (return (i32.const 1))))
    (if (i32.eq (local.get $i) (i32.const 1)) (then (return (i32.const 4096))))
    (if (i32.eq (local.get $i) (i32.const 2)) (then (return (i32.const 4097))))
    (if (i32.eq (local.get $i) (i32.const 3)) (then (return (i32.const 65536))))
    (if (i32.eq (local.get $i) (i32.const 4)) (then (return (i32.add (i32.const 1) (call $below (i32.const 1000000))))))
    (if (i32.eq (local.get $i) (i32.const 5)) (then (return (i32.const 0x40000000))))
    (if (i32.eq (local.get $i) (i32.const 6)) (then (return (i32.const 0x40000001))))
    (if (i32.eq (local.get $i) (i32.const 7)) (then (return (i32.const 64))))
    (i32.add (i32.const 1) (call $below (i32.const 600))))

  (func $timeout (result i64)
    (local $i i32)
    (local.set $i (call $below (i32.const 40)))
    (if (i32.lt_u (local.get $i) (i32.const 16)) (then (return (i64.const 0))))
    (if (i32.lt_u (local.get $i) (i32.const 22)) (then (return (i64.const 1))))
    (if (i32.lt_u (local.get $i) (i32.const 28)) (then (return (i64.const 1000))))
    (if (i32.lt_u (local.get $i) (i32.const 34)) (then (return (i64.const 100000))))
    (if (i32.lt_u (local.get $i) (i32.const 37)) (then (return (i64.const 1000000))))
    (if (i32.eqz (call $below (i32.const 6)))
      (then
        (if (i32.eq (local.get $i) (i32.const 37)) (then (return (i64.const -1))))
        (if (i32.eq (local.get $i) (i32.const 38)) (then (return (i64.const 0x7fffffffffffffff))))
        (return (i64.const 0x8000000000000000))))
    (i64.const 5000))

  ;; Handles.

  (func $place (param $kind i32) (param $i i32) (result i32)
    (i32.add (i32.const 0x1000)
      (i32.add (i32.shl (local.get $kind) (i32.const 7))
        (i32.shl (i32.and (local.get $i) (i32.const 31)) (i32.const 2)))))

  ;; A handle of a kind, 0 if there is none.
  (func $pick (param $kind i32) (result i32)
    (local $i i32) (local $n i32) (local $h i32)
    (local.set $i (call $rng))
    (local.set $n (i32.const 32))
    (loop $next
      (local.set $h (i32.load (call $place (local.get $kind) (local.get $i))))
      (if (local.get $h) (then (return (local.get $h))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (i32.const 0))

  ;; The pool of the thread's own blocks.
  (func $mine (param $kind i32) (result i32)
    (if (i32.lt_u (local.get $kind) (i32.const 12)) (then (return (local.get $kind))))
    (i32.add (local.get $kind) (i32.shl (global.get $slot) (i32.const 1))))

  ;; A wrong handle: of another kind, stale, changed, or made up.
  (func $forge (param $kind i32) (result i32)
    (local $i i32)
    (local.set $i (call $below (i32.const 8)))
    (if (i32.lt_u (local.get $i) (i32.const 2)) (then (return (call $pick (call $below (i32.const 20))))))
    (if (i32.lt_u (local.get $i) (i32.const 4)) (then (return (call $pick (i32.const 11)))))
    (if (i32.eq (local.get $i) (i32.const 4))
      (then (return (i32.xor (call $pick (local.get $kind)) (i32.shl (i32.const 1) (call $below (i32.const 32)))))))
    (if (i32.eq (local.get $i) (i32.const 5))
      (then (return (i32.add (call $pick (local.get $kind)) (i32.const 1)))))
    (if (i32.eq (local.get $i) (i32.const 6))
      (then (return (i32.or (i32.const 0x10000) (call $below (i32.const 100))))))
    (call $edge))

  (func $handle (param $kind i32) (result i32)
    (if (call $wrong) (then (return (call $forge (call $mine (local.get $kind))))))
    (call $pick (call $mine (local.get $kind))))

  (func $waitable (result i32)
    (local $h i32) (local $n i32)
    (if (call $wrong) (then (return (call $forge (i32.const 0)))))
    (local.set $n (i32.const 4))
    (loop $again
      (local.set $h (call $pick (call $below (i32.const 10))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (i32.and (i32.eqz (local.get $h)) (i32.ne (local.get $n) (i32.const 0)))))
    (local.get $h))

  (func $anything (result i32)
    (if (call $wrong) (then (return (call $forge (i32.const 0)))))
    (call $pick (call $below (i32.const 11))))

  ;; Keeps a handle; the one that it replaces counts as stale, though it may not be.
  (func $put (param $kind i32) (param $h i32)
    (local $i i32) (local $n i32) (local $at i32)
    (if (i32.le_s (local.get $h) (i32.const 0)) (then (return)))
    (local.set $kind (call $mine (local.get $kind)))
    (local.set $i (call $rng))
    (local.set $n (i32.const 6))
    (loop $next
      (local.set $at (call $place (local.get $kind) (local.get $i)))
      (if (i32.eqz (i32.load (local.get $at)))
        (then (i32.store (local.get $at) (local.get $h)) (return)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (i32.store (call $place (i32.const 11) (local.get $i)) (i32.load (local.get $at)))
    (i32.store (local.get $at) (local.get $h)))

  ;; Forgets a handle.
  (func $take (param $h i32)
    (local $at i32)
    (local.set $at (i32.const 0x1000))
    (loop $next
      (if (i32.eq (i32.load (local.get $at)) (local.get $h))
        (then (i32.store (local.get $at) (i32.const 0))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 0x1a00))))
    (i32.store (call $place (i32.const 11) (call $rng)) (local.get $h)))

  ;; Coverage.

  (func $hex (param $at i32) (param $value i32) (param $digits i32)
    (loop $next
      (local.set $digits (i32.sub (local.get $digits) (i32.const 1)))
      (i32.store8 (i32.add (local.get $at) (local.get $digits))
        (i32.load8_u (i32.add (i32.const 0x9060) (i32.and (local.get $value) (i32.const 15)))))
      (local.set $value (i32.shr_u (local.get $value) (i32.const 4)))
      (br_if $next (local.get $digits))))

  (func $flush
    (local $line i32)
    (local.set $line (i32.add (i32.const 0x2000) (i32.shl (global.get $slot) (i32.const 9))))
    (if (i32.eqz (global.get $pending)) (then (return)))
    ;; "#cov "
    (i32.store (local.get $line) (i32.const 0x766f6323))
    (i32.store8 (i32.add (local.get $line) (i32.const 4)) (i32.const 32))
    (drop (call $e.debug_print (local.get $line)
      (i32.add (i32.const 5) (i32.shl (global.get $pending) (i32.const 2)))))
    (global.set $pending (i32.const 0)))

  ;; Notes an outcome of an entry: 0, more (1), or one of the statuses (from 2 on).
  (func $note (param $entry i32) (param $r i32)
    (local $o i32) (local $at i32)
    (local.set $o (i32.const 1))
    (if (i32.eqz (local.get $r)) (then (local.set $o (i32.const 0))))
    (if (i32.lt_s (local.get $r) (i32.const 0))
      (then
        (local.set $o (i32.const 15))
        (if (i32.gt_s (local.get $r) (i32.const -13))
          (then (local.set $o (i32.sub (i32.const 1) (local.get $r)))))))
    (local.set $at (i32.add (i32.add (i32.const 0x4000) (i32.shl (local.get $entry) (i32.const 4))) (local.get $o)))
    (if (i32.load8_u (local.get $at)) (then (return)))
    (i32.store8 (local.get $at) (i32.const 1))
    (local.set $at (i32.add (i32.add (i32.const 0x2005) (i32.shl (global.get $slot) (i32.const 9)))
      (i32.shl (global.get $pending) (i32.const 2))))
    (call $hex (local.get $at) (i32.or (i32.shl (local.get $entry) (i32.const 4)) (local.get $o)) (i32.const 3))
    (i32.store8 (i32.add (local.get $at) (i32.const 3)) (i32.const 32))
    (global.set $pending (i32.add (global.get $pending) (i32.const 1)))
    (if (i32.ge_u (global.get $pending) (i32.const 60)) (then (call $flush))))

  ;; Prints the call before it is made, if that is wanted: "#op SIP THREAD ENTRY A B C D".
  (func $say (param $entry i32) (param $a i32) (param $b i32) (param $c i32) (param $d i32)
    (local $at i32)
    (if (i32.eqz (global.get $logs)) (then (return)))
    (local.set $at (i32.add (i32.const 0x8000) (i32.shl (global.get $slot) (i32.const 8))))
    (i64.store (local.get $at) (i64.const 0x20202020706f23))
    (memory.fill (local.get $at) (i32.const 32) (i32.const 64))
    (i32.store (local.get $at) (i32.const 0x20706f23))
    (call $hex (i32.add (local.get $at) (i32.const 4)) (call $e.self_id) (i32.const 6))
    (call $hex (i32.add (local.get $at) (i32.const 11)) (global.get $slot) (i32.const 1))
    (call $hex (i32.add (local.get $at) (i32.const 13)) (local.get $entry) (i32.const 2))
    (call $hex (i32.add (local.get $at) (i32.const 16)) (local.get $a) (i32.const 8))
    (call $hex (i32.add (local.get $at) (i32.const 25)) (local.get $b) (i32.const 8))
    (call $hex (i32.add (local.get $at) (i32.const 34)) (local.get $c) (i32.const 8))
    (call $hex (i32.add (local.get $at) (i32.const 43)) (local.get $d) (i32.const 8))
    (drop (call $e.debug_print (local.get $at) (i32.const 51))))

  ;; Whether to skip a call: it needs a handle, and there is none.
  (func $lacks (param $h i32) (result i32)
    (i32.and (i32.eqz (local.get $h)) (i32.eqz (global.get $forged))))

  ;; The argument is "RLD" and a text: how rude (a digit), whether to log, how deep in a family; all
  ;; of it is the seed.
  (func $init (param $thread i32)
    (local $n i32) (local $i i32) (local $hash i64)
    (local.set $n (call $e.startup_arg (i32.const 0) (i32.const 0x9800) (i32.const 64)))
    (local.set $hash (i64.xor (i64.const 0xcbf29ce484222325) (i64.extend_i32_u (local.get $thread))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_s (local.get $i) (local.get $n)))
        (local.set $hash (i64.mul (i64.const 0x100000001b3)
          (i64.xor (local.get $hash) (i64.load8_u (i32.add (i32.const 0x9800) (local.get $i))))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (global.set $seed (i64.or (local.get $hash) (i64.const 1)))
    (local.set $i (i32.sub (i32.load8_u (i32.const 0x9800)) (i32.const 48)))
    (global.set $rude (i32.mul (i32.mul (local.get $i) (local.get $i)) (i32.const 2)))
    (global.set $logs (i32.eq (i32.load8_u (i32.const 0x9801)) (i32.const 49)))
    (global.set $depth (i32.sub (i32.load8_u (i32.const 0x9802)) (i32.const 48)))
    (global.set $slot (i32.and (local.get $thread) (i32.const 3))))

  (func $go (param $n i32)
    (loop $next
      (global.set $forged (i32.const 0))
      (call_indirect $ops (call $below (i32.const OPS)))
      (if (i32.eqz (i32.and (local.get $n) (i32.const 63))) (then (call $flush)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (call $flush))

  (func (export "sip_main") (result i32)
    (call $init (i32.const 0))
    (call $go (i32.add (i32.const 64) (call $below (i32.const 4000))))
    (i32.const 0))

  (func (export "sip_thread") (param $argument i32)
    (call $init (local.get $argument))
    (call $go (i32.add (i32.const 1) (call $below (i32.const 1000)))))

  ;; Operations without an entry: never yield, run into a trap.
  (func $op.misbehave
    (local $i i32)
    (if (i32.eqz (call $wrong)) (then (return)))
    (call $flush)
    (local.set $i (call $below (i32.const 8)))
    (if (i32.eq (local.get $i) (i32.const 0)) (then (unreachable)))
    (if (i32.eq (local.get $i) (i32.const 1)) (then (drop (i32.load (i32.const 0x7ffffff0)))))
    (if (i32.eq (local.get $i) (i32.const 2)) (then (call $deep)))
    (if (i32.eq (local.get $i) (i32.const 3)) (then (drop (i32.div_u (i32.const 1) (i32.const 0)))))
    (if (i32.eq (local.get $i) (i32.const 4)) (then (call_indirect $ft (i32.const 7))))
    (loop $for_ever (br $for_ever)))

  (func $deep (call $deep) (call $noop))

  ;; Very many objects of one kind, most of which it forgets: freeing them at its end takes several
  ;; steps, between which others run.
  (func $op.hoard
    (local $kind i32) (local $n i32) (local $h i32) (local $first i32) (local $p i32)
    (if (call $below (i32.const 12)) (then (return)))
    (local.set $kind (call $below (i32.const 6)))
    (local.set $n (call $below (i32.const 20000)))
    (call $say (i32.const #auto_event_create) (local.get $kind) (local.get $n) (i32.const 0x686f6172) (i32.const 0))
    (local.set $p (call $words))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $n)))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (if (i32.eq (local.get $kind) (i32.const 0))
          (then (local.set $h (call $e.auto_event_create (i32.const 0)))))
        (if (i32.eq (local.get $kind) (i32.const 1))
          (then (local.set $h (call $e.xh_alloc (i32.const 8) (i32.const 0)))))
        ;; Parked, one by one.
        (if (i32.eq (local.get $kind) (i32.const 2))
          (then
            (local.set $h (call $e.xh_alloc (i32.const 8) (i32.const 0)))
            (br_if $done (i32.le_s (local.get $h) (i32.const 0)))
            (local.set $h (call $e.xh_park (local.get $h)))))
        ;; Each a part of the one before it.
        (if (i32.eq (local.get $kind) (i32.const 3))
          (then
            (local.set $h (call $e.xh_alloc (i32.const 8) (i32.const 0)))
            (br_if $done (i32.le_s (local.get $h) (i32.const 0)))
            (if (local.get $first)
              (then (br_if $done (call $e.xh_attach (local.get $h) (i32.const 4) (local.get $first)))))
            (local.set $first (local.get $h))))
        ;; Endpoints of which each is in the queue of the next one.
        (if (i32.eq (local.get $kind) (i32.const 4))
          (then
            (local.set $h (call $c.new (local.get $p)))
            (br_if $done (local.get $h))
            (if (local.get $first)
              (then (br_if $done (call $c.move (i32.load (local.get $p)) (i64.extend_i32_u (local.get $first))))
                (local.set $h (i32.load offset=4 (local.get $p))) (local.set $first (i32.const 0)))
              (else (local.set $first (i32.load (local.get $p))) (local.set $h (i32.load offset=4 (local.get $p)))))))
        (if (i32.eq (local.get $kind) (i32.const 5))
          (then (local.set $h (call $e.set_create))))
        (br_if $done (i32.le_s (local.get $h) (i32.const 0)))
        (br $next))))
