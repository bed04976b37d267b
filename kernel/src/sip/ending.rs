//! How SIPs end: by themselves, by a trap, stopped from outside; and giving back what they had.
//!
//! A SIP that ends itself does so on the stack of its own thread, which nobody can give back while it runs; so
//! that thread leaves for the idle context, which does it. A SIP that another ends does not run, and is given
//! back on the spot.

use super::{DYING, End, Sip};
use crate::channel;
use crate::cpu;
use crate::handle;
use crate::machine::{hal, log};
use crate::thread::Thread;
use crate::trace;
use crate::wait;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::trap::Trap;

/// Ends the SIP of the current thread. Nothing that the caller's frames own is given back.
pub(crate) fn exit_current(end: End) -> ! {
    let cpu = cpu::this();
    let sip = cpu::current().sip();
    *sip.dying.lock() = Some(end);
    {
        let dying = DYING.lock();
        if !sip.node.is_linked() {
            dying.push(sip);
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

/// Gives back threads and SIPs that ended on their own stacks. Called in the idle context.
pub(crate) fn reap() {
    loop {
        let t = cpu::this().ended.lock().pop();
        let Some(t) = t else { break };
        let sip = t.sip();
        t.finish();
        sip.inner.lock().threads.retain(|o| !core::ptr::eq(*o, t));
        t.release();
    }
    loop {
        let sip = DYING.lock().pop();
        let Some(sip) = sip else { break };
        let how = sip.dying.lock().take();
        end(sip, how.unwrap_or(End::Stop(0)));
    }
}

/// Ends a SIP none of whose threads runs: gives back everything that it owns.
pub(crate) fn end(sip: &'static Sip, how: End) {
    if !sip.alive.swap(false, Relaxed) {
        return;
    }
    let (kind, code) = how.to_numbers();
    sip.end.0.store(kind, Relaxed);
    sip.end.1.store(code, Relaxed);
    if let End::Trap(trap) = how {
        crate::crash::report(sip, trap);
    }
    let inner = core::mem::take(&mut *sip.inner.lock());
    for t in &inner.threads {
        t.finish();
    }
    loop {
        let object = sip.handles.lock().drain();
        let Some(object) = object else { break };
        handle::dispose(object);
    }
    for (channel, side) in inner.endpoints.into_iter().flatten() {
        channel::close(channel, side);
    }
    for t in inner.threads {
        t.release();
    }
    drop(inner.instance);
    core::mem::take(&mut *sip.slot.lock()).give();
    sip.committed.store(0, Relaxed);
    sip.charged.store(0, Relaxed);
    trace::ended(sip, how);
    wait::wake_all(&sip.joiners.lock());
    if sip.essential.load(Relaxed) {
        let status = match how {
            End::Exit(code) | End::Stop(code) => code,
            End::Trap(trap) => 128 + i32::from(trap.code()),
        };
        if how.to_numbers().0 != 0 {
            log!(
                "system: {} has ended, and the system cannot do without it",
                sip.name()
            );
        }
        hal().exit(status);
    }
    sip.release();
}

/// Stops a SIP from outside (or from inside: then this does not return).
pub(crate) fn stop(sip: &'static Sip, code: i32) {
    let me = cpu::this().running().map(Thread::sip);
    if me.is_some_and(|m| core::ptr::eq(m, sip)) {
        exit_current(End::Stop(code));
    }
    end(sip, End::Stop(code));
}
