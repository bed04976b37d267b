//! W3C Trace Context: how a request says within what it is made (`traceparent`), and the numbers of
//! traces and spans.

use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};

/// Within what a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The trace.
    pub trace: u128,
    /// The span that the request is a part of.
    pub span: u64,
    /// Whether whoever has made the request records it.
    pub sampled: bool,
}

/// The digits of a number, in lower case and no others.
fn hex(text: &str) -> Option<u128> {
    let plain = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is = text.bytes().all(plain);
    is.then(|| u128::from_str_radix(text, 16).ok())?
}

impl Context {
    /// Reads a `traceparent`; `None` for one that counts as not there: what does not parse, or has
    /// zeros. Of a later version what version 00 has is taken.
    #[must_use]
    pub fn read(text: &str) -> Option<Context> {
        const LENGTH: usize = 55;
        let version = hex(text.get(..2)?)?;
        let (now, later) = text.split_at_checked(LENGTH)?;
        let good = match version {
            0xff => false,
            0 => later.is_empty(),
            _ => later.is_empty() || later.starts_with('-'),
        };
        let mut parts = now.split('-');
        let (_, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none();
        let lengths = (trace.len(), span.len(), flags.len()) == (32, 16, 2);
        let (trace, span, flags) = (hex(trace)?, hex(span)? as u64, hex(flags)?);
        let is = good && whole && lengths && trace != 0 && span != 0;
        is.then_some(Context {
            trace,
            span,
            sampled: flags & 1 != 0,
        })
    }

    /// As a `traceparent` of version 00.
    #[must_use]
    pub fn show(&self) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }
}

/// Makes numbers: no two are the same within 2^64, and none can be told from the seed's owner's
/// other numbers without the seed.
#[derive(Debug)]
pub struct Numbers(AtomicU64);

impl Numbers {
    /// From a seed, which should be random.
    #[must_use]
    pub fn new(seed: u64) -> Numbers {
        Numbers(AtomicU64::new(seed))
    }

    /// The next one; never 0. (The generator is SplitMix64: a counter, each value of which is mixed
    /// by a bijection.)
    #[must_use]
    pub fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        loop {
            let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            if z != 0 {
                return z;
            }
        }
    }

    /// The number of a trace.
    #[must_use]
    pub fn trace(&self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_read_and_shown() {
        let context = Context::read(GOOD);
        assert_eq!(context.map(|c| c.show()).as_deref(), Some(GOOD));
        assert_eq!(context.map(|c| c.sampled), Some(true));
        let not = GOOD.replace("-01", "-02");
        assert_eq!(Context::read(&not).map(|c| c.sampled), Some(false));
        // Of a later version, with more behind it.
        let later = format!("{}-more", GOOD.replacen("00", "cc", 1));
        assert_eq!(Context::read(&later), context);
    }

    #[test]
    fn what_is_no_context_counts_as_not_there() {
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Context::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_differ_and_are_never_zero() {
        // The state before the step whose value is mixed to 0.
        let numbers = Numbers::new(0u64.wrapping_sub(0x9e37_79b9_7f4a_7c15));
        assert_ne!(numbers.next(), 0);
        let mut all: alloc::vec::Vec<_> = (0..10_000).map(|_| numbers.next()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 10_000);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = Context::read(&text);
        }
    }
}
