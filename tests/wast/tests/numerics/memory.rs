//! Loads and stores of every width, at every alignment.

use crate::script::{Gives, Operand, Script};

const BYTES: [u8; 16] = [
    0x80, 0x01, 0xff, 0x7f, 0xfe, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x00, 0x81, 0xc3, 0xf0,
];

fn at(offset: usize, bytes: usize) -> u64 {
    let mut all = [0; 8];
    all[..bytes].copy_from_slice(&BYTES[offset..offset + bytes]);
    u64::from_le_bytes(all)
}

/// All of them.
pub fn all(s: &mut Script) {
    loads(s);
    stores(s);
}

/// Puts the bytes in place, by stores whose width is not in question.
fn fill() -> String {
    let store =
        |(i, b): (usize, &u8)| format!("(i32.store8 (i32.const {}) (i32.const {b}))", 64 + i);
    BYTES.iter().enumerate().map(store).collect()
}

type Load = (&'static str, &'static str, usize, fn(u64) -> String);

fn loads(s: &mut Script) {
    let loads: [Load; 14] = [
        ("i32", "load", 4, |v| (v as u32).constant()),
        ("i32", "load8_u", 1, |v| (v as u32).constant()),
        ("i32", "load8_s", 1, |v| (v as i8 as u32).constant()),
        ("i32", "load16_u", 2, |v| (v as u32).constant()),
        ("i32", "load16_s", 2, |v| (v as i16 as u32).constant()),
        ("i64", "load", 8, |v| v.constant()),
        ("i64", "load8_u", 1, |v| v.constant()),
        ("i64", "load8_s", 1, |v| (v as i8 as u64).constant()),
        ("i64", "load16_u", 2, |v| v.constant()),
        ("i64", "load16_s", 2, |v| (v as i16 as u64).constant()),
        ("i64", "load32_u", 4, |v| v.constant()),
        ("i64", "load32_s", 4, |v| (v as i32 as u64).constant()),
        ("f32", "load", 4, |v| f32::from_bits(v as u32).constant()),
        ("f64", "load", 8, |v| f64::from_bits(v).constant()),
    ];
    for (ty, name, bytes, gives) in loads {
        for (offset, align) in [(0, 1), (3, 1), (64, bytes)] {
            let body = format!(
                "{} ({ty}.{name} offset={offset} align={align} (local.get 0))",
                fill()
            );
            let f = s.function(&format!("(param i32) (result {ty})"), &body);
            for i in 0..=BYTES.len() - bytes {
                let address = (64 + i - offset) as u32;
                s.assert(
                    &f,
                    &[address.constant()],
                    &Gives::Value(gives(at(i, bytes))),
                );
            }
            let last = (65_536 - bytes - offset) as u32;
            s.assert(&f, &[last.constant()], &Gives::Value(gives(0)));
            for beyond in [
                last + 1,
                65_536,
                0x7fff_ffff,
                0x8000_0000,
                u32::MAX - 2,
                u32::MAX,
            ] {
                s.assert(
                    &f,
                    &[beyond.constant()],
                    &Gives::Trap("out of bounds memory access"),
                );
            }
        }
        let body = format!("{} ({ty}.{name} (i32.const 67))", fill());
        let f = s.function(&format!("(result {ty})"), &body);
        s.assert(&f, &[], &Gives::Value(gives(at(3, bytes))));
    }
}

fn stores(s: &mut Script) {
    let stores = [
        ("i32", "store", 4),
        ("i32", "store8", 1),
        ("i32", "store16", 2),
        ("i64", "store", 8),
        ("i64", "store8", 1),
        ("i64", "store16", 2),
        ("i64", "store32", 4),
        ("f32", "store", 4),
        ("f64", "store", 8),
    ];
    let value: u64 = 0xfedc_ba98_7654_3210;
    for (ty, name, bytes) in stores {
        let constant = match ty {
            "i32" => (value as u32).constant(),
            "i64" => value.constant(),
            "f32" => f32::from_bits(value as u32).constant(),
            _ => f64::from_bits(value).constant(),
        };
        // Bytes around a store do not change; the test reads back the eight bytes from one before
        // on.
        for (offset, operand) in [(0, "(local.get 1)"), (5, "(local.get 1)"), (0, &constant)] {
            let body = format!(
                "(i64.store (i32.const 80) (i64.const -1)) (i64.store (i32.const 88) (i64.const -1)) \
                 ({ty}.{name} offset={offset} align=1 (local.get 0) {operand}) \
                 (i64.load (i32.add (local.get 0) (i32.const {})))",
                offset - 1
            );
            let f = s.function(&format!("(param i32 {ty}) (result i64)"), &body);
            for i in 82..86u32 {
                let mut expected = [0xff; 8];
                let stored = value.to_le_bytes();
                let visible = usize::min(bytes, 7);
                expected[1..1 + visible].copy_from_slice(&stored[..visible]);
                let address = (i - offset as u32).constant();
                let gives = Gives::Value(u64::from_le_bytes(expected).constant());
                s.assert(&f, &[address, constant.clone()], &gives);
            }
            let beyond = (65_537 - bytes as i32 - offset) as u32;
            for beyond in [beyond, 65_536, u32::MAX] {
                let args = [beyond.constant(), constant.clone()];
                s.assert(&f, &args, &Gives::Trap("out of bounds memory access"));
            }
        }
    }
}
