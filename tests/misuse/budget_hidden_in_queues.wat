;; Hides allocations from its budget, in the queues of its channels: messages under way count, too.
;; stopped: no
(module
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "contract:Hide" "new" (func $Hide.new (param i32) (result i32)))
  (import "contract:Hide" "imp.send.Put" (func $Hide.imp.send.Put (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $last i32) (local $n i32)
    (loop $more
      ;; A new channel for every fourth block: so many fit its queue.
      (if (i32.eqz (i32.and (local.get $n) (i32.const 3)))
        (then
          (if (i32.ne (call $Hide.new (i32.const 0)) (i32.const 0))
            (then (return (i32.const 1))))))
      (local.set $last (call $xh_alloc (i32.const 1048576) (i32.const 0)))
      (if (i32.gt_s (local.get $last) (i32.const 0))
        (then
          (drop (call $Hide.imp.send.Put (i32.load (i32.const 0)) (i64.extend_i32_u (local.get $last))))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $more (i32.lt_u (local.get $n) (i32.const 100))))))
    (if (i32.ne (local.get $last) (i32.const -3))
      (then (return (i32.const 2))))
    (if (i32.ne (i32.lt_u (local.get $n) (i32.const 16)) (i32.const 1))
      (then (return (i32.const 3))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"budget_hidden_in_queues\", \"abi\": 1, \"memory\": 16777216}")
  (@custom "singularity.contracts"
    "contract Hide {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  state Start: Put? -> Put? -> Put? -> Put? -> closed;\n"
    "}"))
