;; Fills, copies, initialises and grows the largest possible table, all of it at once, again and
;; again: the kernel does this in pieces, with the right result at their ends.
;; stopped: no
(module
  (table $t 65536 131072 funcref)
  (table $u 65536 131072 funcref)
  (elem $some func $f $g)
  (func $f) (func $g)
  (func (export "sip_main") (result i32)
    (local $i i32)
    (if (i32.ne (table.grow $t (ref.null func) (i32.const 65536)) (i32.const 65536)) (then (return (i32.const 1))))
    (if (i32.ne (table.grow $t (ref.null func) (i32.const 1)) (i32.const -1)) (then (return (i32.const 2))))
    (loop $more
      (table.fill $t (i32.const 0) (ref.func $f) (i32.const 131072))
      (table.fill $t (i32.const 131071) (ref.null func) (i32.const 1))
      (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 131071))
      (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 131071))
      (table.copy $u $t (i32.const 0) (i32.const 65536) (i32.const 65536))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 20))))
    (table.init $t $some (i32.const 131070) (i32.const 0) (i32.const 2))
    (if (ref.is_null (table.get $t (i32.const 131071))) (then (return (i32.const 3))))
    (if (ref.is_null (table.get $u (i32.const 65535))) (then (return (i32.const 4))))
    (ref.is_null (table.get $t (i32.const 0))))
  (@custom "singularity.manifest" "{\"name\": \"table_worked_on_whole\", \"abi\": 1, \"memory\": 67108864}"))
