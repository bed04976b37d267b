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
/// its enum, a violated `requires`) or for which the receiver has no room ([`NoRoom`]): the receiver
/// has then closed the channel.
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

/// The process has no room for what the next message at this endpoint moves. The message stays in
/// the queue, and the endpoint is as it was.
#[derive(PartialEq, Eq, Debug)]
pub struct NoRoom<E>(pub E);

impl<E> fmt::Display for NoRoom<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no room for what the message brings; it waits until there is some")
    }
}

impl<E: fmt::Debug> core::error::Error for NoRoom<E> {}

impl<E> From<NoRoom<E>> for Error {
    fn from(_: NoRoom<E>) -> Error {
        Error::NoResources
    }
}

/// Whether a receive has answered that there is no room.
#[doc(hidden)]
#[must_use]
#[inline]
pub const fn is_no_room(answer: i32) -> bool {
    answer == sing_abi::status::NO_RESOURCES
}

/// Something that a thread can wait for: `wait_any` takes its handle and does not consume it.
pub trait Waitable {
    /// Its handle, which stays the owner's.
    fn handle(&self) -> Handle;

    /// Gives back what a wait for it has taken, if the waiter does something else instead.
    fn give_back(&self) {}
}
