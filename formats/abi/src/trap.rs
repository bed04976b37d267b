//! Reasons of traps: the codes that the compiler records for each instruction that can trap.

use core::fmt;

/// A reason for which compiled code, or a trusted run-time routine on its behalf, ends a SIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Trap {
    /// An `unreachable` instruction.
    Unreachable = 1,
    /// A load or store outside the linear memory.
    MemoryOutOfBounds = 2,
    /// A table access outside the table.
    TableOutOfBounds = 3,
    /// Call of a null reference, as `call_indirect` finds it in a null element.
    NullFunction = 4,
    /// `call_indirect` through a function of another type.
    BadSignature = 5,
    /// Integer division or remainder by zero.
    DivisionByZero = 6,
    /// Integer division or conversion whose result does not fit.
    IntegerOverflow = 7,
    /// Conversion of a NaN to an integer.
    BadConversion = 8,
    /// The stack's limit was reached.
    StackOverflow = 9,
    /// A handle that the thread does not own, of the wrong kind, stale or forged.
    BadHandle = 10,
    /// An exchange-heap access outside the allocation, or a write to a read-only one.
    BlockOutOfBounds = 11,
    /// A page was needed and the SIP's memory budget is spent.
    OutOfMemory = 12,
    /// A message that the contract does not allow in this state.
    ProtocolViolation = 13,
    /// An argument of a kernel call that no correct program passes.
    BadArgument = 14,
    /// An atomic access to an address that is not a multiple of its size.
    Unaligned = 15,
    /// A call that the SIP's manifest grants no privilege for.
    NotPermitted = 16,
    /// A message whose arguments are not what its contract requires.
    BrokenPromise = 17,
    /// A null reference where none may be.
    NullReference = 18,
    /// An access outside the registers of a device, or not at a multiple of its width.
    RegisterOutOfBounds = 19,
    /// An exception that no function on the thread's stack catches.
    UncaughtException = 20,
    /// More exceptions that the program holds by reference than its threads have room for.
    TooManyExceptions = 21,
}

impl Trap {
    /// All reasons, in the order of their codes.
    pub const ALL: [Trap; 21] = [
        Trap::Unreachable,
        Trap::MemoryOutOfBounds,
        Trap::TableOutOfBounds,
        Trap::NullFunction,
        Trap::BadSignature,
        Trap::DivisionByZero,
        Trap::IntegerOverflow,
        Trap::BadConversion,
        Trap::StackOverflow,
        Trap::BadHandle,
        Trap::BlockOutOfBounds,
        Trap::OutOfMemory,
        Trap::ProtocolViolation,
        Trap::BadArgument,
        Trap::Unaligned,
        Trap::NotPermitted,
        Trap::BrokenPromise,
        Trap::NullReference,
        Trap::RegisterOutOfBounds,
        Trap::UncaughtException,
        Trap::TooManyExceptions,
    ];

    /// The reason with this code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Trap> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The code of this reason, from 1.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The reason in words, as a person reads it in a crash report.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Trap::Unreachable => "unreachable code was reached",
            Trap::MemoryOutOfBounds => "out-of-bounds memory access",
            Trap::TableOutOfBounds => "out-of-bounds table access",
            Trap::NullFunction => "call of a null function reference",
            Trap::BadSignature => "indirect call of a function of another type",
            Trap::DivisionByZero => "integer division by zero",
            Trap::IntegerOverflow => "integer overflow",
            Trap::BadConversion => "conversion of a NaN to an integer",
            Trap::StackOverflow => "stack overflow",
            Trap::BadHandle => "wrong use of a handle",
            Trap::BlockOutOfBounds => "out-of-bounds access to an exchange-heap block",
            Trap::OutOfMemory => "memory budget exceeded",
            Trap::ProtocolViolation => "message out of turn",
            Trap::BadArgument => "bad argument to a kernel call",
            Trap::Unaligned => "unaligned atomic access",
            Trap::NotPermitted => "call without the privilege for it",
            Trap::BrokenPromise => "message that breaks what its contract requires",
            Trap::NullReference => "null reference",
            Trap::RegisterOutOfBounds => "out-of-bounds access to a device's registers",
            Trap::UncaughtException => "uncaught exception",
            Trap::TooManyExceptions => "too many exceptions held by reference",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for t in Trap::ALL {
            assert_eq!(Trap::from_code(t.code()), Some(t));
        }
        assert_eq!(Trap::from_code(0), None);
        assert_eq!(Trap::from_code(22), None);
    }
}
