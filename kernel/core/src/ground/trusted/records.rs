//! Memory for the kernel's stores of records.

use super::Reservation;
use crate::ground::machine::{hal, noted};
use sing_arch::slab::{Ground, Slab};

/// The machine's memory. Addresses of records are never used for anything else.
pub(crate) struct Records;

// SAFETY: a HAL's `reserve` gives an address to one owner, which is forgotten here, so that it is
// never released; if its `commit` has returned `true`, the addresses are readable and writable.
unsafe impl Ground for Records {
    fn reserve(&self, bytes: u64) -> Option<u64> {
        hal().reserve(bytes).map(|addresses| addresses.at())
    }

    fn commit(&self, at: u64, bytes: u64) -> bool {
        // SAFETY: the store passes parts of `reserve`'s result, whose owner was forgotten; this one
        // is, too.
        let mut addresses = unsafe { Reservation::new(at, bytes) };
        noted(hal().commit(addresses.part(0, bytes)))
    }

    fn blank(&self, at: u64, bytes: u64) {
        // SAFETY: as above.
        let mut addresses = unsafe { Reservation::new(at, bytes) };
        hal().blank(addresses.part(0, bytes));
    }
}

/// A store whose free records' memory can be given back to the machine.
pub(crate) trait Store: Sync {
    /// Whether there is much of it; or, if there is time to be `thorough`, any.
    fn has_surplus(&self, thorough: bool) -> bool;

    /// Gives some of it back. Returns false if there is too little.
    fn trim(&self, thorough: bool) -> bool;
}

impl<T: Default + Sync> Store for Slab<T> {
    fn has_surplus(&self, thorough: bool) -> bool {
        Slab::has_surplus(self, thorough)
    }

    fn trim(&self, thorough: bool) -> bool {
        // SAFETY: a record is given back to its store when it has no references (guideline
        // `record-last`) except in code that first checks whether the record is still the one
        // meant: a set's number, a channel's contract, the list of waiters. Zeros fail these
        // checks.
        unsafe { Slab::trim(self, thorough) }
    }
}
