//! The kernel's entry points: the functions behind `sing_abi::entry`, one table of them.
//!
//! Each is an `extern "sysv64"` function that compiled code calls on the caller's own stack. It checks every
//! argument, never keeps a pointer into the SIP's memory, and owns nothing while it waits. What no correct
//! program does ends the SIP ([`finish`]); everything else comes back as a status.

mod channels;
mod exchange;
mod processes;
mod routines;
mod select;
mod sync;
mod system;
mod threads;
mod time;

pub(crate) use sync::cost_of;

use crate::cpu;
use crate::exheap;
use crate::interrupt;
use crate::sip::{self, Sip};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_abi::entry::{self, COUNT};
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

static TABLE: AtomicU64 = AtomicU64::new(0);

/// Address of the table, made at its first use.
pub(crate) fn table() -> u64 {
    let at = TABLE.load(Relaxed);
    if at != 0 {
        return at;
    }
    let table: &'static [usize; COUNT] = Box::leak(Box::new(build()));
    let at = core::ptr::from_ref(table) as u64;
    TABLE.store(at, Relaxed);
    at
}

fn build() -> [usize; COUNT] {
    let mut table = [missing as extern "sysv64" fn(CtxRef) -> ! as usize; COUNT];
    channels::fill(&mut table);
    exchange::fill(&mut table);
    processes::fill(&mut table);
    routines::fill(&mut table);
    select::fill(&mut table);
    sync::fill(&mut table);
    system::fill(&mut table);
    threads::fill(&mut table);
    time::fill(&mut table);
    table
}

/// What stands behind entries that the compiler expands in place.
extern "sysv64" fn missing(_: CtxRef) -> ! {
    sip::trap(Trap::BadArgument)
}

/// The caller's SIP.
#[inline(always)]
fn caller() -> &'static Sip {
    cpu::current().sip()
}

/// Leaves an entry: ends the SIP where the call trapped, acts on interrupts that came meanwhile.
#[inline(always)]
fn finish<R>(result: Result<R, Trap>) -> R {
    let value = match result {
        Ok(v) => v,
        Err(t) => sip::trap(t),
    };
    if interrupt::pending() {
        return after_interrupts(value);
    }
    value
}

/// Acts on interrupts, and goes back with what the entry came to: called last, and never unwound through, so that the
/// entry has nothing to keep over a call.
#[cold]
#[inline(never)]
extern "sysv64" fn after_interrupts<R>(value: R) -> R {
    interrupt::take_over();
    value
}

/// What is given back between two looks for others who could run.
const STEPS: u32 = 256;

/// Acts on interrupts between two steps of what can take long. Nothing may be held: the thread may never come back.
#[inline(always)]
fn let_others_run() {
    if interrupt::pending() {
        interrupt::take_over();
    }
}

/// Gives back all that the caller has given up.
fn work_off() {
    let sip = caller();
    while !sip.graves.lock().is_empty() && exheap::dig(sip, STEPS) {
        let_others_run();
    }
}

/// Copies bytes out of the caller's memory.
fn bytes(at: u32, len: u32) -> Result<alloc::vec::Vec<u8>, Trap> {
    let memory = caller().memory(at, u64::from(len))?;
    let mut out = alloc::vec![0; len as usize];
    memory.read(at, &mut out)?;
    Ok(out)
}

/// Copies `data` to `out`, which has room for `max` bytes: its length, or `TOO_SMALL`. `max` of 0 asks for the
/// length alone.
fn put(data: &[u8], out: u32, max: u32) -> Result<i32, Trap> {
    let Ok(len) = i32::try_from(data.len()) else {
        return Ok(sing_abi::status::NO_RESOURCES);
    };
    if max == 0 {
        return Ok(len);
    }
    if len > max as i32 || max > i32::MAX as u32 && data.len() > max as usize {
        return Ok(sing_abi::status::TOO_SMALL);
    }
    let memory = caller().memory(out, data.len() as u64)?;
    memory.write(out, data)?;
    Ok(len)
}

/// Fills places of the table: `fill_table!(table; INDEX = function as type; …)`.
macro_rules! fill_table {
    ($table:ident; $($index:ident = $f:path: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        $($table[sing_abi::entry::$index] =
            $f as extern "sysv64" fn(sing_runtime::CtxRef $(, $arg)*) $(-> $ret)? as usize;)*
    };
}
use fill_table;

/// Whether every entry that a module can call has a function behind it.
#[must_use]
pub fn is_complete() -> bool {
    let table = build();
    let none = missing as extern "sysv64" fn(CtxRef) -> ! as usize;
    entry::ENTRIES
        .iter()
        .filter(|e| !matches!(e.access, entry::Access::Inline))
        .all(|e| table[e.index] != none)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_entry_is_there() {
        assert!(super::is_complete());
    }
}
