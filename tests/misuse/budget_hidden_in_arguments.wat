;; Hides memory from its budget in the arguments of children that it does not start: a megabyte each.
;; stopped: no
(module
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (memory 17)
  (data (i32.const 1024) "budget_hidden_in_arguments")
  (func (export "sip_main") (result i32)
    (local $child i32) (local $n i32)
    ;; One argument of all but four bytes.
    (i32.store (i32.const 65536) (i32.const 1048572))
    (loop $more
      (local.set $child (call $process_create (i32.const 1024) (i32.const 26) (i32.const 65536) (i32.const 1048576) (i32.const 0) (i32.const 0)))
      (if (i32.gt_s (local.get $child) (i32.const 0))
        (then
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $more (i32.lt_u (local.get $n) (i32.const 50))))))
    (if (i32.ne (local.get $child) (i32.const -3))
      (then (return (i32.const 1))))
    ;; A child costs two megabytes and its stack; ten megabytes are for itself, too.
    (if (i32.ne (local.get $n) (i32.const 3))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"budget_hidden_in_arguments\", \"abi\": 1, \"memory\": 9437184, \"privileges\": [\"create\"]}"))
