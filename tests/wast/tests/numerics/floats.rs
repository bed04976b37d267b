//! Float instructions.
//!
//! Arithmetic gives a NaN of unspecified sign; its payload is the topmost bit alone unless an
//! operand was a NaN with another one.

use crate::integers::{I32, I64};
use crate::script::{Gives, Operand, Script};

macro_rules! float {
    ($name:ident, $f:ty, $u:ty, $quiet:expr, $values:expr) => {
        pub mod $name {
            use super::*;

            const QUIET: $u = $quiet;

            /// Numbers at the edges, and NaNs of every kind.
            pub fn values() -> Vec<$f> {
                let mut values: Vec<$f> = $values.to_vec();
                let infinity = <$f>::INFINITY.to_bits();
                let nans = [
                    infinity | QUIET,
                    infinity | QUIET | 1,
                    infinity | 1,
                    infinity | (QUIET - 1),
                ];
                values.extend(nans.map(<$f>::from_bits));
                let negative: Vec<$f> = values
                    .iter()
                    .map(|v| <$f>::from_bits(v.to_bits() ^ 1 << (<$u>::BITS - 1)))
                    .collect();
                values.extend(negative);
                values
            }

            pub fn few() -> Vec<$f> {
                let nan = <$f>::from_bits(<$f>::INFINITY.to_bits() | 1);
                vec![
                    0.0,
                    -0.0,
                    1.0,
                    -1.0,
                    2.0,
                    <$f>::MAX,
                    <$f>::INFINITY,
                    <$f>::MIN_POSITIVE,
                    <$f>::NAN,
                    nan,
                ]
            }

            fn ordinary(v: $f) -> bool {
                !v.is_nan() || v.to_bits() & (<$u>::MAX >> 1) == <$f>::INFINITY.to_bits() | QUIET
            }

            /// The result of arithmetic on these operands.
            pub fn arithmetic(result: $f, operands_ordinary: bool) -> Gives {
                let ty = <$f>::TYPE;
                Gives::Value(match (result.is_nan(), operands_ordinary) {
                    (false, _) => result.constant(),
                    (true, true) => format!("({ty}.const nan:canonical)"),
                    (true, false) => format!("({ty}.const nan:arithmetic)"),
                })
            }

            fn min(a: $f, b: $f) -> $f {
                if a.is_nan() || b.is_nan() {
                    <$f>::NAN
                } else if a == b {
                    // Of the two zeros, the negative one.
                    <$f>::from_bits(a.to_bits() | b.to_bits())
                } else if a < b {
                    a
                } else {
                    b
                }
            }

            fn max(a: $f, b: $f) -> $f {
                if a.is_nan() || b.is_nan() {
                    <$f>::NAN
                } else if a == b {
                    <$f>::from_bits(a.to_bits() & b.to_bits())
                } else if a > b {
                    a
                } else {
                    b
                }
            }

            pub fn all(s: &mut Script) {
                let ty = <$f>::TYPE;
                let (values, few) = (values(), few());
                let mut binary = |name: &str, f: fn($f, $f) -> $f| {
                    s.binary(&format!("{ty}.{name}"), ty, (&values, &few), |a, b| {
                        arithmetic(f(a, b), ordinary(a) && ordinary(b))
                    });
                };
                binary("add", |a, b| a + b);
                binary("sub", |a, b| a - b);
                binary("mul", |a, b| a * b);
                binary("div", |a, b| a / b);
                binary("min", min);
                binary("max", max);
                s.binary(&format!("{ty}.copysign"), ty, (&values, &few), |a, b| {
                    Gives::Value(a.copysign(b).constant())
                });
                let mut compare = |name: &str, f: fn($f, $f) -> bool| {
                    s.comparison(&format!("{ty}.{name}"), (&values, &few), f);
                };
                compare("eq", |a, b| a == b);
                compare("ne", |a, b| a != b);
                compare("lt", |a, b| a < b);
                compare("le", |a, b| a <= b);
                compare("gt", |a, b| a > b);
                compare("ge", |a, b| a >= b);
                let mut unary = |name: &str, f: fn($f) -> $f| {
                    s.unary(&format!("{ty}.{name}"), ty, &values, |a| {
                        arithmetic(f(a), ordinary(a))
                    });
                };
                unary("sqrt", |a| a.sqrt());
                unary("ceil", |a| a.ceil());
                unary("floor", |a| a.floor());
                unary("trunc", |a| a.trunc());
                unary("nearest", |a| a.round_ties_even());
                // These two change only the sign, of NaNs too.
                let sign: $u = 1 << (<$u>::BITS - 1);
                s.unary(&format!("{ty}.abs"), ty, &values, |a| {
                    Gives::Value(<$f>::from_bits(a.to_bits() & !sign).constant())
                });
                s.unary(&format!("{ty}.neg"), ty, &values, |a| {
                    Gives::Value(<$f>::from_bits(a.to_bits() ^ sign).constant())
                });
            }

            /// To integers and back.
            pub fn conversions(s: &mut Script) {
                let ty = <$f>::TYPE;
                let values = values();
                let bits: Vec<$u> = values.iter().map(|v| v.to_bits()).collect();
                let int = <$u>::TYPE;
                s.unary(&format!("{int}.reinterpret_{ty}"), int, &values, |a| {
                    Gives::Value(a.to_bits().constant())
                });
                s.unary(&format!("{ty}.reinterpret_{int}"), ty, &bits, |a| {
                    Gives::Value(<$f>::from_bits(a).constant())
                });
                let back = |v: $f| Gives::Value(v.constant());
                s.unary(&format!("{ty}.convert_i32_s"), ty, &I32, |a| {
                    back(a as i32 as $f)
                });
                s.unary(&format!("{ty}.convert_i32_u"), ty, &I32, |a| back(a as $f));
                let mut wide = I64.to_vec();
                // Halves between two floats, and one beside: rounding to even, and only once.
                for shift in [24, 25, 29, 39, 40, 53, 54, 62] {
                    let one = 1u64 << shift;
                    let half = one >> 24 >> 1;
                    let small = one >> 53 >> 1;
                    for n in [
                        half,
                        half + 1,
                        half * 3,
                        half * 3 + 1,
                        small,
                        small + 1,
                        small * 3,
                        small * 3 + 1,
                    ] {
                        wide.extend([one + n, (one + n).wrapping_neg(), one.wrapping_sub(n)]);
                    }
                }
                wide.extend([
                    0x8000_0080_0000_0001,
                    0x8000_0000_0000_0400,
                    0x8000_0000_0000_0401,
                    0xffff_ff7f_ffff_ffff,
                ]);
                s.unary(&format!("{ty}.convert_i64_s"), ty, &wide, |a| {
                    back(a as i64 as $f)
                });
                s.unary(&format!("{ty}.convert_i64_u"), ty, &wide, |a| back(a as $f));
                let mut numbers = values;
                // One step to either side of every limit.
                for limit in [31, 32, 63, 64] {
                    let edge = (limit as $f).exp2();
                    for v in [
                        edge,
                        edge - 1.0,
                        edge + 1.0,
                        edge.next_down(),
                        edge.next_up(),
                    ] {
                        numbers.extend([v, -v, v - 0.5, -v - 0.5, v - 0.75, -v - 0.75]);
                    }
                }
                numbers.extend([
                    0.9999,
                    -0.9999,
                    1.5,
                    -1.5,
                    2147483647.5 as $f,
                    -2147483648.9 as $f,
                    4294967295.9 as $f,
                ]);
                to_integers(s, &numbers);
            }

            fn to_integers(s: &mut Script, numbers: &[$f]) {
                let ty = <$f>::TYPE;
                // In 128 bits, nothing of interest is cut off.
                let truncate = |low: i128, high: i128| {
                    move |a: $f| match a as i128 {
                        _ if a.is_nan() => Err("invalid conversion to integer"),
                        n if n < low || n > high => Err("integer overflow"),
                        n => Ok(n),
                    }
                };
                let (i32_, u32_) = (
                    truncate(i32::MIN.into(), i32::MAX.into()),
                    truncate(0, u32::MAX.into()),
                );
                let (i64_, u64_) = (
                    truncate(i64::MIN.into(), i64::MAX.into()),
                    truncate(0, u64::MAX.into()),
                );
                let narrow = |r: Result<i128, &'static str>| match r {
                    Ok(n) => Gives::Value((n as u32).constant()),
                    Err(m) => Gives::Trap(m),
                };
                let wide = |r: Result<i128, &'static str>| match r {
                    Ok(n) => Gives::Value((n as u64).constant()),
                    Err(m) => Gives::Trap(m),
                };
                s.unary(&format!("i32.trunc_{ty}_s"), "i32", numbers, |a| {
                    narrow(i32_(a))
                });
                s.unary(&format!("i32.trunc_{ty}_u"), "i32", numbers, |a| {
                    narrow(u32_(a))
                });
                s.unary(&format!("i64.trunc_{ty}_s"), "i64", numbers, |a| {
                    wide(i64_(a))
                });
                s.unary(&format!("i64.trunc_{ty}_u"), "i64", numbers, |a| {
                    wide(u64_(a))
                });
                let number = |n: u64| Gives::Value(n.constant());
                s.unary(&format!("i32.trunc_sat_{ty}_s"), "i32", numbers, |a| {
                    Gives::Value((a as i32 as u32).constant())
                });
                s.unary(&format!("i32.trunc_sat_{ty}_u"), "i32", numbers, |a| {
                    Gives::Value((a as u32).constant())
                });
                s.unary(&format!("i64.trunc_sat_{ty}_s"), "i64", numbers, |a| {
                    number(a as i64 as u64)
                });
                s.unary(&format!("i64.trunc_sat_{ty}_u"), "i64", numbers, |a| {
                    number(a as u64)
                });
            }

            pub fn is_ordinary(v: $f) -> bool {
                ordinary(v)
            }
        }
    };
}

