//! Values that may be absent: on their way through messages and blocks, and in conditions, which mean
//! the same in the functions that `contract!` makes, while a program is compiled, and in the kernel.

use sing_contract::conditions::judged;
use sing_sdk::rt::{Exchangeable, Plain, Record, Vector};
use std::panic::{AssertUnwindSafe, catch_unwind};

sing_sdk::contract!("tests/optional.contract");

const COLOURS: [Option<Colour>; 4] = [
    None,
    Some(Colour::Red),
    Some(Colour::Green),
    Some(Colour::Blue),
];
const NUMBERS: [Option<i32>; 5] = [None, Some(0), Some(1), Some(-1), Some(i32::MIN)];

fn words_of<T: Exchangeable>(value: T) -> Vec<u64> {
    let mut words = vec![0xdead_beef_dead_beef; T::WORDS];
    value.into_words(&mut words);
    words
}

fn there_and_back<T: Exchangeable + Plain + PartialEq + std::fmt::Debug>(value: T, words: &[u64]) {
    assert_eq!(words_of(value), words);
    let mut bytes = vec![0xaa; T::SIZE];
    value.write_to(&mut bytes);
    assert_eq!(T::read_from(&bytes), Some(value));
    assert_eq!(T::read_from(&bytes[1..]), None);
}

#[test]
fn a_word_says_whether_a_value_is_there() {
    there_and_back(None::<i32>, &[0, 0]);
    there_and_back(Some(0), &[1, 0]);
    there_and_back(Some(-1), &[1, u64::MAX]);
    there_and_back(Some(f64::INFINITY), &[1, f64::INFINITY.to_bits()]);
    there_and_back(Some(false), &[1, 0]);
    there_and_back(Some('ß'), &[1, 0xdf]);
    there_and_back(Some(Colour::Blue), &[1, 5]);
    there_and_back(None::<Inner>, &[0; 4]);
    let inner = |y| Inner {
        y,
        colour: Colour::Green,
    };
    there_and_back(Some(inner(None)), &[1, 0, 0, 2]);
    there_and_back(Some(inner(Some(9))), &[1, 1, 9, 2]);
}

