//! Result codes of kernel calls: zero or more is success, negative is a reason.
//!
//! What a correct program can meet comes back as a status; what only a broken or hostile one does (a forged
//! handle, a message out of turn, a pointer outside its memory) ends the SIP with a `trap::Trap`.

/// Success, where a call has nothing more to say.
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
/// An argument is out of its range.
pub const BAD_ARGUMENT: i32 = -7;
/// Nothing there now; a call that does not wait would have had to.
pub const WOULD_BLOCK: i32 = -8;
/// The SIP has no privilege for this.
pub const NOT_PERMITTED: i32 = -9;
/// There are as many processes above this one as there may be: it can make none.
pub const TOO_DEEP: i32 = -10;
/// Somebody else holds what only one can have.
pub const HELD: i32 = -11;

/// The status in words.
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

/// A wait without end, where a call takes a time-out in nanoseconds.
pub const FOREVER: i64 = -1;
