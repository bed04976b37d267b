//! Conditions on the lengths of vectors hold at the sender, whatever the elements are, and what comes is looked at by its
//! receiver, as the kernel does not judge them.

use sing_contract::conditions::judged;
use sing_sdk::rt::{Text, Vector};
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
