;; Relaxed vector instructions have one result each: the first of those that the specification allows. Where others are
;; allowed, too, the operands here tell them apart.

(module
  (func (export "swizzle") (param v128 v128) (result v128) (i8x16.relaxed_swizzle (local.get 0) (local.get 1)))
  (func (export "trunc_s") (param v128) (result v128) (i32x4.relaxed_trunc_f32x4_s (local.get 0)))
  (func (export "trunc_u") (param v128) (result v128) (i32x4.relaxed_trunc_f32x4_u (local.get 0)))
  (func (export "trunc_s_zero") (param v128) (result v128) (i32x4.relaxed_trunc_f64x2_s_zero (local.get 0)))
  (func (export "trunc_u_zero") (param v128) (result v128) (i32x4.relaxed_trunc_f64x2_u_zero (local.get 0)))
  (func (export "madd") (param v128 v128 v128) (result v128)
    (f32x4.relaxed_madd (local.get 0) (local.get 1) (local.get 2)))
  (func (export "nmadd") (param v128 v128 v128) (result v128)
    (f32x4.relaxed_nmadd (local.get 0) (local.get 1) (local.get 2)))
  (func (export "madd64") (param v128 v128 v128) (result v128)
    (f64x2.relaxed_madd (local.get 0) (local.get 1) (local.get 2)))
  (func (export "nmadd64") (param v128 v128 v128) (result v128)
    (f64x2.relaxed_nmadd (local.get 0) (local.get 1) (local.get 2)))
  (func (export "select8") (param v128 v128 v128) (result v128)
    (i8x16.relaxed_laneselect (local.get 0) (local.get 1) (local.get 2)))
  (func (export "select16") (param v128 v128 v128) (result v128)
    (i16x8.relaxed_laneselect (local.get 0) (local.get 1) (local.get 2)))
  (func (export "select32") (param v128 v128 v128) (result v128)
    (i32x4.relaxed_laneselect (local.get 0) (local.get 1) (local.get 2)))
  (func (export "select64") (param v128 v128 v128) (result v128)
    (i64x2.relaxed_laneselect (local.get 0) (local.get 1) (local.get 2)))
  (func (export "min") (param v128 v128) (result v128) (f32x4.relaxed_min (local.get 0) (local.get 1)))
  (func (export "max") (param v128 v128) (result v128) (f32x4.relaxed_max (local.get 0) (local.get 1)))
  (func (export "min64") (param v128 v128) (result v128) (f64x2.relaxed_min (local.get 0) (local.get 1)))
  (func (export "max64") (param v128 v128) (result v128) (f64x2.relaxed_max (local.get 0) (local.get 1)))
  (func (export "q15") (param v128 v128) (result v128) (i16x8.relaxed_q15mulr_s (local.get 0) (local.get 1)))
  (func (export "dot") (param v128 v128) (result v128)
    (i16x8.relaxed_dot_i8x16_i7x16_s (local.get 0) (local.get 1)))
  (func (export "dot-add") (param v128 v128 v128) (result v128)
    (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get 0) (local.get 1) (local.get 2))))

;; An index from 16 on gives 0, whatever its upper bits.
(assert_return (invoke "swizzle"
    (v128.const i8x16 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25)
    (v128.const i8x16 0 15 16 17 31 32 127 -128 -1 1 2 3 4 5 6 7))
  (v128.const i8x16 10 25 0 0 0 0 0 0 0 11 12 13 14 15 16 17))
(assert_return (invoke "trunc_s" (v128.const f32x4 nan 3e9 -3e9 -1.9))
  (v128.const i32x4 0 0x7fffffff 0x80000000 -1))
(assert_return (invoke "trunc_u" (v128.const f32x4 nan 5e9 -1 3e9))
  (v128.const i32x4 0 0xffffffff 0 3000000000))
(assert_return (invoke "trunc_s_zero" (v128.const f64x2 nan -3e9)) (v128.const i32x4 0 0x80000000 0 0))
(assert_return (invoke "trunc_u_zero" (v128.const f64x2 5e9 -1)) (v128.const i32x4 0xffffffff 0 0 0))

