;; Fills its whole budget with blocks of one size, frees them, and fills it with blocks of the next:
;; freed memory serves every size.
;; stopped: no
(module
  (import "sing_v1" "xh_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_free" (func $free (param i32) (result i32)))
  (memory 5)
  (func (export "sip_main") (result i32)
    (local $size i32) (local $n i32) (local $h i32)
    (local.set $size (i32.const 4096))
    (loop $sizes
      (local.set $n (i32.const 0))
      (block $full
        (loop $more
          (local.set $h (call $alloc (local.get $size) (i32.const 0)))
          (br_if $full (i32.le_s (local.get $h) (i32.const 0)))
          (i32.store (i32.shl (local.get $n) (i32.const 2)) (local.get $h))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br $more)))
      ;; At least 100 MiB of 120.
      (if (i32.lt_u (i32.mul (local.get $n) (local.get $size)) (i32.const 104857600))
        (then (return (i32.div_u (local.get $size) (i32.const 4096)))))
      (loop $back
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (drop (call $free (i32.load (i32.shl (local.get $n) (i32.const 2)))))
        (br_if $back (local.get $n)))
      (local.set $size (i32.shl (local.get $size) (i32.const 1)))
      (br_if $sizes (i32.le_u (local.get $size) (i32.const 131072))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"pieces_of_every_size\", \"abi\": 1, \"memory\": 125829120}"))
