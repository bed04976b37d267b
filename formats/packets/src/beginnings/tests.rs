//! Connections through cookies, as the two sides see them.

use super::*;
use alloc::vec;
use core::net::{Ipv4Addr, Ipv6Addr};

const FAR: [u8; 4] = [203, 0, 113, 9];
const NEAR: [u8; 4] = [10, 0, 0, 2];

/// A frame from the far machine to port 80, or back, with its sums.
fn frame(back: bool, flags: u8, numbers: [u32; 2], data: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend(FAR);
    frame.extend(NEAR);
    frame.extend([0x1f, 0x90, 0, 80]);
    frame.extend([0; 8]);
    frame.extend([0x50, 0, 0xff, 0xff, 0, 0, 0, 0]);
    let empty = Segment::find(&frame).unwrap();
    // The heads are those of a frame, and the segment is put behind them.
    let mut other = empty.other(&frame, back, flags, numbers, 1460);
    other.extend(data);
    let length = other.len() as u16 - 14;
    other[16..18].copy_from_slice(&length.to_be_bytes());
    let segment = Segment::find(&other).unwrap();
    segment.set_number(&mut other, numbers[0]);
    other
}

fn numbers(frame: &[u8]) -> [u32; 2] {
    let segment = Segment::find(frame).unwrap();
    assert!(segment.is_sound(frame));
    [segment.number(frame), segment.wanted(frame)]
}

/// One at whose port 80 so many sockets wait.
fn listening(sockets: usize) -> Beginnings {
    let mut all = Beginnings::new([1, 2]);
    all.know(vec![IpAddr::V4(Ipv4Addr::from(NEAR))]);
    all.allow([(80, sockets)]);
    all
}

