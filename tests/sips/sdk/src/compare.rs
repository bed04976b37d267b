//! Slices are compared by the SDK's own `memcmp` and `bcmp`: whatever their lengths and addresses,
//! the first byte that differs decides.

use crate::{Check, Test};
use core::cmp::Ordering;
use core::hint::black_box;
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[("slices of all lengths and places are compared", compare)];

/// Longer than some words and what may be left beside them.
const MOST: usize = 70;

fn compare() -> Check {
    let bytes: Vec<u8> = (0..MOST + 8).map(|at| at as u8 ^ 0x80).collect();
    for len in 0..=MOST {
        for (from, to) in (0..8).flat_map(|from| (0..8).map(move |to| (from, to))) {
            let a = black_box(&bytes[from..from + len]);
            let mut room = vec![0; to];
            room.extend(a);
            if !agrees(a, black_box(&room[to..]), Ordering::Equal) {
                return Ok(false);
            }
            for at in 0..len {
                let byte = room[to + at];
                room[to + at] = byte.wrapping_add(0x7f);
                let expected = byte.cmp(&room[to + at]);
                // The last byte says the opposite, unless it is the one.
                if at + 1 < len {
                    room[to + len - 1] = if expected.is_lt() { 0 } else { 0xff };
                }
                if !agrees(a, black_box(&room[to..]), expected) {
                    return Ok(false);
                }
                room[to..].copy_from_slice(a);
            }
        }
    }
    Ok(true)
}

/// Whether the comparisons of these, for order and for equality, say so.
fn agrees(a: &[u8], b: &[u8], expected: Ordering) -> bool {
    let reverse = (b.cmp(a), b == a);
    (a.cmp(b), a == b) == (expected, expected.is_eq())
        && reverse == (expected.reverse(), expected.is_eq())
}
