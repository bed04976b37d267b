//! x86-64.

pub mod entry;
pub mod frame;
pub mod switch;

use crate::fault::Kind;

/// Reads the time-stamp counter.
#[inline(always)]
#[must_use]
pub fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; it reads a counter and nothing else. The
    // PC HAL does not set CR4.TSD, and Linux leaves it clear.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Returns the kind of fault of an exception vector.
#[must_use]
pub const fn exception_kind(vector: u64) -> Kind {
    match vector {
        0 => Kind::Divide,
        6 => Kind::Undefined,
        14 => Kind::Page,
        _ => Kind::Other,
    }
}
