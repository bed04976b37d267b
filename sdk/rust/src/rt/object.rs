//! Names of kernel objects, waiting for them, and the closed channel.
//!
//! Invariant: a [`Handle`] is a number and owns nothing; the types made of one do.

use crate::Error;
use core::fmt;

/// The name of a kernel object, as the kernel gave it. A copy of a name owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Handle(u32);

impl Handle {
    /// No object.
    pub const NONE: Handle = Handle(0);

    /// The handle with this number.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Handle {
        Handle(raw)
    }

    /// Its number.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// The channel is closed: the other side is gone and no message is left to receive. A receive also
/// answers so to a message that breaks its own contract's promises (a number that is no value of
/// its enum, a violated `requires`): the receiver has then closed the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed by the other side")
    }
}

impl core::error::Error for Closed {}

impl From<Closed> for Error {
    fn from(_: Closed) -> Error {
        Error::Closed
    }
}

/// Something that a thread can wait for: `wait_any` takes its handle and does not consume it.
pub trait Waitable {
    /// Its handle, which stays the owner's.
    fn handle(&self) -> Handle;

    /// Gives back what a wait for it has taken, if the waiter does something else instead.
    fn give_back(&self) {}
}
