//! Helpers of generated code: conditions of messages, pieces of text in custom sections.
//!
//! Invariant: a condition that does not hold ends the program, or its compilation, with the
//! condition's own text.

/// Ends a program that breaks the `requires` of a message that it sends.
#[cold]
pub fn violated(requires: &str) -> ! {
    panic!("{requires}")
}

/// Refuses, while the sender is compiled, constants that do not keep what a message requires. A
/// function and not an `assert!` in what a contract generates: the refusal then points at the
/// contract, and not into the sources of `core`.
#[track_caller]
pub const fn keeps(holds: bool, requires: &str) {
    if !holds {
        panic!("{}", requires)
    }
}

/// A text with a zero behind it: how pieces of text are kept apart in a custom section.
#[must_use]
pub const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut i = 0;
    while i < text.len() {
        bytes[i] = text.as_bytes()[i];
        i += 1;
    }
    bytes
}
