//! The records of sets, for a debugger ([`crate::ground::layout`]).

use super::{Inner, SETS, Set};
use crate::ground::layout::{Layout, Place};
use core::mem::offset_of;
use sing_arch::lock::SpinLock;

const INNER: usize = offset_of!(Set, inner) + SpinLock::<Inner>::VALUE;

/// Sets.
pub(crate) static SETS_LAYOUT: Layout<Set, 2> = Layout::new(
    &SETS,
    [
        Place::new("waiter", INNER + offset_of!(Inner, waiter)),
        Place::new("borrows", offset_of!(Set, borrows)),
    ],
);
