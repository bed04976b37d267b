//! Values on their way through a message, and the handling of words that are no values.
#![allow(unsafe_code)]

use compile_fail::{Colour, Hue, Lit, Point};
use sing_sdk::rt::{Exchangeable, Plain, Vector};

/// Words that own nothing, as a receiver gets them.
fn received<T: Exchangeable>(words: &[u64]) -> Option<T> {
    // SAFETY: numbers own nothing.
    unsafe { T::from_words(words) }
}

fn there_and_back<T: Exchangeable + Clone + PartialEq + std::fmt::Debug>(value: T) {
    let mut words = [0xdead_beef_dead_beef; 12];
    value.clone().into_words(&mut words);
    assert_eq!(received(&words[..T::WORDS]), Some(value));
}

#[test]
fn scalars_survive_the_way() {
    for v in [0, 1, -1, i64::MAX, i64::MIN] {
        there_and_back(v);
        there_and_back(v as i32);
        there_and_back(v as i16);
        there_and_back(v as i8);
        there_and_back(v as u64);
        there_and_back(v as u32);
        there_and_back(v as u16);
        there_and_back(v as u8);
        there_and_back(v as f64);
        there_and_back(v as f32);
    }
    for c in ['a', '\0', 'ß', '\u{10ffff}'] {
        there_and_back(c);
    }
    there_and_back(true);
    there_and_back(false);
    there_and_back(Colour::Green);
    there_and_back(Point {
        x: -3,
        y: i32::MAX,
        colour: Colour::Green,
    });
}

#[test]
fn signs_are_extended_for_readers_of_other_languages() {
    let mut words = [0; 1];
    (-1i8).into_words(&mut words);
    assert_eq!(words[0], u64::MAX);
    255u8.into_words(&mut words);
    assert_eq!(words[0], 255);
}

#[test]
fn what_is_no_value_is_refused() {
    assert_eq!(received::<bool>(&[2]), None);
    assert_eq!(received::<bool>(&[1 << 32]), None);
    assert_eq!(received::<char>(&[0xd800]), None);
    assert_eq!(received::<char>(&[0x11_0000]), None);
    assert_eq!(received::<char>(&[1 << 40 | 65]), None);
    assert_eq!(received::<Colour>(&[2]), None);
    assert_eq!(received::<Colour>(&[u64::MAX]), None);
    assert_eq!(received::<Point>(&[1, 2, 7]), None);
    assert_eq!(
        received::<Point>(&[1, 2, 1]),
        Some(Point {
            x: 1,
            y: 2,
            colour: Colour::Green
        })
    );
    // A float is any bits; an integer is its low bits.
    assert!(received::<f32>(&[0x7fc0_0000]).unwrap().is_nan());
    assert_eq!(received::<u8>(&[0x1ff]), Some(0xff));
}

#[test]
fn what_is_absent_has_one_encoding() {
    for level in [None, Some(0), Some(-1), Some(i32::MIN)] {
        there_and_back(level);
        for hue in [None, Some(Hue::Warm), Some(Hue::Cold)] {
            there_and_back(hue);
            there_and_back(Some(Lit { level, hue }));
        }
    }
    there_and_back(None::<Lit>);
    there_and_back(Some(f64::NEG_INFINITY));
    for words in [[2, 0], [1 << 32, 0], [0, 1], [0, 1 << 63], [u64::MAX, 0]] {
        assert_eq!(received::<Option<i32>>(&words), None, "{words:?}");
    }
    assert_eq!(received::<Option<i32>>(&[0, 0]), Some(None));
    assert_eq!(received::<Option<bool>>(&[1, 2]), None);
    assert_eq!(received::<Option<Hue>>(&[1, 2]), None);
    assert_eq!(received::<Option<Lit>>(&[0, 1, 0, 0, 0]), None);
    assert_eq!(received::<Option<Lit>>(&[0, 0, 0, 0, 1]), None);
    assert_eq!(received::<Option<Lit>>(&[1, 0, 9, 0, 0]), None);
    // Of a block, 0 is none, whatever stands above the 32 bits of a handle.
    assert_eq!(received::<Option<Vector<u8>>>(&[1 << 32]), Some(None));
}

#[test]
fn rep_structs_lie_in_blocks_as_in_c() {
    assert_eq!((Point::SIZE, Point::ALIGN), (12, 4));
    let mut bytes = [0xaa; 16];
    let point = Point {
        x: 1,
        y: -2,
        colour: Colour::Green,
    };
    point.write_to(&mut bytes);
    assert_eq!(
        bytes,
        [
            1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xaa, 0xaa, 0xaa, 0xaa
        ]
    );
    assert_eq!(Point::read_from(&bytes), Some(point));
    assert_eq!(Point::read_from(&bytes[..11]), None);
    bytes[8] = 9;
    assert_eq!(Point::read_from(&bytes), None, "no colour has number 9");
}

sing_sdk::contract!(
    "enum Small : byte { A = 3, B = 200 }
     rep struct Inner { byte a; short b; }
     rep struct Mixed { bool first; long second; Inner third; Small fourth; char fifth; }
     contract C { in message M(Mixed m); state S: M? -> closed; }",
    const OTHER
);

#[test]
fn padding_is_as_in_c() {
    assert!(OTHER.contains("rep struct Mixed"));
    assert_eq!((Inner::SIZE, Inner::ALIGN), (4, 2));
    // bool at 0, long at 8, Inner at 16, byte at 20, char at 24, 4 bytes of padding.
    assert_eq!((Mixed::SIZE, Mixed::ALIGN, Mixed::WORDS), (32, 8, 6));
    let value = Mixed {
        first: true,
        second: -1,
        third: Inner { a: 7, b: 0x0102 },
        fourth: Small::B,
        fifth: 'z',
    };
    there_and_back(value);
    let mut bytes = [0xaa; 32];
    value.write_to(&mut bytes);
    assert_eq!(
        bytes[..8],
        [1, 0, 0, 0, 0, 0, 0, 0],
        "padding is zero, nothing leaks in it"
    );
    assert_eq!(bytes[16..21], [7, 0, 2, 1, 200]);
    assert_eq!(bytes[24..28], [b'z', 0, 0, 0]);
    assert_eq!(Mixed::read_from(&bytes), Some(value));
}
