//! Conditions on the lengths of vectors hold at the sender, whatever the elements are, and what comes is looked at by its
//! receiver, as the kernel does not judge them.

use sing_contract::conditions::judged;
use sing_sdk::rt::{Exchangeable, Record, Text, Vector};
use std::panic::{AssertUnwindSafe, catch_unwind};

sing_sdk::contract!("tests/lengths.contract");

fn bytes(len: usize) -> Vector<u8> {
    Vector::from_bytes(&vec![7; len]).unwrap()
}

fn parcel(pairs: i32, wanted: u32) -> Parcel {
    let pairs = (0..pairs).map(|x| Pair { x, y: -x });
    Parcel {
        pairs: Vector::from_elements(pairs.collect::<Vec<_>>()).unwrap(),
        wanted,
    }
}

#[test]
fn lengths_count_elements_and_bytes_of_texts() {
    for (len, offset, count, holds) in [
        (8, 3, 5, true),
        (8, 0, 8, true),
        (8, 3, 6, false),
        (8, u32::MAX, 9, false),
        (1, 0, 1, true),
    ] {
        let is = Lengths::may_carry_read(&bytes(len), offset, count);
        assert_eq!(is, holds, "{len} {offset} {count}");
    }
    let of = |text: &str| Lengths::may_carry_name(&Text::new(text).unwrap());
    assert!(of("a") && of("12345678") && of("\u{e4}\u{e4}\u{e4}\u{e4}"));
    // A text without characters has a block like every other, but no length.
    assert!(Text::new("").unwrap().is_empty() && !of(""));
    assert!(!of("123456789") && !of("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}"));
    assert!(Lengths::may_carry_send(&parcel(3, 3)));
    assert!(!Lengths::may_carry_send(&parcel(3, 24)));
}

#[test]
fn a_send_that_breaks_one_is_stopped() {
    let (imp, exp) = Lengths::new_channel().unwrap();
    let sent = imp.send_read(bytes(8), 3, 5);
    let Lengths::exp::Start::Read(buffer, 3, 5, asked) = exp.recv() else {
        panic!("the message that was sent");
    };
    assert_eq!(buffer.len(), 8);
    drop((sent, asked));
    let (imp, exp) = Lengths::new_channel().unwrap();
    let broken = catch_unwind(AssertUnwindSafe(|| imp.send_read(bytes(8), 3, 6)));
    assert!(broken.is_err());
    drop(exp);
}

/// What is absent takes no block: its word is 0.
#[test]
fn a_vector_without_elements_needs_no_block() {
    let mut words = [7];
    None::<Vector<u8>>.into_words(&mut words);
    assert_eq!(words, [0]);
    assert!(Vector::<u8>::unless_empty(&[]).unwrap().is_none());
    let some = Vector::unless_empty(&[1u16, 2]).unwrap().unwrap();
    assert_eq!(some.iter().collect::<Vec<_>>(), [1, 2]);

    let part = |buffer: &[u8], offset, count| {
        Lengths::may_carry_part(&Vector::unless_empty(buffer).unwrap(), offset, count)
    };
    assert!(part(&[], 0, 0) && part(&[1, 2], 1, 1) && part(&[1], 1, 0));
    assert!(!part(&[], 0, 1) && !part(&[], 1, 0) && !part(&[1, 2], 1, 2));
    let text = |text| Some(Text::new(text).unwrap());
    let pairs = |count| Vector::unless_empty(&vec![Pair { x: 1, y: 2 }; count]).unwrap();
    let one = || Some(Record::new(Pair { x: 3, y: 4 }).unwrap());
    assert!(Lengths::may_carry_named(&None, &None, &None));
    assert!(Lengths::may_carry_named(&text("a"), &pairs(2), &one()));
    assert!(!Lengths::may_carry_named(&text(""), &None, &None));
    assert!(!Lengths::may_carry_named(&None, &None, &one()));
    assert!(!Lengths::may_carry_named(&None, &pairs(3), &None));
}

#[test]
fn what_is_absent_arrives_as_such() {
    let mock = Lengths::Mock::new()
        .on_part(|buffer, _, count, next| {
            let left = buffer.filter(|b| b.len() as u32 > count);
            next.send_got(left, count)
        })
        .on_named(|_, _, _, next| next.send_done());
    let (imp, came) = mock.channel();
    let (left, count, imp) = imp.send_part(None, 0, 0).recv_got().unwrap();
    assert!(left.is_none() && count == 0);
    let (left, _, imp) = imp.send_part(Some(bytes(2)), 0, 1).recv_got().unwrap();
    assert_eq!(left.map(|v| v.to_vec()), Some(vec![7, 7]));
    let named = imp.send_named(Some(Text::new("x").unwrap()), None, None);
    drop(named.recv_done().unwrap());
    assert_eq!(
        came.messages(),
        [
            "Part(None, 0, 0)",
            "Part([7, 7], 0, 1)",
            "Named(\"x\", None, None)"
        ]
    );
}

#[test]
fn the_kernel_leaves_them_to_the_receiver() {
    let text = include_str!("lengths.contract");
    let contracts = sing_contract::load(text).unwrap();
    let contract = contracts.model.contract("Lengths").unwrap();
    for message in contract.messages.iter().filter(|m| !m.requires.is_empty()) {
        let judged = judged(message, &contracts.model);
        assert!(judged.requires.iter().all(|is| !is), "{}", message.name);
        assert!(!judged.is_all());
    }
}
