//! The layout of stack frames: compiled code keeps frame pointers, each of which points to the one
//! above it.

/// Offset of the return address from the address in the frame pointer.
pub const RETURN: u64 = 8;
/// The least size of a frame from there: the saved frame pointer and the return address.
pub const SIZE: u64 = 16;

/// Returns the stack pointer with which a function that never returns can be entered on the stack
/// that ends at `top`: as after a call.
#[must_use]
pub const fn entry(top: u64) -> u64 {
    ((top - 64) & !15) - 8
}
