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

/// Refuses, while a program is compiled, a behavior that names a message which its endpoint never
/// sends or receives. Each of `said` is a message, whether the importing side sends it, and whether
/// the exporting one does.
#[track_caller]
pub const fn says(said: &[(&str, bool, bool)], by_importer: bool, message: &str, fault: &str) {
    let mut i = 0;
    while i < said.len() {
        let (name, importer, exporter) = said[i];
        if same(name, message) && (by_importer && importer || !by_importer && exporter) {
            return;
        }
        i += 1;
    }
    panic!("{}", fault)
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
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
