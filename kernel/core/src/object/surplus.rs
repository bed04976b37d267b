//! Returns to the machine the memory that free records and free pieces of the exchange heap occupy.
//!
//! This is done when the processor is idle, as an object that is created soon can reuse a record's
//! memory. If others run all the time, a little is returned at the ends of quanta, and more if the
//! machine has refused memory to somebody.
//!
//! The stores of threads, SIPs and accounts are left alone: each record there comes with a hundred
//! times as much memory that is returned with the object.

use super::{channel, exheap, set, sync};
use crate::ground::machine;
use crate::ground::memory;
use crate::ground::trusted::Store;
use crate::ground::trusted::variables;
use crate::mechanism::wait;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Cycles between thorough searches: some tenths of a second. The idle context asks several times for
/// each call of a host program, and the time is dearer than the counter.
const PERIOD: u64 = 500_000_000;

variables! { forget:
    /// The time-stamp counter when the last thorough search ended.
    static LOOKED: AtomicU64 = AtomicU64::new(0);
}

/// Whether memory should be returned although others could run.
pub(crate) fn is_due() -> bool {
    if machine::wants_memory() {
        return true;
    }
    let now = sing_arch::cycles();
    if now.wrapping_sub(LOOKED.load(Relaxed)) < PERIOD {
        return false;
    }
    let due = any(|store| store.has_surplus(true));
    if !due {
        LOOKED.store(now, Relaxed);
    }
    due
}

/// Returns some surplus memory. `idle`: nobody else could run. False if there is none.
pub(crate) fn step(idle: bool) -> bool {
    let wanted = machine::wants_memory();
    let now = sing_arch::cycles();
    let thorough = wanted || now.wrapping_sub(LOOKED.load(Relaxed)) >= PERIOD;
    if !idle && !thorough {
        return false;
    }
    if any(|store| store.trim(thorough)) {
        return true;
    }
    if !thorough {
        return false;
    }
    if exheap::trim() || machine::hal().trim() || wanted && memory::empty_pools() {
        return true;
    }
    LOOKED.store(now, Relaxed);
    machine::has_all_memory();
    false
}

fn any(f: impl FnMut(&'static dyn Store) -> bool) -> bool {
    let records = sync::stores().into_iter().chain(set::stores());
    let records = records.chain(channel::stores()).chain(wait::stores());
    records.chain(exheap::stores()).any(f)
}
