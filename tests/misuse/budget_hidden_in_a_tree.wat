;; Hides allocations from its budget, in a tree and in parked blocks: all of them count.
;; stopped: no
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_park" (func $xh_park (param i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $root i32) (local $last i32) (local $n i32)
    (local.set $root (call $xh_alloc (i32.const 1048576) (i32.const 0)))
    (loop $more
      (local.set $last (call $xh_alloc (i32.const 1048576) (i32.const 0)))
      (if (i32.gt_s (local.get $last) (i32.const 0))
        (then
          (if (i32.and (local.get $n) (i32.const 1))
            (then (drop (call $xh_park (local.get $last))))
            (else (drop (call $xh_attach (local.get $root) (i32.mul (local.get $n) (i32.const 4)) (local.get $last)))))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $more (i32.lt_u (local.get $n) (i32.const 100))))))
    (if (i32.ne (local.get $last) (i32.const -3))
      (then (return (i32.const 1))))
    (if (i32.ne (i32.lt_u (local.get $n) (i32.const 16)) (i32.const 1))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"budget_hidden_in_a_tree\", \"abi\": 1, \"memory\": 16777216}"))
