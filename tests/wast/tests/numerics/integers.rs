//! Integer instructions.

use crate::script::{Gives, Operand, Script};

const ZERO: &str = "integer divide by zero";
const OVERFLOW: &str = "integer overflow";

fn value<T: Operand>(v: T) -> Gives {
    Gives::Value(v.constant())
}

macro_rules! integer {
    ($name:ident, $u:ty, $i:ty, $values:expr, $few:expr) => {
        /// All instructions of one width.
        pub fn $name(s: &mut Script) {
            let values: &[$u] = &$values;
            let few: &[$u] = &$few;
            let ty = <$u>::TYPE;
            let mut binary = |name: &str, f: fn($u, $u) -> $u| {
                s.binary(&format!("{ty}.{name}"), ty, (values, few), |a, b| {
                    value(f(a, b))
                });
            };
            binary("add", |a, b| a.wrapping_add(b));
            binary("sub", |a, b| a.wrapping_sub(b));
            binary("mul", |a, b| a.wrapping_mul(b));
            binary("and", |a, b| a & b);
            binary("or", |a, b| a | b);
            binary("xor", |a, b| a ^ b);
            // The amount counts modulo the width.
            binary("shl", |a, b| a.wrapping_shl(b as u32));
            binary("shr_u", |a, b| a.wrapping_shr(b as u32));
            binary("shr_s", |a, b| (a as $i).wrapping_shr(b as u32) as $u);
            binary("rotl", |a, b| a.rotate_left((b % <$u>::BITS as $u) as u32));
            binary("rotr", |a, b| a.rotate_right((b % <$u>::BITS as $u) as u32));
            let mut division = |name: &str, f: fn($u, $u) -> Gives| {
                s.binary(&format!("{ty}.{name}"), ty, (values, few), |a, b| match b {
                    0 => Gives::Trap(ZERO),
                    _ => f(a, b),
                });
            };
            division("div_u", |a, b| value(a / b));
            division("rem_u", |a, b| value(a % b));
            division("div_s", |a, b| match (a as $i).checked_div(b as $i) {
                Some(q) => value(q as $u),
                None => Gives::Trap(OVERFLOW),
            });
            division("rem_s", |a, b| value((a as $i).wrapping_rem(b as $i) as $u));
            let mut compare = |name: &str, f: fn($u, $u) -> bool| {
                s.comparison(&format!("{ty}.{name}"), (values, few), f);
            };
            compare("eq", |a, b| a == b);
            compare("ne", |a, b| a != b);
            compare("lt_u", |a, b| a < b);
            compare("le_u", |a, b| a <= b);
            compare("gt_u", |a, b| a > b);
            compare("ge_u", |a, b| a >= b);
            compare("lt_s", |a, b| (a as $i) < b as $i);
            compare("le_s", |a, b| a as $i <= b as $i);
            compare("gt_s", |a, b| a as $i > b as $i);
            compare("ge_s", |a, b| a as $i >= b as $i);
            let mut unary = |name: &str, f: fn($u) -> $u| {
                s.unary(&format!("{ty}.{name}"), ty, values, |a| value(f(a)));
            };
            unary("clz", |a| a.leading_zeros() as $u);
            unary("ctz", |a| a.trailing_zeros() as $u);
            unary("popcnt", |a| a.count_ones() as $u);
            unary("extend8_s", |a| a as i8 as $u);
            unary("extend16_s", |a| a as i16 as $u);
            if <$u>::BITS == 64 {
                unary("extend32_s", |a| a as i32 as $u);
            }
            s.unary(&format!("{ty}.eqz"), "i32", values, |a| {
                value(u32::from(a == 0))
            });
        }
    };
}

pub const I32: [u32; 18] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x8000,
    0xffff,
    0x1234_5678,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

pub const I64: [u64; 22] = [
    0,
    1,
    2,
    7,
    31,
    32,
    63,
    64,
    65,
    0x80,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1234_5678_9abc_def0,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_0000_0000,
    0xffff_ffff_8000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

integer!(
    i32,
    u32,
    i32,
    I32,
    [
        0,
        1,
        2,
        10,
        31,
        32,
        0x80,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff
    ]
);
integer!(
    i64,
    u64,
    i64,
    I64,
    [
        0,
        1,
        2,
        10,
        63,
        64,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        0xffff_ffff_8000_0000,
        0xffff_ffff_ffff_ffff
    ]
);

/// Between the two widths.
pub fn conversions(s: &mut Script) {
    s.unary("i32.wrap_i64", "i32", &I64, |a| value(a as u32));
    s.unary("i64.extend_i32_u", "i64", &I32, |a| value(u64::from(a)));
    s.unary("i64.extend_i32_s", "i64", &I32, |a| value(a as i32 as u64));
    // The upper half of a register must not show after a wrap.
    let wraps = [
        (
            "i64.extend_i32_u",
            (|a| u64::from(a as u32)) as fn(u64) -> u64,
        ),
        ("i64.extend_i32_s", |a| a as i32 as u64),
    ];
    for (name, f) in wraps {
        let body = format!("({name} (i32.wrap_i64 (local.get 0)))");
        let function = s.function("(param i64) (result i64)", &body);
        let sum =
            format!("({name} (i32.add (i32.wrap_i64 (local.get 0)) (i32.wrap_i64 (local.get 1))))");
        let sum = s.function("(param i64 i64) (result i64)", &sum);
        for a in I64 {
            s.assert(&function, &[a.constant()], &value(f(a)));
            for b in I64 {
                s.assert(
                    &sum,
                    &[a.constant(), b.constant()],
                    &value(f(a.wrapping_add(b))),
                );
            }
        }
    }
}
