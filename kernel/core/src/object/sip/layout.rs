//! The records of SIPs, for a debugger ([`crate::ground::layout`]).

use super::{SIPS, Sip};
use crate::ground::image::Installed;
use crate::ground::layout::{Layout, Place};
use crate::ground::trusted::LinearMemory;
use core::mem::offset_of;
use sing_arch::lock::SpinLock;

const MEMORY: usize = offset_of!(Sip, memory);

/// SIPs.
pub(crate) static PROCESSES_LAYOUT: Layout<Sip, 8> = Layout::new(
    &SIPS,
    [
        Place::new("id", offset_of!(Sip, id)),
        Place::new("parent", offset_of!(Sip, parent)),
        Place::new("alive", offset_of!(Sip, alive)),
        Place::new("halted", offset_of!(Sip, halted)),
        Place::new(
            "image",
            offset_of!(Sip, image) + SpinLock::<Option<&Installed>>::VALUE,
        ),
        // Behind the address that `image` names.
        Place::new("image.told", Installed::TOLD),
        Place::new("memory", MEMORY + LinearMemory::BASE),
        Place::new("memory.bytes", MEMORY + LinearMemory::COMMITTED),
    ],
);
