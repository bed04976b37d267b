//! How SIPs end: by themselves, by a trap, stopped from outside; and giving back what they had.
//!
//! A SIP that ends is marked ([`begin`]): from then on none of its threads runs. Everything else is done in steps of bounded
//! cost ([`step`]), for it can have as much as its budget pays for. A SIP that ends itself does so on the stack of its own
//! thread, which nobody can give back while it runs; so that thread leaves for the idle context, which does the steps. A
//! SIP that another ends does not run; who ends it does them, in its own time. Whoever does them lets others run in
//! between, keeps nothing on its stack, for it may be ended itself, and keeps the record counted ([`super::Kept`]). A SIP
//! some of whose steps are to be done is in [`DYING`], where the idle context finds it; they take turns there.
//!
//! Those that depend on it come first: they are stopped with it ([`super::dependants`]). Then threads: when they are given back, nothing names them any more but handles. Then all that the handles name,
//! start-up endpoints, the messages of endpoints that it has closed, the blocks that it has given up, its memory.

use super::{DYING, ENDED, EXITED, End, Kept, Sip};
use crate::ground::trace;
use crate::ground::work::{PIECE, Work};
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::mechanism::wait;
use crate::object::account;
use crate::object::channel;
use crate::object::exheap;
use crate::object::surplus;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::exit::stop::PARENT_ENDED;
use sing_abi::trap::Trap;
use sing_arch::link::{Linked, List};
use sing_arch::lock::Counter;

/// Cycles that the idle context spends on ended SIPs before others run: about a tenth of a quantum.
const SPELL: u64 = 1_000_000;

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
    let mark = 0u64;
    let t = cpu::current();
    if let Some(guest) = t.sip().guest() {
        guest.end(Err(trap));
    }
    crate::object::crash::record_call(t, core::ptr::from_ref(&mark) as u64);
    exit_current(End::Trap(trap))
}

/// Whether something of SIPs or threads that have ended has not been given back.
pub(crate) fn is_dying() -> bool {
    !DYING.lock().is_empty()
        || !cpu::this().ended.lock().is_empty()
        || account::has_left()
        || surplus::is_due()
}

/// Gives back threads and SIPs that have ended: all of them or, where others could run, some. Called in the idle
/// context.
pub(crate) fn reap() {
    loop {
        let exited = EXITED.lock().pop();
        let Some(sip) = exited else { break };
        let how = sip.dying.lock().take();
        begin(sip, how.unwrap_or(End::Stop(0)));
    }
    let start = sing_arch::cycles();
    let others = || interrupt::pending() || cpu::this().has_runnable();
    while step_any() || surplus::step(!others()) {
        if others() && sing_arch::cycles().wrapping_sub(start) > SPELL {
            return;
        }
    }
}

/// Gives back some of what has ended. False where there is nothing.
fn step_any() -> bool {
    // The next step is the next one's.
    let thread = take_turn(&cpu::this().ended.lock());
    if let Some(t) = thread {
        t.give_back(&mut Work::step());
        return true;
    }
    let sip = take_turn(&DYING.lock());
    if let Some(sip) = sip {
        step(sip);
        return true;
    }
    account::step_left()
}

/// The first one of a list, which goes to the end.
fn take_turn<T: Linked>(list: &List<T>) -> Option<&'static T> {
    let first = list.pop();
    first.inspect(|t| list.push(t));
    first
}

/// Ends a SIP that has not been started, and none of whose threads runs. The idle context gives it back.
pub(crate) fn discard(sip: &'static Sip) {
    begin(sip, End::Stop(0));
}

/// Ends a SIP that has not ended: from here on it does nothing.
pub(super) fn begin(sip: &'static Sip, how: End) {
    if !sip.is_alive() {
        return;
    }
    sip.alive.store(false, Relaxed);
    super::role::decide(sip);
    sip.detach();
    sip.halted.add(ENDED);
    sip.account().begin_to_close();
    let (kind, code) = how.to_numbers();
    sip.end.0.store(kind, Relaxed);
    sip.end.1.store(code, Relaxed);
    if let End::Trap(trap) = how {
        crate::object::crash::report(sip, trap);
    }
    DYING.lock().push(sip);
}

