//! The kernel's entry points: the functions behind `sing_abi::entry`, one table of them.
//!
//! Each is an `extern "C"` function, of the type that the ABI says, that compiled code calls on the
//! caller's own stack. It checks every argument, never keeps a pointer into the SIP's memory, and
//! owns nothing while it waits. A call that no correct program makes ends the SIP ([`finish`]);
//! every other failure is returned as a status.

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no SIP runs yet"
)]
pub(crate) mod boot;
mod channels;
mod console;
mod devices;
mod dma;
mod exchange;
pub mod fault;
mod forget;
mod processes;
pub(crate) mod query;
mod queues;
mod reply;
mod routines;
mod select;
mod sync;
mod system;
mod threads;
mod time;

pub use forget::forget;

use crate::ground::trusted::{Entries, KernelTable, Left};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::mechanism::wait::Continuation;
use crate::object::sip::{self, Sip};
use core::panic::Location;
use sing_abi::entry;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_arch::lock::SpinLock;
use sing_runtime::CtxRef;

static TABLE: SpinLock<Option<KernelTable>> = SpinLock::new(None);

/// Returns the table, making it at its first use.
pub(crate) fn table() -> KernelTable {
    *TABLE.lock().get_or_insert_with(|| build().publish())
}

fn build() -> Entries {
    let mut table = Entries::of(missing);
    channels::fill(&mut table);
    console::fill(&mut table);
    devices::fill(&mut table);
    dma::fill(&mut table);
    exchange::fill(&mut table);
    processes::fill(&mut table);
    queues::fill(&mut table);
    routines::fill(&mut table);
    select::fill(&mut table);
    sync::fill(&mut table);
    system::fill(&mut table);
    threads::fill(&mut table);
    time::fill(&mut table);
    table
}

/// The function of entries that the compiler expands inline.
extern "C" fn missing(_: CtxRef) -> ! {
    sip::trap(Trap::BadArgument)
}

/// Returns the caller's SIP.
#[inline(always)]
fn caller() -> &'static Sip {
    cpu::current().sip()
}

/// Leaves an entry: ends the SIP if the call trapped, acts on interrupts that arrived meanwhile.
#[inline(always)]
#[track_caller]
fn finish<R>(result: Result<R, Trap>) -> R {
    let value = match result {
        Ok(v) => v,
        Err(t) => sip::trap(t),
    };
    if interrupt::pending() {
        return after_interrupts(value, Location::caller());
    }
    value
}

/// Acts on interrupts, and returns the entry's result. Called last, and never unwound through, so
/// that the entry need keep nothing over a call.
#[cold]
#[inline(never)]
extern "C" fn after_interrupts<R>(value: R, place: &'static Location<'static>) -> R {
    interrupt::take_over_at(place);
    value
}

/// Looks again: the current thread has waited at the end of a blocking entry, and was told no
/// result.
pub(crate) fn look_again() -> Left {
    let thread = cpu::current();
    match thread.wait.continuation() {
        Continuation::Receive(end, out) => match end.endpoint() {
            Some((channel, side)) => channels::take(channel, side, thread, out),
            None => Left::with(finish(Err(Trap::BadHandle))),
        },
        Continuation::Set(set, number) => select::look_again(set, number, thread),
        Continuation::Select([handles, count, tags]) => {
            select::select(thread, handles, tags, count, -1)
        }
        Continuation::Nothing => Left::with(finish(Ok(status::OK))),
    }
}

/// The current thread returns to its SIP with the result it was told, and interrupts have arrived
/// meanwhile.
pub(crate) fn after_switch(value: i32) -> i32 {
    finish(Ok(value))
}

/// Works off all deferred frees of the caller.
fn work_off() {
    let sip = caller();
    while sip.has_given_up() && sip::work_off(sip, &mut Work::step()) {
        interrupt::let_others_run();
    }
}

/// Enters functions into the table: `fill_table!(table; INDEX = function as type; …)`.
macro_rules! fill_table {
    ($table:ident; $($index:ident = $f:path: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        $($table.set(
            sing_abi::entry::$index,
            $f as extern "C" fn(sing_runtime::CtxRef $(, $arg)*) $(-> $ret)?,
        );)*
    };
}
use fill_table;

/// Whether every entry that a module can call has a function of the proper type.
#[must_use]
pub fn is_complete() -> bool {
    let table = build();
    entry::ENTRIES
        .iter()
        .filter(|e| !matches!(e.access, entry::Access::Inline))
        .all(|e| !table.is_missing(e.index, missing))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_entry_is_there() {
        let _alone = crate::alone();
        assert!(super::is_complete());
    }
}
