//! The layout of an entry that inlined accesses read ([`sing_abi::xheap`]): of a thread's table of
//! allocations, and of a SIP's table of windows on registers.
//!
//! Invariant: a slot has the layout that the compiler knows, whichever types its words have.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64};
use sing_abi::xheap::{ENTRY_ALLOC, ENTRY_BASE, ENTRY_KEY, ENTRY_LEN, ENTRY_SIZE, ENTRY_WLEN};

/// An entry as compiled code reads it, with what only its table uses behind it. Words that others
/// read while they change are atomic.
#[repr(C, align(16))]
pub(crate) struct Slot<Address, Word, Own> {
    /// Address of the first byte.
    pub(crate) base: Address,
    /// Bytes that may be read, and written.
    pub(crate) len: Word,
    pub(crate) wlen: Word,
    /// The handle that selects the entry; 0 for none.
    pub(crate) key: Word,
    /// What the kernel knows it by.
    pub(crate) record: Word,
    pub(crate) own: Own,
}

const fn check<Address, Word, Own>() {
    assert!(size_of::<Slot<Address, Word, Own>>() == ENTRY_SIZE as usize);
    assert!(offset_of!(Slot<Address, Word, Own>, base) == ENTRY_BASE as usize);
    assert!(offset_of!(Slot<Address, Word, Own>, len) == ENTRY_LEN as usize);
    assert!(offset_of!(Slot<Address, Word, Own>, wlen) == ENTRY_WLEN as usize);
    assert!(offset_of!(Slot<Address, Word, Own>, key) == ENTRY_KEY as usize);
    assert!(offset_of!(Slot<Address, Word, Own>, record) == ENTRY_ALLOC as usize);
}

const _: () = {
    check::<u64, u32, [u32; 2]>();
    check::<AtomicU64, AtomicU32, ()>();
};
