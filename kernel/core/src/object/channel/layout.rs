//! The records of channels, for a debugger ([`crate::ground::layout`]).

use super::{CHANNELS, Channel, End, Inner};
use crate::ground::layout::{Layout, Place};
use core::mem::offset_of;
use sing_arch::lock::SpinLock;

const ENDS: usize = offset_of!(Channel, inner) + SpinLock::<Inner>::VALUE + offset_of!(Inner, ends);

/// Channels.
pub(crate) static CHANNELS_LAYOUT: Layout<Channel, 6> = Layout::new(
    &CHANNELS,
    [
        // The importing end's, and the bytes from there to the exporting end's.
        Place::new("member", offset_of!(Channel, members)),
        Place::new("member.bytes", size_of::<crate::object::set::Member>()),
        Place::new("end", ENDS),
        Place::new("end.bytes", size_of::<End>()),
        Place::new("end.receiver", offset_of!(End, receiver)),
        Place::new("end.waiters", offset_of!(End, waiters)),
    ],
);
