;; Takes all memory that the machine grants it, and then requests every other kind of kernel object:
;; it is refused, and the kernel goes on.
;; stopped: no
(module
  (import "sing_v1" "xh_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $attach (param i32 i32 i32) (result i32)))
  (import "sing_v1" "xh_detach" (func $detach (param i32 i32) (result i32)))
  (import "sing_v1" "xh_park" (func $park (param i32) (result i32)))
  (import "sing_v1" "auto_event_create" (func $event (param i32) (result i32)))
  (import "sing_v1" "set_create" (func $set (result i32)))
  (import "contract:Long" "new" (func $new (param i32) (result i32)))
  (memory 8)
  (func $all (param $size i32)
    (loop $more
      (br_if $more (i32.gt_s (call $alloc (local.get $size) (i32.const 0)) (i32.const 0)))))
  (func (export "sip_main") (result i32)
    (local $root i32) (local $i i32) (local $n i32)
    (i32.store (i32.const 200000) (i32.const 0))
    (local.set $root (call $alloc (i32.const 160000) (i32.const 0)))
    (loop $small
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (call $alloc (i32.const 1) (i32.const 0)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $small (i32.lt_u (local.get $i) (i32.const 40000))))
    (call $all (i32.const 8388608))
    (call $all (i32.const 1048576))
    (call $all (i32.const 135168))
    (call $all (i32.const 4096))
    (call $all (i32.const 1))
    (local.set $n (i32.const 100000))
    (loop $objects
      (drop (call $event (i32.const 0)))
      (drop (call $set))
      (drop (call $new (i32.const 200000)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $objects (local.get $n)))
    ;; A tree of all small blocks, and apart again.
    (loop $in
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (drop (call $attach (local.get $root) (i32.shl (local.get $i) (i32.const 2))
        (i32.load (i32.shl (local.get $i) (i32.const 2)))))
      (br_if $in (local.get $i)))
    (loop $out
      (local.set $n (call $detach (local.get $root) (i32.shl (local.get $i) (i32.const 2))))
      (if (i32.gt_s (local.get $n) (i32.const 0)) (then (drop (call $park (local.get $n)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $out (i32.lt_u (local.get $i) (i32.const 1000))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"memory_all_taken\", \"abi\": 1, \"memory\": 1073741824}")
  (@custom "singularity.contracts"
    "contract Long {\n"
    "  in message Put(ulong a, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g, ulong h);\n"
    "  state Start: Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> closed;\n"
    "}"))
