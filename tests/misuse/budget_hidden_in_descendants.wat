;; Makes children that make children: their charges count for it, too. With one argument it is one
;; that makes another and waits for it; with two, one that stays until the first one has ended.
;; stopped: no
(module
  (import "sing_v1" "startup_arg_count" (func $startup_arg_count (result i32)))
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "sing_v1" "process_start" (func $process_start (param i32) (result i32)))
  (import "sing_v1" "process_join" (func $process_join (param i32 i64) (result i32)))
  (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
  (import "contract:Hold" "new" (func $Hold.new (param i32) (result i32)))
  (import "contract:Hold" "exp.recv" (func $Hold.exp.recv (param i32 i32) (result i32)))
  (memory 1)
  (data (i32.const 1024) "budget_hidden_in_descendants")
  ;; Arguments of no bytes: their lengths are all that there is.
  (func $make (param $arguments i32) (param $endpoint i32) (result i32)
    (local $child i32)
    (i32.store (i32.const 64) (local.get $endpoint))
    (local.set $child (call $process_create (i32.const 1024) (i32.const 28) (i32.const 512) (i32.mul (local.get $arguments) (i32.const 4)) (i32.const 64) (i32.const 1)))
    (if (i32.gt_s (local.get $child) (i32.const 0))
      (then (drop (call $process_start (local.get $child)))))
    (local.get $child))
  (func (export "sip_main") (result i32)
    (local $child i32) (local $n i32)
    (if (i32.eq (call $startup_arg_count) (i32.const 3))
      (then
        (drop (call $Hold.exp.recv (call $startup_endpoint (i32.const 0)) (i32.const 128)))
        (return (i32.const 0))))
    (if (i32.eq (call $startup_arg_count) (i32.const 2))
      (then
        (local.set $n (call $startup_endpoint (i32.const 0)))
        (local.set $child (call $make (i32.const 3) (local.get $n)))
        ;; One that there is no room for a child of stays in its place.
        (if (i32.gt_s (local.get $child) (i32.const 0))
          (then (drop (call $process_join (local.get $child) (i64.const -1))))
          (else (drop (call $Hold.exp.recv (local.get $n) (i32.const 128)))))
        (return (i32.const 0))))
    (block $full
      (loop $more
        (br_if $full (i32.ne (call $Hold.new (i32.const 8)) (i32.const 0)))
        (br_if $full (i32.lt_s (call $make (i32.const 2) (i32.load (i32.const 12))) (i32.const 0)))
        (drop (call $sleep (i64.const 100000)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $n) (i32.const 200)))))
    ;; Each has its memory and a stack, 128 KiB together: no more than 32 of all of them fit four megabytes.
    (if (i32.gt_u (local.get $n) (i32.const 31))
      (then (return (i32.const 1))))
    (if (i32.lt_u (local.get $n) (i32.const 8))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"budget_hidden_in_descendants\", \"abi\": 1, \"memory\": 4194304, \"privileges\": [\"create\"], \"endpoints\": [\n"
    "  {\"name\": \"hold\", \"contract\": \"Hold\", \"side\": \"exp\", \"optional\": true}]}")
  (@custom "singularity.contracts"
    "contract Hold {\n"
    "  in message Put(int n);\n"
    "  state Start: Put? -> closed;\n"
    "}"))
