//! How frames lie on a stack: compiled code keeps frame pointers, each of which points to the one above it.

/// Where the return address stands, from the address that the frame pointer holds.
pub const RETURN: u64 = 8;
/// Bytes from there that a frame takes at the least: the saved frame pointer and the return address.
pub const SIZE: u64 = 16;

/// The stack pointer with which a function that never returns can be entered on the stack that ends at `top`: as a call
/// would have left it.
#[must_use]
pub const fn entry(top: u64) -> u64 {
    ((top - 64) & !15) - 8
}
