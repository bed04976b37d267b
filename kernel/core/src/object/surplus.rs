//! Memory that free records and free pieces of the exchange heap keep, given back to the machine.
//!
//! It is given back when nothing else is to be done: an object that is made anew soon finds its record's memory there. Where
//! others run all the time, it is given back a little at the ends of quanta, and more than that where the machine has refused
//! memory to somebody.
//!
//! The stores of threads, SIPs and accounts are left as they are: each record there comes with a hundred times as much
//! memory that goes back by itself.

use super::{channel, exheap, set, sync};
use crate::ground::machine;
use crate::ground::memory;
use crate::ground::trusted::Store;
use crate::mechanism::wait;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds from one thorough look to the next.
const PERIOD: u64 = 200_000_000;

/// When the last thorough look was over.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// Whether something should be given back although others could run.
pub(crate) fn is_due() -> bool {
    if machine::wants_memory() {
        return true;
    }
    let now = machine::hal().now();
    if now.saturating_sub(LOOKED.load(Relaxed)) < PERIOD {
        return false;
    }
    let due = any(|store| store.has_surplus(true));
    if !due {
        LOOKED.store(now, Relaxed);
    }
    due
}

/// Gives back some of what is not needed. `idle`: nobody else could run. False where there is nothing.
pub(crate) fn step(idle: bool) -> bool {
    let wanted = machine::wants_memory();
    let now = machine::hal().now();
    let thorough = wanted || now.saturating_sub(LOOKED.load(Relaxed)) >= PERIOD;
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
