//! How SIPs end: by themselves, by a trap, stopped from outside; and giving back what they had.
//!
//! A SIP that ends itself does so on the stack of its own thread, which nobody can give back while it runs; so
//! that thread leaves for the idle context, which does it. A SIP that another ends does not run; who ends it gives
//! back what it had.
//!
//! A SIP can have as much as its budget pays for. So giving back is done in steps of bounded cost ([`step`]): whoever
//! does them lets others run in between, and keeps nothing on its stack, for it may be ended itself. A SIP some of
//! whose steps are to be done is in [`DYING`], where the idle context finds it.

use super::{DYING, EXITED, End, Sip};
use crate::channel;
use crate::cpu;
use crate::entry::cost_of;
use crate::exheap;
use crate::handle;
use crate::interrupt;
use crate::machine::{hal, log};
use crate::thread::Thread;
use crate::trace;
use crate::wait;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::trap::Trap;
use sing_runtime::Instance;

/// What a step gives back, at most: blocks, handles, endpoints, or megabytes.
const STEP: u32 = 256;
/// Cycles that the idle context spends on ended SIPs before others run: about a tenth of a quantum.
const SPELL: u64 = 1_000_000;
/// Bytes of linear memory that one step gives back, at most.
const PIECE: u64 = 16 << 20;

/// Ends the SIP of the current thread. Nothing that the caller's frames own is given back.
pub(crate) fn exit_current(end: End) -> ! {
    let cpu = cpu::this();
    let sip = cpu::current().sip();
    *sip.dying.lock() = Some(end);
    {
        let exited = EXITED.lock();
        if !sip.node.is_linked() {
            exited.push(sip);
        }
    }
    cpu.leave_for_idle();
    unreachable!("a thread of an ended SIP runs")
}

/// Ends the SIP of the current thread, because it did what no correct program does.
#[cold]
#[inline(never)]
pub(crate) fn trap(trap: Trap) -> ! {
    crate::harness::trapped(trap);
    let mark = 0u64;
    let t = cpu::current();
    crate::crash::record_call(t, core::ptr::from_ref(&mark) as u64);
    exit_current(End::Trap(trap))
}

/// Whether a SIP has ended that has not been given back.
pub(crate) fn is_dying() -> bool {
    !DYING.lock().is_empty()
}

/// Gives back threads and SIPs that have ended: all of them or, where others could run, some. Called in the idle
/// context.
pub(crate) fn reap() {
    loop {
        let t = cpu::this().ended.lock().pop();
        let Some(t) = t else { break };
        let sip = t.sip();
        t.finish();
        while let Some(allocation) = t.take_any_allocation() {
            exheap::bury(allocation);
        }
        sip.inner.lock().threads.retain(|o| !core::ptr::eq(*o, t));
        t.release();
    }
    loop {
        let exited = EXITED.lock().pop();
        let Some(sip) = exited else { break };
        let how = sip.dying.lock().take();
        begin(sip, how.unwrap_or(End::Stop(0)));
    }
    let start = sing_arch::cycles();
    loop {
        let dying = DYING.lock().first();
        let Some(sip) = dying else { return };
        step(sip);
        let others = interrupt::pending() || cpu::this().has_runnable();
        if others && sing_arch::cycles().wrapping_sub(start) > SPELL {
            return;
        }
    }
}

/// Ends a SIP none of whose threads runs: gives back everything that it owns.
pub(crate) fn end(sip: &'static Sip, how: End) {
    begin(sip, how);
    while !step(sip) {}
}

/// Ends a SIP that has not ended: from here on it does nothing.
fn begin(sip: &'static Sip, how: End) {
    if !sip.alive.swap(false, Relaxed) {
        return;
    }
    let (kind, code) = how.to_numbers();
    sip.end.0.store(kind, Relaxed);
    sip.end.1.store(code, Relaxed);
    if let End::Trap(trap) = how {
        crate::crash::report(sip, trap);
    }
    for t in sip.threads() {
        t.finish();
    }
    let dying = DYING.lock();
    if !sip.node.is_linked() {
        dying.push(sip);
    }
}

/// Gives back some of what an ended SIP had. True where nothing is left: it has ended for all to see.
fn step(sip: &'static Sip) -> bool {
    if sip.is_alive() || sip.has_ended() {
        return true;
    }
    for _ in 0..STEP {
        let thread = sip.inner.lock().threads.last().copied();
        if let Some(t) = thread {
            match t.take_any_allocation() {
                Some(allocation) => drop(exheap::bury(allocation)),
                None => {
                    sip.inner.lock().threads.pop();
                    t.release();
                }
            }
            continue;
        }
        let object = sip.handles.lock().drain();
        if let Some(object) = object {
            sip.discharge(cost_of(&object));
            handle::dispose(object);
            continue;
        }
        let endpoint = sip.inner.lock().endpoints.pop();
        match endpoint {
            Some(Some((channel, side))) => channel::close(channel, side),
            Some(None) => {}
            None => {
                if exheap::dig(sip, STEP) {
                    return false;
                }
                if sip.slot.lock().shrink(PIECE) {
                    return false;
                }
                gone(sip);
                return true;
            }
        }
    }
    false
}

/// An ended SIP has nothing any more but what it has on its way elsewhere.
fn gone(sip: &'static Sip) {
    let inner = core::mem::take(&mut *sip.inner.lock());
    sip.discharge(inner.instance.as_ref().map_or(0, Instance::memory_len));
    drop(inner);
    core::mem::take(&mut *sip.slot.lock()).give();
    sip.committed.store(0, Relaxed);
    DYING.lock().remove(sip);
    sip.gone.store(true, Relaxed);
    sip.leave_debts();
    let (kind, code) = (sip.end.0.load(Relaxed), sip.end.1.load(Relaxed));
    trace::ended(sip, kind, code);
    wait::wake_all(&sip.joiners.lock());
    if sip.essential.load(Relaxed) {
        if kind != 0 {
            log!(
                "system: {} has ended, and the system cannot do without it",
                sip.name()
            );
        }
        let trapped = kind == End::TRAPPED;
        hal().exit(if trapped { 128 + code } else { code });
    }
    sip.release();
}

/// Stops a SIP from outside (or from inside: then this does not return). Called in a kernel entry that holds nothing.
pub(crate) fn stop(sip: &'static Sip, code: i32) {
    let me = cpu::this().running().map(Thread::sip);
    if me.is_some_and(|m| core::ptr::eq(m, sip)) {
        exit_current(End::Stop(code));
    }
    // Where this thread is ended itself meanwhile, the idle context goes on; and then the record can become
    // another SIP's.
    let id = sip.id();
    begin(sip, End::Stop(code));
    while sip.id() == id && !step(sip) {
        if interrupt::pending() {
            interrupt::take_over();
        }
    }
}
