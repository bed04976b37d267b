;; Stores at the far end of a large memory, which makes everything below accessible: in steps,
;; between which others run. Calls with a pointer to there do so, too.
;; stopped: no
(module
  (import "sing_v1" "uptime" (func $uptime (result i64)))
  (import "sing_v1" "utc" (func $utc (result i64)))
  (import "sing_v1" "auto_event_create" (func $event (param i32) (result i32)))
  (import "sing_v1" "wait_any" (func $wait_any (param i32 i32 i64) (result i32)))
  (memory 1 4096)
  (func (export "sip_main") (result i32)
    ;; 128 MiB more, and the last word of them.
    (if (i32.ne (memory.grow (i32.const 2048)) (i32.const 1)) (then (return (i32.const 1))))
    (i32.store (i32.const 134283256) (i32.const 7))
    (if (i32.ne (i32.load (i32.const 134283256)) (i32.const 7)) (then (return (i32.const 2))))
    (if (i32.load (i32.const 70000000)) (then (return (i32.const 3))))
    ;; 64 MiB more: the kernel reads from the end, where nothing was touched.
    (if (i32.ne (memory.grow (i32.const 1024)) (i32.const 2049)) (then (return (i32.const 4))))
    (if (i32.ne (call $wait_any (i32.const 201392120) (i32.const 2) (i64.const 0)) (i32.const -2))
      (then (return (i32.const 5))))
    ;; And fills and copies what was not touched either.
    (if (i32.ne (memory.grow (i32.const 512)) (i32.const 3073)) (then (return (i32.const 6))))
    (memory.fill (i32.const 201400000) (i32.const 9) (i32.const 33000000))
    (memory.copy (i32.const 10) (i32.const 201400000) (i32.const 33000000))
    (i32.ne (i32.load8_u (i32.const 33000009)) (i32.const 9)))
  (@custom "singularity.manifest" "{\"name\": \"store_far_up\", \"abi\": 1, \"memory\": 402653184}"))
