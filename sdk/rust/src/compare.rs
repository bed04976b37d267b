//! `memcmp` and `bcmp` for the programs: comparisons of slices and texts are calls of these.
//!
//! What Rust links by itself compares byte by byte in a module. Here it is eight bytes at a time;
//! modules may load words from any address. The symbols that Rust links are weak, so these take
//! their place, in every program: the linker exports both.
//!
//! Invariants:
//! - No byte outside of the two slices is read: they may end with the memory.
//! - Nothing here compares slices or arrays, which would be a call of the function itself.

/// The difference of the first bytes that differ, 0 if none does. The slices have one length.
#[inline]
#[cfg_attr(not(any(test, target_arch = "wasm32")), allow(dead_code))]
fn difference(a: &[u8], b: &[u8]) -> i32 {
    let (a, b) = deciding_words(a, b);
    if a == b {
        return 0;
    }
    // The first byte is the lowest one.
    let shift = (a ^ b).trailing_zeros() & !7;
    let byte = |word: u64| i32::from((word >> shift) as u8);
    byte(a) - byte(b)
}

/// A word of each slice: they differ only if the slices do, first where those differ first.
#[inline]
fn deciding_words(a: &[u8], b: &[u8]) -> (u64, u64) {
    let (Some(a_end), Some(b_end)) = (a.last_chunk(), b.last_chunk()) else {
        return (short(a), short(b));
    };
    // Not by iterators: they stay calls where programs are compiled for size.
    let (mut a, mut b) = (a, b);
    while let (Some((word, a_rest)), Some((other, b_rest))) =
        (a.split_first_chunk(), b.split_first_chunk())
    {
        let (word, other) = (u64::from_le_bytes(*word), u64::from_le_bytes(*other));
        if word != other {
            return (word, other);
        }
        (a, b) = (a_rest, b_rest);
    }
    // The last eight bytes. Those that were in a whole word already are equal.
    (u64::from_le_bytes(*a_end), u64::from_le_bytes(*b_end))
}

/// Up to seven bytes as a word. Some may be in it twice; their first places are in order.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << 32;
    }
    let (Some(first), Some(middle), Some(last)) =
        (bytes.first(), bytes.get(bytes.len() / 2), bytes.last())
    else {
        return 0;
    };
    u64::from(*first) | u64::from(*middle) << 8 | u64::from(*last) << 16
}

#[cfg(target_arch = "wasm32")]
mod symbols {
    use super::{deciding_words, difference};
    use core::slice::from_raw_parts;

    // SAFETY: this is C's function of this name.
    #[unsafe(no_mangle)]
    extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
        slices(a, b, len).map_or(0, |(a, b)| difference(a, b))
    }

    // A function of its own, not a call of the other one: most comparisons are for equality.
    // SAFETY: this is the function of this name that compilers expect beside C's.
    #[unsafe(no_mangle)]
    extern "C" fn bcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
        let differ = |(a, b)| {
            let (a, b) = deciding_words(a, b);
            a != b
        };
        slices(a, b, len).is_some_and(differ).into()
    }

    /// What is to be compared, if there is anything.
    #[inline]
    fn slices<'b>(a: *const u8, b: *const u8, len: usize) -> Option<(&'b [u8], &'b [u8])> {
        if len == 0 {
            return None;
        }
        // SAFETY: whoever calls these functions lends so many bytes behind each pointer, for the
        // time of the call. Only pointers to no bytes may be null.
        Some(unsafe { (from_raw_parts(a, len), from_raw_parts(b, len)) })
    }
}

#[cfg(test)]
mod tests {
    use super::difference;
    use core::cmp::Ordering;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn ordering(a: &[u8], b: &[u8]) -> Ordering {
        difference(a, b).cmp(&0)
    }

    #[test]
    fn one_byte_decides_wherever_it_is() {
        for len in 0..=70 {
            for offset in 0..8 {
                let a: Vec<u8> = (0..len + offset).map(|at| at as u8 ^ 0x80).collect();
                let a = &a[offset..];
                let same = a.to_vec();
                assert_eq!(difference(a, &same), 0);
                for at in 0..len {
                    let mut b = a.to_vec();
                    b[at] = b[at].wrapping_add(0x7f);
                    // What comes behind says the opposite, and counts for nothing.
                    let later = if a[at] < b[at] { 0 } else { 0xff };
                    b[at + 1..].fill(later);
                    assert_eq!(difference(a, &b), i32::from(a[at]) - i32::from(b[at]));
                    assert_eq!(difference(&b, a), i32::from(b[at]) - i32::from(a[at]));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn slices_compare_as_rust_compares_them(
            bytes in proptest::collection::vec(0u8..4, 0..160),
            (from, to, len) in (0usize..80, 0usize..80, 0usize..=70),
        ) {
            let part = |at: usize| {
                let start = at.min(bytes.len());
                &bytes[start..(start + len).min(bytes.len())]
            };
            let (a, b) = (part(from), part(to));
            let len = a.len().min(b.len());
            let (a, b) = (&a[..len], &b[..len]);
            prop_assert_eq!(ordering(a, b), a.cmp(b));
        }
    }
}