;; Rounded twice: (1 + 2^-23)^2 - (1 + 2^-22) is 2^-46 before and 0 after the first rounding.
(assert_return (invoke "madd"
    (v128.const f32x4 0x1.000002p+0 2 3 inf) (v128.const f32x4 0x1.000002p+0 3 4 2)
    (v128.const f32x4 -0x1.000004p+0 1 -1 1))
  (v128.const f32x4 0 7 11 inf))
(assert_return (invoke "nmadd"
    (v128.const f32x4 0x1.000002p+0 2 3 inf) (v128.const f32x4 0x1.000002p+0 3 4 2)
    (v128.const f32x4 0x1.000004p+0 1 -1 1))
  (v128.const f32x4 0 -5 -13 -inf))
(assert_return (invoke "madd64"
    (v128.const f64x2 0x1.0000000000001p+0 5) (v128.const f64x2 0x1.0000000000001p+0 6)
    (v128.const f64x2 -0x1.0000000000002p+0 7))
  (v128.const f64x2 0 37))
(assert_return (invoke "nmadd64"
    (v128.const f64x2 0x1.0000000000001p+0 5) (v128.const f64x2 0x1.0000000000001p+0 6)
    (v128.const f64x2 0x1.0000000000002p+0 7))
  (v128.const f64x2 0 -23))

;; Bit by bit, not by the highest bit of a lane.
(assert_return (invoke "select8" (v128.const i64x2 -1 -1) (v128.const i64x2 0 0)
    (v128.const i64x2 0x80_7f_00_ff_01_fe_55_aa 0x0123456789abcdef))
  (v128.const i64x2 0x80_7f_00_ff_01_fe_55_aa 0x0123456789abcdef))
(assert_return (invoke "select16" (v128.const i64x2 -1 -1) (v128.const i64x2 0 0)
    (v128.const i64x2 0x8001_7fff_00ff_ff00 0x0123456789abcdef))
  (v128.const i64x2 0x8001_7fff_00ff_ff00 0x0123456789abcdef))
(assert_return (invoke "select32" (v128.const i64x2 0 0) (v128.const i64x2 -1 -1)
    (v128.const i64x2 0x80000001_7fffffff 0x0123456789abcdef))
  (v128.const i64x2 0x7ffffffe_80000000 0xfedcba9876543210))
(assert_return (invoke "select64" (v128.const i64x2 0 0) (v128.const i64x2 -1 -1)
    (v128.const i64x2 0x8000000000000001 0x0123456789abcdef))
  (v128.const i64x2 0x7ffffffffffffffe 0xfedcba9876543210))

(assert_return (invoke "min" (v128.const f32x4 nan 1 0 -0) (v128.const f32x4 1 nan -0 0))
  (v128.const f32x4 nan:arithmetic nan:arithmetic -0 -0))
(assert_return (invoke "max" (v128.const f32x4 nan 1 0 -0) (v128.const f32x4 1 nan -0 0))
  (v128.const f32x4 nan:arithmetic nan:arithmetic 0 0))
(assert_return (invoke "min64" (v128.const f64x2 nan -0) (v128.const f64x2 1 0))
  (v128.const f64x2 nan:arithmetic -0))
(assert_return (invoke "max64" (v128.const f64x2 1 -0) (v128.const f64x2 nan 0))
  (v128.const f64x2 nan:arithmetic 0))
(assert_return (invoke "q15" (v128.const i16x8 -32768 -32768 16384 1 2 3 4 5)
    (v128.const i16x8 -32768 32767 16384 1 16384 3 4 16384))
  (v128.const i16x8 32767 -32767 8192 0 1 0 0 3))

;; Both operands are signed, and the sum of two products does not wrap.
(assert_return (invoke "dot"
    (v128.const i8x16 -128 -128 127 127 -128 -128 1 2 3 4 5 6 -1 -2 100 100)
    (v128.const i8x16 -128 -128 127 127 127 127 -1 -2 3 4 -5 -6 -1 -2 -100 -100))
  (v128.const i16x8 32767 32258 -32512 -5 25 -61 5 -20000))
(assert_return (invoke "dot-add"
    (v128.const i8x16 -128 -128 -128 -128 -128 -128 1 2 3 4 5 6 -1 -2 100 100)
    (v128.const i8x16 -128 -128 -128 -128 127 127 -1 -2 3 4 -5 -6 -1 -2 -100 -100)
    (v128.const i32x4 1 2 3 0x80000000))
  (v128.const i32x4 65535 -32515 -33 0x7fffb1e5))
