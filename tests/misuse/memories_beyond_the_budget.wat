;; Grows one memory after the other: the account pays for all of them.
;; stopped: no
(module
  (memory $first 1)
  (memory $second 1)
  (memory $third 1)
  (func (export "sip_main") (result i32)
    (local $pages i32)
    (loop $more
      (if (i32.ne (memory.grow $second (i32.const 1)) (i32.const -1))
        (then (local.set $pages (i32.add (local.get $pages) (i32.const 1))) (br $more)))
      (if (i32.ne (memory.grow $third (i32.const 1)) (i32.const -1))
        (then (local.set $pages (i32.add (local.get $pages) (i32.const 1))) (br $more)))
      (if (i32.ne (memory.grow $first (i32.const 1)) (i32.const -1))
        (then (local.set $pages (i32.add (local.get $pages) (i32.const 1))) (br $more))))
    ;; No more than the budget has, and no less than what other things of the process leave.
    (i32.or (i32.gt_u (local.get $pages) (i32.const 29)) (i32.lt_u (local.get $pages) (i32.const 20))))
  (@custom "singularity.manifest" "{\"name\": \"memories_beyond_the_budget\", \"abi\": 1, \"memory\": 2097152}"))