/// The answer to a beginning with this number.
fn answer(all: &mut Beginnings, begun: u32, now: u64) -> Vec<u8> {
    let mut first = frame(false, flag::SYN, [begun, 0], b"");
    match all.inward(&mut first, now) {
        Inward::Answer(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn as_many_begin_as_sockets_wait() {
    let mut all = listening(2);
    for _ in 0..2 {
        let mut first = frame(false, flag::SYN, [7, 0], b"");
        assert_eq!(all.inward(&mut first, 0), Inward::Pass);
    }
    let back = answer(&mut all, 7, 0);
    let segment = Segment::find(&back).unwrap();
    assert_eq!(segment.flags(&back), flag::SYN | flag::ACK);
    assert_eq!(numbers(&back)[1], 8);
    assert_eq!(segment.largest(&back), Some(1460));
    // Nobody listens there: the stack refuses it. Nothing was kept of any.
    let mut other = frame(false, flag::SYN, [7, 0], b"");
    all.allow([(81, 0)]);
    assert_eq!(all.inward(&mut other, 0), Inward::Pass);
    assert!(all.kept.is_empty());
}

#[test]
fn who_has_heard_the_answer_is_connected_and_no_byte_is_lost() {
    let mut all = listening(0);
    let [cookie, _] = numbers(&answer(&mut all, u32::MAX, 100));
    let mut hello = frame(false, flag::ACK, [0, cookie.wrapping_add(1)], b"hello");
    let Inward::Instead(begins) = all.inward(&mut hello, 120) else {
        panic!("not known again");
    };
    let segment = Segment::find(&begins).unwrap();
    assert_eq!(segment.flags(&begins), flag::SYN);
    assert_eq!(
        (numbers(&begins)[0], segment.largest(&begins)),
        (u32::MAX, Some(1460))
    );
    // Until the stack has answered, nothing more gets to it; a little of it is held.
    for _ in 0..HELD {
        let mut more = frame(false, flag::ACK, [5, cookie.wrapping_add(1)], b"again");
        assert_eq!(all.inward(&mut more, 120), Inward::Drop);
    }
    let mut stack = frame(true, flag::SYN | flag::ACK, [5000, 0], b"");
    assert!(!all.outward(&mut stack, 120));
    let first = all.take_ready().unwrap();
    assert_eq!(numbers(&first), [0, 5001]);
    assert!(first.ends_with(b"hello"));
    for _ in 1..HELD {
        assert_eq!(all.take_ready().map(|more| numbers(&more)), Some([5, 5001]));
    }
    assert!(!all.is_ready());
    // Both directions go on, each with the numbers that the other side knows.
    let mut said = frame(true, flag::ACK, [5001, 5], b"world");
    assert!(all.outward(&mut said, 121));
    assert_eq!(numbers(&said), [cookie.wrapping_add(1), 5]);
    let mut heard = frame(false, flag::ACK, [5, cookie.wrapping_add(6)], b"");
    assert_eq!(all.inward(&mut heard, 122), Inward::Pass);
    assert_eq!(numbers(&heard), [5, 5006]);
    // A damaged one is not mended.
    let mut damaged = frame(false, flag::ACK, [5, cookie.wrapping_add(6)], b"xyz");
    *damaged.last_mut().unwrap() ^= 1;
    let before = damaged.clone();
    assert_eq!(all.inward(&mut damaged, 122), Inward::Pass);
    assert_eq!(damaged, before);
}

#[test]
fn what_nobody_was_told_is_not_believed() {
    let mut all = listening(0);
    let [cookie, _] = numbers(&answer(&mut all, 7, 0));
    for (numbers, now) in [
        ([8, cookie], 0),
        ([8, cookie.wrapping_add(2)], 0),
        ([9, cookie.wrapping_add(1)], 0),
        // Too late.
        ([8, cookie.wrapping_add(1)], 64),
        ([8, cookie.wrapping_add(1)], 1 << 40),
    ] {
        let mut guess = frame(false, flag::ACK, numbers, b"");
        assert_eq!(
            all.inward(&mut guess, now),
            Inward::Pass,
            "{numbers:?} {now}"
        );
    }
    // Twenty thousand guesses find nothing, and nothing is kept.
    let mut draw = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let mut guess = frame(false, flag::ACK, [draw.u32(..), draw.u32(..)], b"");
        all.inward(&mut guess, 1);
    }
    assert!(all.kept.len() <= 1, "{}", all.kept.len());
}

#[test]
fn a_stack_without_a_socket_is_tried_again() {
    let mut all = listening(0);
    let [cookie, _] = numbers(&answer(&mut all, 7, 0));
    let hello = frame(false, flag::ACK, [8, cookie.wrapping_add(1)], b"hello");
    for _ in 0..2 {
        assert!(matches!(
            all.inward(&mut hello.clone(), 1),
            Inward::Instead(_)
        ));
        let mut refuses = frame(true, flag::RST | flag::ACK, [0, 8], b"");
        assert!(!all.outward(&mut refuses, 1));
        assert!(all.kept.is_empty());
    }
}

#[test]
fn a_stack_that_does_not_answer_is_given_ten_seconds() {
    let mut all = listening(0);
    for begun in [7, 70] {
        let now = u64::from(begun);
        let [cookie, _] = numbers(&answer(&mut all, begun, now));
        let ends = [begun + 1, cookie.wrapping_add(1)];
        let hello = frame(false, flag::ACK, ends, b"hello");
        let begins = all.inward(&mut hello.clone(), now);
        assert!(matches!(begins, Inward::Instead(_)));
        assert_eq!(all.inward(&mut hello.clone(), now + 9), Inward::Drop);
        // Then any frame frees what was held.
        let mut other = frame(false, flag::RST, [0, 0], b"");
        other[34] = 9;
        assert_eq!(all.inward(&mut other, now + 11), Inward::Pass);
        assert!(all.kept.is_empty());
    }
    // The same ends begin again.
    let [cookie, _] = numbers(&answer(&mut all, 9, 81));
    let mut hello = frame(false, flag::ACK, [10, cookie.wrapping_add(1)], b"hello");
    assert!(matches!(all.inward(&mut hello, 81), Inward::Instead(_)));
    let mut stack = frame(true, flag::SYN | flag::ACK, [5000, 10], b"");
    assert!(!all.outward(&mut stack, 81));
    assert!(all.take_ready().unwrap().ends_with(b"hello"));
    // What the stack says over a connection is not changed when its numbers are forgotten.
    let mut said = frame(true, flag::ACK, [5001, 15], b"world");
    let before = said.clone();
    assert!(all.outward(&mut said, 81 + IDLE));
    assert_eq!(said, before);
    // And the next beginning there counts.
    all.allow([(80, 1)]);
    let mut first = frame(false, flag::SYN, [11, 0], b"");
    assert_eq!(all.inward(&mut first, 82 + IDLE), Inward::Pass);
    answer(&mut all, 11, 82 + IDLE);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut all = listening(0);
    for port in 0..2 * MOST as u32 {
        let mut first = frame(false, flag::SYN, [7, 0], b"");
        first[34..36].copy_from_slice(&(port as u16).to_be_bytes());
        let segment = Segment::find(&first).unwrap();
        segment.set_number(&mut first, 7);
        let Inward::Answer(back) = all.inward(&mut first, 0) else {
            panic!("no answer");
        };
        let mut hello = frame(
            false,
            flag::ACK,
            [8, numbers(&back)[0].wrapping_add(1)],
            b"",
        );
        hello[34..36].copy_from_slice(&(port as u16).to_be_bytes());
        segment.set_number(&mut hello, 8);
        assert!(matches!(all.inward(&mut hello, 0), Inward::Instead(_)));
        assert!(all.kept.len() <= MOST);
    }
}

#[test]
fn no_bytes_break_it() {
    let mut draw = fastrand::Rng::with_seed(2);
    let mut all = listening(1);
    let [cookie, _] = numbers(&answer_or_first(&mut all));
    let good = [
        frame(false, flag::SYN, [7, 0], b""),
        frame(false, flag::ACK, [8, cookie.wrapping_add(1)], b"hello"),
        frame(true, flag::SYN | flag::ACK, [5000, 0], b""),
    ];
    for _ in 0..30_000 {
        let mut bytes = good[draw.usize(..good.len())].clone();
        for _ in 0..draw.usize(..4) {
            let at = draw.usize(..bytes.len());
            match draw.u8(..3) {
                0 => bytes[at] = draw.u8(..),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, draw.u8(..)),
            }
        }
        let length = bytes.len();
        match draw.bool() {
            true => drop(all.inward(&mut bytes, u64::from(draw.u8(..)))),
            false => drop(all.outward(&mut bytes, u64::from(draw.u8(..)))),
        }
        assert_eq!(bytes.len(), length);
        while let Some(frame) = all.take_ready() {
            assert!(Segment::find(&frame).is_some());
        }
    }
}

fn answer_or_first(all: &mut Beginnings) -> Vec<u8> {
    let mut first = frame(false, flag::SYN, [7, 0], b"");
    all.inward(&mut first, 0);
    answer(all, 7, 0)
}

#[test]
fn addresses_of_ipv6_are_read_and_answered() {
    let near = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
    let far = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let mut first = vec![2; 12];
    first.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64]);
    first.extend(far.octets());
    first.extend(near.octets());
    first.extend([
        0x1f,
        0x90,
        0,
        80,
        0,
        0,
        0,
        7,
        0,
        0,
        0,
        0,
        0x50,
        flag::SYN,
        1,
        0,
        0,
        0,
        0,
        0,
    ]);
    let segment = Segment::find(&first).unwrap();
    segment.set_number(&mut first, 7);
    let ends = segment.ends(&first, true);
    assert_eq!(
        (ends.far.0, ends.near),
        (IpAddr::V6(far), (IpAddr::V6(near), 80))
    );
    let mut all = Beginnings::new([1, 2]);
    all.know(vec![IpAddr::V6(near)]);
    all.allow([(80, 0)]);
    let Inward::Answer(back) = all.inward(&mut first, 0) else {
        panic!("no answer");
    };
    let segment = Segment::find(&back).unwrap();
    assert_eq!(segment.ends(&back, false), ends);
    assert_eq!((numbers(&back)[1], segment.largest(&back)), (8, Some(1440)));
}
