//! The requirement of a message means the same in all places that judge it: in the functions that
//! `contract!` makes, while a program is compiled and while it runs, and in the tables by which the
//! kernel judges.

use proptest::prelude::*;
use sing_contract::conditions::judged;
use sing_contract::model::Message;

sing_sdk::contract!("tests/conditions.contract");

/// Arguments as their sender has them.
type Arguments = (i8, i32, i64, u64, bool, char, Colour, Pair);

/// The answer of each message's function.
macro_rules! all {
    ($($function:ident)*) => {
        const COUNT: usize = [$(stringify!($function)),*].len();

        const fn all((a, b, c, d, on, letter, hue, p): Arguments) -> [bool; COUNT] {
            [$(Conditions::$function(a, b, c, d, on, letter, hue, p)),*]
        }
    };
}

all! {
    may_carry_m0 may_carry_m1 may_carry_m2 may_carry_m3 may_carry_m4 may_carry_m5 may_carry_m6 may_carry_m7
    may_carry_m8 may_carry_m9 may_carry_m10 may_carry_m11 may_carry_m12 may_carry_m13 may_carry_m14 may_carry_m15
    may_carry_m16 may_carry_m17 may_carry_m18 may_carry_m19 may_carry_m20 may_carry_m21 may_carry_m22 may_carry_m23
    may_carry_m24 may_carry_m25 may_carry_m26 may_carry_m27 may_carry_m28 may_carry_m29 may_carry_m30 may_carry_m31
    may_carry_m32 may_carry_m33 may_carry_m34 may_carry_m35 may_carry_m36 may_carry_m37 may_carry_m38 may_carry_m39
    may_carry_m40 may_carry_m41 may_carry_m42 may_carry_m43 may_carry_m44 may_carry_m45 may_carry_m46 may_carry_m47
}

const fn pair(e: u16, f: u8) -> Pair {
    Pair { e, f }
}

/// Arguments with which numbers overflow, and without.
const KNOWN: [Arguments; 6] = [
    (0, 0, 0, 0, false, 'a', Colour::Red, pair(0, 0)),
    (1, 2, 3, 4, true, 'z', Colour::Green, pair(5, 6)),
    (
        -128,
        i32::MIN,
        i64::MIN,
        u64::MAX,
        true,
        '\u{10ffff}',
        Colour::Blue,
        pair(u16::MAX, u8::MAX),
    ),
    (
        127,
        i32::MAX,
        i64::MAX,
        u64::MAX,
        false,
        '\0',
        Colour::Red,
        pair(1, 1),
    ),
    (-1, -1, -1, 1, true, 'ß', Colour::Blue, pair(7, 0)),
    (3, 10, 255, 1 << 63, false, 'a', Colour::Green, pair(0, 9)),
];

/// The same, computed by the compiler.
const COMPILED: [[bool; COUNT]; 6] = {
    let mut compiled = [[false; COUNT]; 6];
    let mut i = 0;
    while i < compiled.len() {
        compiled[i] = all(KNOWN[i]);
        i += 1;
    }
    compiled
};

/// The same, computed by the kernel from the words of the message.
fn kernel((a, b, c, d, on, letter, hue, p): Arguments) -> Vec<bool> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conditions.contract");
    let loaded = sing_contract::load_file(source.as_ref()).unwrap_or_else(|e| panic!("{}", e[0]));
    let words = [
        a as u64,
        b as u64,
        c as u64,
        d,
        u64::from(on),
        u64::from(u32::from(letter)),
        hue as i8 as u64,
        u64::from(p.e),
        u64::from(p.f),
    ];
    let messages: &[Message] = &loaded.model.contracts[0].messages;
    let holds = |message| {
        let judged = judged(message, &loaded.model);
        assert!(judged.is_all());
        judged.conditions.iter().all(|c| c.holds(&words))
    };
    messages.iter().map(holds).collect()
}

#[test]
fn the_compiler_and_the_kernel_agree() {
    for (arguments, compiled) in KNOWN.into_iter().zip(COMPILED) {
        assert_eq!(kernel(arguments), compiled, "{arguments:?}");
    }
    let held = COMPILED.iter().flatten().filter(|holds| **holds).count();
    assert!(held > COUNT && held < 5 * COUNT, "{held} of {}", 6 * COUNT);
}

proptest! {
    #[test]
    fn programs_and_the_kernel_agree(
        (a, b, c, d, on) in any::<(i8, i32, i64, u64, bool)>(),
        small in (-3i64..12, 0u64..12),
        is_small in any::<bool>(),
        (letter, e, f) in any::<(char, u16, u8)>(),
        hue in prop::sample::select(vec![Colour::Red, Colour::Green, Colour::Blue]),
    ) {
        let (c, d) = if is_small { small } else { (c, d) };
        let b = if is_small { b % 12 } else { b };
        let arguments = (a, b, c, d, on, letter, hue, pair(e, f));
        prop_assert_eq!(kernel(arguments), all(arguments).to_vec());
    }
}
