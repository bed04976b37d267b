//! What a processor finds wrong with an instruction.

pub use crate::processor::exception_kind;

/// What the processor found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Access to an address that is not mapped, or not for this.
    Page,
    /// Undefined instruction, which is how compiled code traps.
    Undefined,
    /// Integer division error.
    Divide,
    /// Anything else.
    Other,
}
