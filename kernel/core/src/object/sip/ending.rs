//! How SIPs end (by exit, by a trap, or stopped by others), and how what they had is freed.
//!
//! A SIP that ends is marked ([`begin`]): from then on none of its threads runs. The rest is done
//! in steps of bounded cost ([`step`]), as it can have as much as its budget pays for. A SIP that
//! ends itself does so on its own thread's stack, which cannot be freed while in use; so that
//! thread switches to the idle context, which does the steps. If another SIP ends it, that one's
//! thread does the steps, in its own time. It lets others run in between; as it may be ended itself
//! there, it keeps nothing on its stack, and keeps the record counted ([`super::Kept`]). SIPs with
//! steps to do are in [`DYING`], where the idle context finds them; they take turns.
//!
//! The order: first its dependants are stopped ([`super::dependants`]). Then its threads are freed,
//! after which only handles refer to them. Then the objects of its handles, but for those that pass
//! to a successor ([`super::succession`]), start-up endpoints, messages of endpoints that it has closed, deferred frees of blocks, its memory.

use super::resuming::{self, RESUMED};
use super::{DYING, ENDED, EXITED, End, Kept, Sip};
use crate::ground::trace;
use crate::ground::work::{PIECE, Work};
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::mechanism::wait;
use crate::object::account;
use crate::object::calls;
use crate::object::channel;
use crate::object::device;
use crate::object::exheap;
use crate::object::handle::Object;
use crate::object::surplus;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::exit::stop::PARENT_ENDED;
use sing_abi::trap::Trap;
use sing_arch::link::{Linked, List};
use sing_arch::lock::Counter;

/// Cycles that the idle context spends on freeing before others run: about a tenth of a quantum.
const SPELL: u64 = 1_000_000;

/// Ends the SIP of the current thread. The values in the caller's frames are not dropped.
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

/// Ends the SIP of the current thread with a trap, because it did what no correct program does.
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

/// Whether the idle context has something to do: something of SIPs or threads that have ended is to
/// be freed, the threads of a resumed SIP have yet to follow, or there is surplus memory.
pub(crate) fn is_dying() -> bool {
    !DYING.lock().is_empty()
        || !cpu::this().ended.lock().is_empty()
        || !RESUMED.lock().is_empty()
        || account::has_deferred()
        || surplus::is_due()
}

/// Frees threads and SIPs that have ended: all of them or, if others could run, some. Called in the
/// idle context.
pub(crate) fn reap() {
    loop {
        let exited = EXITED.lock().pop();
        let Some(sip) = exited else { break };
        let how = sip.dying.lock().take();
        begin(sip, how.unwrap_or(End::Stop(0)));
    }
    // Mostly there is nothing to free, and the counter is not read.
    let mut start = None;
    let others = || interrupt::pending() || cpu::this().has_runnable() || calls::are_due();
    while step_any() || surplus::step(!others()) {
        let now = sing_arch::cycles();
        if others() && now.wrapping_sub(*start.get_or_insert(now)) > SPELL {
            return;
        }
    }
}

/// Frees some of what has ended. False if there is nothing.
fn step_any() -> bool {
    // They take turns: the next step is the next one's.
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
    resuming::step_next() || account::step_deferred()
}

/// The first element of a list, which moves to the end.
pub(super) fn take_turn<R, T: Linked<R>>(list: &List<T, R>) -> Option<&'static T> {
    let first = list.pop();
    first.inspect(|t| list.push(t));
    first
}

/// Ends a SIP that has not been started, so no thread of it runs. The idle context frees it.
pub(crate) fn discard(sip: &'static Sip) {
    begin(sip, End::Stop(0));
}

/// Ends a SIP from the idle context, and frees what it had, as far as no interrupt comes; the rest
/// is freed by [`reap`]. Whether all of it is.
pub(crate) fn end(sip: &'static Sip, how: End) -> bool {
    begin(sip, how);
    while !step(sip) {
        if interrupt::pending() {
            return false;
        }
    }
    true
}

/// Marks a SIP as ended, unless it was before: from here on it does nothing.
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

