;; Reversed bytes, as compilers write them, in other orders, and what is nearly such.

(module
  (func (export "swap32") (param $x i32) (result i32)
    (i32.or
      (i32.or (i32.shl (local.get $x) (i32.const 24)) (i32.shl (i32.and (local.get $x) (i32.const 0xff00)) (i32.const 8)))
      (i32.or (i32.and (i32.shr_u (local.get $x) (i32.const 8)) (i32.const 0xff00)) (i32.shr_u (local.get $x) (i32.const 24)))))
  (func (export "swap32-turned") (param $x i32) (result i32)
    (i32.or
      (i32.and (i32.const 0xff00ff) (i32.rotl (local.get $x) (i32.const 8)))
      (i32.and (i32.rotl (local.get $x) (i32.const 24)) (i32.const 0xff00ff00))))
  (func (export "swap16") (param $x i32) (result i32)
    (i32.or
      (i32.shl (i32.and (local.get $x) (i32.const 0xff)) (i32.const 8))
      (i32.and (i32.const 0xff) (i32.shr_u (local.get $x) (i32.const 8)))))
  (func (export "swap64") (param $x i64) (result i64)
    (i64.or
      (i64.or
        (i64.or (i64.shr_u (local.get $x) (i64.const 56)) (i64.and (i64.shr_u (local.get $x) (i64.const 40)) (i64.const 0xff00)))
        (i64.or
          (i64.and (i64.shr_u (local.get $x) (i64.const 24)) (i64.const 0xff0000))
          (i64.and (i64.shr_u (local.get $x) (i64.const 8)) (i64.const 0xff000000))))
      (i64.or
        (i64.or
          (i64.shl (i64.and (local.get $x) (i64.const 0xff000000)) (i64.const 8))
          (i64.shl (i64.and (local.get $x) (i64.const 0xff0000)) (i64.const 24)))
        (i64.or (i64.shl (i64.and (local.get $x) (i64.const 0xff00)) (i64.const 40)) (i64.shl (local.get $x) (i64.const 56))))))
  ;; The mask has a bit less; a byte is from another value; two bytes meet; the shift is signed.
  (func (export "bit-less") (param $x i32) (result i32)
    (i32.or
      (i32.and (i32.rotl (local.get $x) (i32.const 8)) (i32.const 0xff00fe))
      (i32.and (i32.rotr (local.get $x) (i32.const 8)) (i32.const 0xff00ff00))))
  (func (export "of-two") (param $x i32) (param $y i32) (result i32)
    (i32.or
      (i32.and (i32.rotl (local.get $x) (i32.const 8)) (i32.const 0xff00ff))
      (i32.and (i32.rotr (local.get $y) (i32.const 8)) (i32.const 0xff00ff00))))
  (func (export "meeting") (param $x i32) (result i32)
    (i32.or
      (i32.rotl (local.get $x) (i32.const 8))
      (i32.and (i32.rotr (local.get $x) (i32.const 8)) (i32.const 0xff00ff00))))
  (func (export "signed") (param $x i32) (result i32)
    (i32.or
      (i32.or (i32.shl (local.get $x) (i32.const 24)) (i32.shl (i32.and (local.get $x) (i32.const 0xff00)) (i32.const 8)))
      (i32.or (i32.and (i32.shr_u (local.get $x) (i32.const 8)) (i32.const 0xff00)) (i32.shr_s (local.get $x) (i32.const 24))))))
(assert_return (invoke "swap32" (i32.const 0x81020384)) (i32.const 0x84030281))
(assert_return (invoke "swap32-turned" (i32.const 0x81020384)) (i32.const 0x84030281))
(assert_return (invoke "swap16" (i32.const 0x81020384)) (i32.const 0x8403))
(assert_return (invoke "swap64" (i64.const 0x8102030405060788)) (i64.const 0x8807060504030281))
(assert_return (invoke "bit-less" (i32.const 0x81020384)) (i32.const 0x84030280))
(assert_return (invoke "of-two" (i32.const 0x81020384) (i32.const 0x11121314)) (i32.const 0x14031281))
(assert_return (invoke "meeting" (i32.const 0x81020384)) (i32.const 0x86038681))
(assert_return (invoke "signed" (i32.const 0x81020384)) (i32.const 0xffffff81))
