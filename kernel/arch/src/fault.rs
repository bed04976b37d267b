//! Kinds of processor faults.

pub use crate::processor::exception_kind;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Access to an address that is not mapped, or not for this kind of access.
    Page,
    /// Undefined instruction, which is how compiled code traps.
    Undefined,
    /// Integer division error.
    Divide,
    /// Any other fault.
    Other,
}
