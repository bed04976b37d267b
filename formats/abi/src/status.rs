//! Result codes of kernel calls: zero or more is success, negative is a reason.
//!
//! A condition that a correct program can meet comes back as a status; one that only a broken or
//! hostile program causes (a forged handle, a message out of turn, a pointer outside its memory)
//! ends the SIP with a `trap::Trap`.

/// Success of a call without a result of its own.
pub const OK: i32 = 0;
/// The other side has closed the channel, and no message is left to receive.
pub const CLOSED: i32 = -1;
/// The time-out passed first.
pub const TIMEOUT: i32 = -2;
/// Memory, handles or another budget is spent.
pub const NO_RESOURCES: i32 = -3;
/// No such name, image or object.
pub const NOT_FOUND: i32 = -4;
/// The buffer is too small; nothing was lost, call again with a larger one.
pub const TOO_SMALL: i32 = -5;
/// The object is not in a state that allows the call.
pub const BAD_STATE: i32 = -6;
/// An argument is out of range.
pub const BAD_ARGUMENT: i32 = -7;
/// Nothing is ready; the call would have had to wait.
pub const WOULD_BLOCK: i32 = -8;
/// The SIP has no privilege for this.
pub const NOT_PERMITTED: i32 = -9;
/// The process has as many ancestors as there may be: it can make no child.
pub const TOO_DEEP: i32 = -10;
/// Another process holds a thing that has one holder at a time.
pub const HELD: i32 = -11;

/// Describes the status in words.
#[must_use]
pub fn describe(status: i32) -> &'static str {
    match status {
        CLOSED => "channel closed by the other side",
        TIMEOUT => "timed out",
        NO_RESOURCES => "out of memory or handles",
        NOT_FOUND => "not found",
        TOO_SMALL => "buffer too small",
        BAD_STATE => "not possible in this state",
        BAD_ARGUMENT => "argument out of range",
        WOULD_BLOCK => "nothing there yet",
        NOT_PERMITTED => "not permitted",
        TOO_DEEP => "too many processes above this one",
        HELD => "held by somebody else",
        s if s >= 0 => "success",
        _ => "unknown status",
    }
}

/// A time-out that never passes, for calls that take one in nanoseconds.
pub const FOREVER: i64 = -1;
