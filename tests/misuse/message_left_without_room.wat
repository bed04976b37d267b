;; A thread without room for another block is woken for a message with one, and leaves without it.
;; Another sleeping thread must learn of the message: one that receives there too, and one that
;; waits for a set with the endpoint.
;; stopped: no
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "contract:Store" "imp.send.Put" (func $Store.imp.send.Put (param i32 i64) (result i32)))
  (import "contract:Store" "exp.recv" (func $Store.exp.recv (param i32 i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (import "sing_v1" "thread_create" (func $thread_create (param i32 i32) (result i32)))
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (import "sing_v1" "thread_state" (func $thread_state (param i32) (result i32)))
  (import "sing_v1" "thread_join" (func $thread_join (param i32 i64) (result i32)))
  (import "sing_v1" "yield" (func $yield))
  (memory 1)
  ;; For all threads: the importing end at 0, the exporting one at 4, the set at 32, what they were told from 40 on.
  (func (export "sip_main") (result i32)
    (local $block i32) (local $full i32) (local $other i32) (local $way i32)
    (loop $ways
      (drop (call $Store.new (i32.const 0)))
      (i32.store (i32.const 32) (call $set_create))
      (drop (call $set_add (i32.load (i32.const 32)) (i32.load (i32.const 4)) (i32.const 5)))
      (i64.store (i32.const 40) (i64.const -1))
      (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
      (local.set $full (call $waits (i32.const 0)))
      (local.set $other (call $waits (i32.add (i32.const 1) (local.get $way))))
      (drop (call $Store.imp.send.Put (i32.load (i32.const 0)) (i64.extend_i32_u (local.get $block))))
      (drop (call $thread_join (local.get $full) (i64.const -1)))
      (if (i32.ne (i32.load (i32.const 40)) (i32.const -3))
        (then (return (i32.add (i32.const 10) (local.get $way)))))
      (if (i32.ne (call $thread_join (local.get $other) (i64.const 1000000000)) (i32.const 0))
        (then (return (i32.add (i32.const 20) (local.get $way)))))
      (if (i32.ne (i32.load (i32.const 44)) (select (i32.const 5) (i32.const 0) (local.get $way)))
        (then (return (i32.add (i32.const 30) (local.get $way)))))
      (local.set $way (i32.add (local.get $way) (i32.const 1)))
      (br_if $ways (i32.lt_u (local.get $way) (i32.const 2))))
    (i32.const 0))

  ;; A thread that waits.
  (func $waits (param $way i32) (result i32)
    (local $thread i32)
    (local.set $thread (call $thread_create (local.get $way) (i32.const 0)))
    (drop (call $thread_start (local.get $thread)))
    (loop $until
      (if (i32.ne (call $thread_state (local.get $thread)) (i32.const 3))
        (then
          (call $yield)
          (br $until))))
    (local.get $thread))

  (func (export "sip_thread") (param $way i32)
    (if (i32.eqz (local.get $way))
      (then
        (loop $fill
          (br_if $fill (i32.gt_s (call $xh_alloc (i32.const 1) (i32.const 0)) (i32.const 0))))
        (i32.store (i32.const 40) (call $Store.exp.recv (i32.load (i32.const 4)) (i32.const 64)))
        (return)))
    (if (i32.eq (local.get $way) (i32.const 1))
      (then (i32.store (i32.const 44) (call $Store.exp.recv (i32.load (i32.const 4)) (i32.const 128))))
      (else (i32.store (i32.const 44) (call $set_wait (i32.load (i32.const 32)) (i64.const -1))))))
  (@custom "singularity.manifest" "{\"name\": \"message_left_without_room\", \"abi\": 1, \"memory\": 67108864}")
  (@custom "singularity.contracts"
    "contract Store {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  out message Ok();\n"
    "  state Start: Put? -> Ok! -> Start;\n"
    "}"))