/// Frees some of what an ended SIP had. True if nothing is left: its exit status is visible.
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
        let last = sip.handles.lock().last();
        if let Object::Set(set) = last
            && !set.empty(&mut work)
        {
            continue;
        }
        let object = sip.handles.lock().drain();
        if let Some(object) = object {
            sip.account().discharge(object.cost());
            if sip.keep_for_successor(&object, &mut work) {
                continue;
            }
            object.dispose(sip, &mut work);
            continue;
        }
        let endpoint = sip.inner.lock().endpoints.pop();
        if let Some(endpoint) = endpoint {
            let close = |(channel, side)| channel::close(channel, side, sip);
            work.spend_items(endpoint.map_or(1, close));
            continue;
        }
        if !sip.is_supervised() && sip.give_up_legacy(sip) {
            continue;
        }
        if work_off(sip, &mut work) {
            continue;
        }
        // No thread of it exists, so nothing uses its table or memory.
        if let Some(bytes) = sip.memory.give_table_back() {
            work.spend(bytes);
            continue;
        }
        if let Some(shrunk) = sip.memory.with_last_further(|m| m.shrink(PIECE)) {
            // Emptied so far that the rest is no more than a piece.
            if !shrunk && let Some(rest) = sip.memory.take_further() {
                rest.give();
            }
            work.spend(PIECE);
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

/// Frees some of what a SIP has given up: messages at endpoints that it has closed, blocks. False
/// if there was nothing.
pub(crate) fn work_off(sip: &'static Sip, work: &mut Work) -> bool {
    let closing = sip.closing.lock().first();
    if let Some(member) = closing {
        channel::empty(member, sip, work);
        return true;
    }
    let deferred = !sip.account().deferred.lock().is_empty();
    if deferred {
        exheap::free_deferred(sip.account(), work);
    }
    deferred
}

impl Sip {
    /// Whether it has given up anything that is not freed yet.
    #[inline(always)]
    pub(crate) fn has_given_up(&self) -> bool {
        !self.account().deferred.lock().is_empty() || !self.closing.lock().is_empty()
    }
}

/// Finishes an ended SIP: nothing is left of it but messages in flight. Publishes its exit status.
fn gone(sip: &'static Sip) {
    device::forget(sip);
    if !sip.is_supervised() {
        sip.free_startup();
    }
    sip.account().discharge(sip.memory.cost());
    sip.image()
        .expect(sip.memory.with(|memory| memory.committed()));
    sip.memory.take().give_after(sip.image().needs_little());
    DYING.lock().remove(sip);
    sip.gone.store(true, Relaxed);
    // Its account has paid for what it reads.
    trace::stop(sip.id());
    sip.account().close();
    let (kind, code) = (sip.end.0.load(Relaxed), sip.end.1.load(Relaxed));
    trace::ended(sip, kind, code);
    wait::wake_all(&sip.joiners.lock());
    super::role::ended(sip, End::from_numbers(kind, code));
    sip.release();
}

/// Stops a SIP alone: its dependants go on, detached. They are detached in the steps that free it;
/// until then it cannot run, and gets no new dependants.
pub(crate) fn stop_only(sip: &'static Sip, code: i32) {
    if sip.is_alive() {
        sip.ends_alone.store(true, Relaxed);
    }
    stop(sip, code);
}

/// Stops a SIP and its dependants. Does not return if the caller is among them. Called in a kernel
/// entry that holds no lock or value.
pub(crate) fn stop(sip: &'static Sip, code: i32) {
    let thread = cpu::current();
    if core::ptr::eq(thread.sip(), sip) {
        exit_current(End::Stop(code));
    }
    if thread.sip().depends_on(sip) && !sip.ends_alone.load(Relaxed) {
        // The caller is a dependant, so it is stopped as well: the idle context does the steps.
        begin(sip, End::Stop(code));
        exit_current(End::Stop(PARENT_ENDED));
    }
    // If this thread is ended itself meanwhile, that releases the record, and the idle context does
    // the remaining steps.
    thread.keep(Kept::of(sip));
    begin(sip, End::Stop(code));
    while !step(sip) {
        interrupt::let_others_run();
    }
    thread.let_go();
}