/// As C lays out a `bool` and the value behind it.
#[test]
fn a_byte_says_so_in_a_block() {
    assert_eq!((Option::<u8>::SIZE, Option::<u8>::ALIGN), (2, 1));
    assert_eq!((Option::<i64>::SIZE, Option::<i64>::ALIGN), (16, 8));
    assert_eq!((Inner::SIZE, Inner::ALIGN), (24, 8));
    assert_eq!((Reading::SIZE, Reading::ALIGN), (56, 8));
    let source = include_str!("optional.contract");
    let model = sing_contract::load(source).unwrap().model;
    for (name, size, align) in [
        ("Inner", Inner::SIZE, Inner::ALIGN),
        ("Reading", Reading::SIZE, Reading::ALIGN),
    ] {
        let layout = model.structure(name).unwrap().layout;
        assert_eq!((layout.size, layout.align), (size, align), "{name}");
    }
    let mut bytes = [0xaa; 8];
    Some(-2i32).write_to(&mut bytes);
    assert_eq!(bytes, [1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    None::<i32>.write_to(&mut bytes);
    assert_eq!(bytes, [0; 8]);
    for (at, byte) in [(0, 2), (1, 1), (4, 1), (7, 0x80)] {
        let mut wrong = bytes;
        wrong[at] = byte;
        assert_eq!(Option::<i32>::read_from(&wrong), None, "{wrong:?}");
    }
    assert_eq!(Option::<Colour>::read_from(&[1, 4]), None);
}

fn reading(n: i32) -> Reading {
    Reading {
        percent: (n > 0).then_some(7),
        celsius: (n > 1).then_some(-n),
        colour: (n > 2).then_some(Colour::Blue),
        inner: (n > 3).then_some(Inner {
            y: (n > 4).then_some(1),
            colour: Colour::Red,
        }),
        last: true,
    }
}

#[test]
fn they_travel_in_messages_and_blocks() {
    let (imp, exp) = Optional::new_channel().unwrap();
    let readings: Vec<Reading> = (0..6).map(reading).collect();
    let all = Vector::from_slice(&readings).unwrap();
    let last = Record::new(reading(5)).unwrap();
    let asked = imp.send_keep(all, last, Some(false));
    let Optional::exp::Start::Keep(all, last, flag, next) = exp.recv() else {
        panic!("the message that was sent");
    };
    assert_eq!(
        (all.iter().collect::<Vec<_>>(), flag),
        (readings, Some(false))
    );
    assert_eq!(last.get(), Some(reading(5)));
    let inner = Inner {
        y: Some(i64::MIN),
        colour: Colour::Red,
    };
    drop(next.send_done(None, Some(inner)));
    let (size, came, _) = asked.recv_done().unwrap();
    assert_eq!((size, came), (None, Some(inner)));
}

#[test]
fn a_send_that_breaks_a_condition_is_stopped() {
    for (ratio, sound) in [
        (None, true),
        (Some(0.5), true),
        (Some(1.5), false),
        (Some(f64::NAN), false),
    ] {
        let (imp, exp) = Optional::new_channel().unwrap();
        let sent = catch_unwind(AssertUnwindSafe(|| imp.send_exact(ratio)));
        assert_eq!(sent.is_ok(), sound, "{ratio:?}");
        drop(exp);
    }
}

/// What `Open` may carry, in Rust's own words.
const fn open(mode: Option<i32>, colour: Option<Colour>, letter: Option<char>) -> bool {
    let positive = match mode {
        Some(mode) => mode > 0,
        None => true,
    };
    let blue = matches!(colour, Some(Colour::Blue));
    positive
        && colour.is_some() == letter.is_some()
        && (!blue || letter.is_some() && mode.is_some())
}

/// The compiler evaluates the function with each combination.
const COMPILED: [bool; 40] = {
    let mut all = [false; 40];
    let mut i = 0;
    while i < 40 {
        let letter = if i % 2 == 1 { Some('x') } else { None };
        all[i] = Optional::may_carry_open(NUMBERS[i / 8], COLOURS[i / 2 % 4], letter);
        i += 1;
    }
    all
};

fn kernel(message: &str, words: &[Vec<u64>]) -> bool {
    let loaded = sing_contract::load(include_str!("optional.contract")).unwrap();
    let contract = loaded.model.contract("Optional").unwrap();
    let message = contract
        .messages
        .iter()
        .find(|m| m.name == message)
        .unwrap();
    let judged = judged(message, &loaded.model);
    assert!(judged.is_all());
    judged.conditions.iter().all(|c| c.holds(&words.concat()))
}

#[test]
fn conditions_mean_the_same_everywhere() {
    let mut held = 0;
    for (i, compiled) in COMPILED.into_iter().enumerate() {
        let (mode, colour) = (NUMBERS[i / 8], COLOURS[i / 2 % 4]);
        let letter = (i % 2 == 1).then_some('x');
        let what = format!("{mode:?} {colour:?} {letter:?}");
        assert_eq!(compiled, open(mode, colour, letter), "{what}");
        let words = [words_of(mode), words_of(colour), words_of(letter)];
        assert_eq!(kernel("Open", &words), compiled, "{what}");
        held += usize::from(compiled);
    }
    assert!((5..20).contains(&held), "{held}");
    // What is absent has no result: not for its negation, and not to the right of what decides nothing.
    let inner = |y| {
        Some(Inner {
            y,
            colour: Colour::Red,
        })
    };
    for (value, flag, holds) in [
        (None, None, false),
        (None, Some(true), true),
        (None, Some(false), false),
        (inner(None), Some(false), false),
        (inner(Some(8)), Some(false), true),
        (inner(Some(7)), Some(false), false),
        // The left side has no result, so there is none.
        (inner(Some(8)), None, false),
    ] {
        assert_eq!(
            Optional::may_carry_deep(value, flag),
            holds,
            "{value:?} {flag:?}"
        );
        let words = [words_of(value), words_of(flag)];
        assert_eq!(kernel("Deep", &words), holds, "{value:?} {flag:?}");
    }
}

#[test]
fn they_are_proven_while_the_sender_is_compiled() {
    let (imp, exp) = Optional::new_channel().unwrap();
    let sent = imp.send_open_checked(const { Optional::checked_open(Some(3), None, None) });
    let Optional::exp::Start::Open(mode, colour, letter, _) = exp.recv() else {
        panic!("the message that was sent");
    };
    assert_eq!((mode, colour, letter), (Some(3), None, None));
    drop(sent);
}

#[test]
fn a_mock_shows_what_came() {
    let mock = Optional::Mock::new().on_deep(|inner, flag, next| {
        assert_eq!((inner, flag), (None, Some(true)));
        next.send_done(Some(4), None)
    });
    let (imp, came) = mock.channel();
    let (size, inner, _) = imp.send_deep(None, Some(true)).recv_done().unwrap();
    assert_eq!((size, inner), (Some(4), None));
    let all = came.messages();
    assert!(format!("{all:?}").contains("Some(true)"), "{all:?}");
}
