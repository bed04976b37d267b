//! The suite's names of traps.

use sing_abi::trap::Trap;

/// The words that the suite may use for a trap.
fn words(trap: Trap) -> &'static [&'static str] {
    match trap {
        Trap::Unreachable => &["unreachable"],
        Trap::MemoryOutOfBounds => &["out of bounds memory access"],
        // An indirect call beyond the table and an instruction on the table are the same reason
        // here.
        Trap::TableOutOfBounds => &["out of bounds table access", "undefined element"],
        Trap::NullFunction => &["uninitialized element", "null function reference"],
        Trap::NullReference => &["null reference"],
        Trap::BadSignature => &["indirect call type mismatch"],
        Trap::DivisionByZero => &["integer divide by zero"],
        Trap::IntegerOverflow => &["integer overflow"],
        Trap::BadConversion => &["invalid conversion to integer"],
        Trap::StackOverflow => &["call stack exhausted"],
        Trap::Unaligned => &["unaligned atomic"],
        _ => &[],
    }
}

/// Whether the suite's message means this trap: it has the suite's words at its beginning, or is a part of them,
/// as in scripts of others.
pub fn matches(trap: Trap, message: &str) -> bool {
    let message = message.trim();
    !message.is_empty()
        && words(trap)
            .iter()
            .any(|w| w.contains(message) || message.starts_with(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_match_by_their_beginning() {
        assert!(matches(Trap::Unreachable, "unreachable executed"));
        assert!(matches(Trap::NullFunction, "uninitialized element 7"));
        assert!(matches(Trap::NullFunction, "uninitialized"));
        assert!(matches(Trap::DivisionByZero, "divide by zero"));
        assert!(matches(Trap::TableOutOfBounds, "undefined element"));
        assert!(!matches(
            Trap::TableOutOfBounds,
            "out of bounds memory access"
        ));
        assert!(!matches(
            Trap::MemoryOutOfBounds,
            "out of bounds table access"
        ));
        assert!(!matches(Trap::DivisionByZero, "integer overflow"));
        assert!(!matches(Trap::Unreachable, ""));
        assert!(!matches(Trap::BadHandle, "unreachable"));
    }
}