/// Gives back some of what an ended SIP had. True where nothing is left: it has ended for all to see.
fn step(sip: &'static Sip) -> bool {
    let mut work = Work::step();
    if sip.is_alive() || sip.has_ended() {
        return true;
    }
    while !work.is_spent() {
        if sip.stop_a_dependant() {
            work.spend(0);
            continue;
        }
        let thread = sip.inner.lock().threads.first();
        if let Some(t) = thread {
            t.give_back(&mut work);
            continue;
        }
        let object = sip.handles.lock().drain();
        if let Some(object) = object {
            sip.account().discharge(object.cost());
            object.dispose(sip, &mut work);
            continue;
        }
        let endpoint = sip.inner.lock().endpoints.pop();
        if let Some(endpoint) = endpoint {
            if let Some((channel, side)) = endpoint {
                channel::close(channel, side, sip);
            }
            work.spend(0);
            continue;
        }
        if work_off(sip, &mut work) {
            continue;
        }
        // Nobody runs in it any more.
        if let Some(bytes) = sip.memory.give_table_back() {
            work.spend(bytes);
            continue;
        }
        let shrunk = sip.memory.with(|m| m.shrink(PIECE));
        if !shrunk {
            gone(sip);
            return true;
        }
        work.spend(PIECE);
    }
    false
}

/// Gives back some of what a SIP has given up: messages at endpoints that it has closed, blocks. Whether there was any.
pub(crate) fn work_off(sip: &'static Sip, work: &mut Work) -> bool {
    let closing = sip.closing.lock().first();
    if let Some(member) = closing {
        channel::empty(member, sip, work);
        return true;
    }
    let graves = !sip.account().graves.lock().is_empty();
    if graves {
        exheap::dig(sip.account(), work);
    }
    graves
}

impl Sip {
    /// Whether it has given up anything that is not given back.
    #[inline(always)]
    pub(crate) fn has_given_up(&self) -> bool {
        !self.account().graves.lock().is_empty() || !self.closing.lock().is_empty()
    }
}

/// An ended SIP has nothing any more but what it has on its way elsewhere.
fn gone(sip: &'static Sip) {
    sip.forget_gifts();
    sip.account().discharge(sip.memory.len());
    sip.memory.take().give();
    DYING.lock().remove(sip);
    sip.gone.store(true, Relaxed);
    sip.account().close();
    let (kind, code) = (sip.end.0.load(Relaxed), sip.end.1.load(Relaxed));
    trace::ended(sip, kind, code);
    wait::wake_all(&sip.joiners.lock());
    super::role::ended(sip, End::from_numbers(kind, code));
    sip.release();
}

/// Stops a SIP alone: those that depend on it go on, detached. They are let go as it is given back; from the beginning it
/// does not run, and nobody new depends on it.
pub(crate) fn stop_only(sip: &'static Sip, code: i32) {
    if sip.is_alive() {
        sip.ends_alone.store(true, Relaxed);
    }
    stop(sip, code);
}

/// Stops a SIP from outside (or from inside: then this does not return), and those that depend on it. Called in a kernel
/// entry that holds nothing.
pub(crate) fn stop(sip: &'static Sip, code: i32) {
    let thread = cpu::current();
    if core::ptr::eq(thread.sip(), sip) {
        exit_current(End::Stop(code));
    }
    if thread.sip().depends_on(sip) && !sip.ends_alone.load(Relaxed) {
        // The idle context does the steps: the caller is one of those that are stopped.
        begin(sip, End::Stop(code));
        exit_current(End::Stop(PARENT_ENDED));
    }
    // Where this thread is ended itself meanwhile, its end lets the record go, and the idle context goes on.
    thread.keep(Kept::of(sip));
    begin(sip, End::Stop(code));
    while !step(sip) {
        interrupt::let_others_run();
    }
    thread.let_go();
}