float!(
    narrow,
    f32,
    u32,
    1 << 22,
    [
        0.0,
        f32::from_bits(1),
        f32::MIN_POSITIVE,
        f32::MIN_POSITIVE / 2.0,
        0.1,
        0.49999997,
        0.5,
        0.50000006,
        1.0,
        1.0000001,
        1.5,
        2.5,
        123456.79,
        8388607.5,
        8388609.0,
        16777216.0,
        f32::MAX,
        f32::INFINITY
    ]
);
float!(
    wide,
    f64,
    u64,
    1 << 51,
    [
        0.0,
        f64::from_bits(1),
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE / 2.0,
        0.1,
        0.49999999999999994,
        0.5,
        0.5000000000000001,
        1.0,
        1.0000000000000002,
        1.5,
        2.5,
        123456.78901234567,
        4503599627370495.5,
        4503599627370497.0,
        9007199254740992.0,
        f64::MAX,
        f64::INFINITY
    ]
);

/// All instructions on floats of 32 bits.
pub fn f32(s: &mut Script) {
    narrow::all(s);
}

/// All instructions on floats of 64 bits.
pub fn f64(s: &mut Script) {
    wide::all(s);
}

/// Between floats, and between floats and integers.
pub fn conversions(s: &mut Script) {
    narrow::conversions(s);
    wide::conversions(s);
    s.unary("f64.promote_f32", "f64", &narrow::values(), |a| {
        wide::arithmetic(f64::from(a), narrow::is_ordinary(a))
    });
    let mut values = wide::values();
    for v in narrow::values().into_iter().filter(|v| v.is_finite()) {
        // Halfway to the next float of 32 bits, and just beside.
        let (a, b) = (f64::from(v), f64::from(v.next_up()));
        let half = if b.is_finite() {
            a + (b - a) / 2.0
        } else {
            a * (1.0 + f64::EPSILON * 268_435_456.0)
        };
        values.extend([a, half, half.next_up(), half.next_down()]);
    }
    s.unary("f32.demote_f64", "f32", &values, |a| {
        narrow::arithmetic(a as f32, wide::is_ordinary(a))
    });
}
