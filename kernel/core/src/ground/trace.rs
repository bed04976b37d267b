//! Tracing: the latest events, read while the system runs ([O] App. A, K11 of the design).
//!
//! Each program that reads them has a ring of its own, with the kinds of events that it has asked
//! for: readers take nothing from each other, and one that falls behind loses its own events.
//!
//! Invariants:
//! - There are [`READERS`] rings at most, each of [`CAPACITY`] events. The reader's account pays for
//!   one, and it goes with its reader.
//! - While nobody reads, an event costs the test of one word.

use crate::ground::contract::Contract;
use crate::ground::image;
use crate::ground::machine::hal;
use crate::ground::trusted::variables;
use crate::object::account::Account;
use crate::object::channel::{Channel, End as ChannelEnd};
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use alloc::collections::VecDeque;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_abi::status;
use sing_arch::lock::SpinLock;
use sing_image::snapshot::{TRACE_ALL, TraceEvent, TraceKind};
use sing_runtime::{HEADER, Payer};

/// The most events that are kept unread for a reader.
const CAPACITY: usize = 16_384;
/// The most programs that read at a time.
const READERS: usize = 4;
/// What a ring costs its reader, in bytes.
const COST: u64 = (CAPACITY * size_of::<TraceEvent>()) as u64 + HEADER;

variables! { forget:
    /// The kinds of events that anybody reads, a bit for each.
    static KINDS: AtomicU32 = AtomicU32::new(0);
    static RINGS: SpinLock<[Ring; READERS]> = SpinLock::new([const { Ring::free() }; READERS]);
}

/// The events of a reader.
struct Ring {
    /// The program that reads; 0 for none.
    reader: u32,
    /// The kinds of events that it gets.
    kinds: u32,
    events: VecDeque<TraceEvent>,
    lost: u32,
    /// Who has paid [`COST`] for it.
    payer: Option<&'static Account>,
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.events = VecDeque::new();
        if let Some(payer) = self.payer {
            payer.discharge(COST);
        }
    }
}

impl Ring {
    const fn free() -> Ring {
        Ring {
            reader: 0,
            kinds: 0,
            events: VecDeque::new(),
            lost: 0,
            payer: None,
        }
    }

    /// One for a program that pays for it; `None` if it cannot, or without memory.
    fn paid(reader: u32, kinds: u32, payer: &'static Account) -> Option<Ring> {
        if !Payer::charge(payer, COST) {
            return None;
        }
        let mut ring = Ring::free();
        (ring.reader, ring.kinds, ring.payer) = (reader, kinds, Some(payer));
        // If it is refused, the ring's end gives the charge back.
        let room = ring.events.try_reserve_exact(CAPACITY);
        room.is_ok().then_some(ring)
    }

    fn note(&mut self, event: TraceEvent) {
        if self.events.len() >= CAPACITY {
            self.events.pop_front();
            self.lost = self.lost.saturating_add(1);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "there is room for as many as are kept"
        )]
        self.events.push_back(event);
    }
}

/// Sums up what is read, after a change of the rings.
fn sum_up(rings: &[Ring; READERS]) {
    let kinds = rings.iter().fold(0, |all, ring| all | ring.kinds);
    KINDS.store(kinds, Relaxed);
}

/// Where a reader's ring is, or may be.
fn place(rings: &mut [Ring; READERS], reader: u32) -> Option<&mut Ring> {
    // Its own from before, or a free one.
    let own = rings.iter().position(|ring| ring.reader == reader);
    let place = own.or_else(|| rings.iter().position(|ring| ring.reader == 0));
    place.and_then(|at| rings.get_mut(at))
}

/// Begins to trace events of these kinds for a program, without those from before: a bit for each
/// [`TraceKind`], or [`TRACE_ALL`]. The account, which is the program's, pays for it.
/// [`status::HELD`] if as many programs trace as may, [`status::NO_RESOURCES`] without memory.
pub(crate) fn start(reader: u32, payer: &'static Account, kinds: u32) -> i32 {
    let kinds = if kinds & TRACE_ALL != 0 { !0 } else { kinds };
    let mut rings = RINGS.lock();
    let Some(own) = place(&mut rings, reader) else {
        return status::HELD;
    };
    if own.reader == reader {
        own.events.clear();
        (own.kinds, own.lost) = (kinds, 0);
        sum_up(&rings);
        return status::OK;
    }
    // Others are asked for memory without the lock.
    drop(rings);
    let Some(mut ring) = Ring::paid(reader, kinds, payer) else {
        return status::NO_RESOURCES;
    };
    let mut rings = RINGS.lock();
    let Some(free) = place(&mut rings, reader) else {
        drop(rings);
        return status::HELD;
    };
    core::mem::swap(free, &mut ring);
    sum_up(&rings);
    drop(rings);
    status::OK
}

/// Ends tracing for a program, if it traces, and gives back what its account has paid.
pub(crate) fn stop(reader: u32) {
    if !is_on() {
        return;
    }
    let mut ring = Ring::free();
    let mut rings = RINGS.lock();
    if let Some(own) = rings.iter_mut().find(|ring| ring.reader == reader) {
        core::mem::swap(own, &mut ring);
        sum_up(&rings);
    }
    drop(rings);
    // What was there is freed without the lock.
    drop(ring);
}

/// Whether this program traces.
pub(crate) fn is_read_by(reader: u32) -> bool {
    RINGS.lock().iter().any(|ring| ring.reader == reader)
}

/// Removes and returns the oldest event of a program that traces.
pub(crate) fn take(reader: u32) -> Option<TraceEvent> {
    let mut rings = RINGS.lock();
    let ring = rings.iter_mut().find(|ring| ring.reader == reader)?;
    if ring.lost > 0 {
        let event = event(TraceKind::Lost, 0, ring.lost, 0, 0);
        ring.lost = 0;
        return Some(event);
    }
    ring.events.pop_front()
}

/// Whether tracing is on.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    KINDS.load(Relaxed) != 0
}

fn event(kind: TraceKind, sip: u32, a: u32, b: u32, c: u64) -> TraceEvent {
    TraceEvent {
        time_ns: hal().now(),
        kind: kind as u32,
        sip,
        a,
        b,
        c,
    }
}

#[cold]
#[inline(never)]
fn note(kind: TraceKind, sip: u32, a: u32, b: u32, c: u64) {
    let wanted = kind.bit();
    if KINDS.load(Relaxed) & wanted == 0 {
        return;
    }
    let event = event(kind, sip, a, b, c);
    let mut rings = RINGS.lock();
    for ring in rings.iter_mut().filter(|ring| ring.kinds & wanted != 0) {
        ring.note(event);
    }
}

/// Records that a message was sent.
#[inline(always)]
pub(crate) fn sent(t: &Thread, channel: &Channel, of: &Contract, message: u32, to: &ChannelEnd) {
    if is_on() {
        note_message(TraceKind::Send, t, channel, of, message, to);
    }
}

/// Records that a message was received.
#[inline(always)]
pub(crate) fn received(
    t: &Thread,
    channel: &Channel,
    of: &Contract,
    message: u32,
    from: &ChannelEnd,
) {
    if is_on() {
        note_message(TraceKind::Receive, t, channel, of, message, from);
    }
}

#[cold]
fn note_message(
    kind: TraceKind,
    t: &Thread,
    channel: &Channel,
    of: &Contract,
    message: u32,
    other: &ChannelEnd,
) {
    if kind == TraceKind::Send {
        channel.traced.fetch_add(1, Relaxed);
    }
    let peer = other.owner.get().map_or(0, Sip::id);
    let c = u64::from(of.id) << 32 | u64::from(peer);
    note(kind, t.sip().id(), channel.index.load(Relaxed), message, c);
}

/// Records a context switch.
#[inline(always)]
pub(crate) fn switched(to: &Thread) {
    if is_on() {
        let sip = to.sip().id();
        note(TraceKind::Switch, sip, to.id.load(Relaxed), sip, 0);
    }
}

/// Records the creation of a SIP.
pub(crate) fn created(sip: &Sip) {
    if is_on() {
        let image = image::names().position(|name| name == sip.name());
        let c = image.map_or(0, |at| at as u64 + 1);
        note(TraceKind::Create, sip.parent.load(Relaxed), sip.id(), 0, c);
    }
}

/// Records the end of a SIP.
pub(crate) fn ended(sip: &Sip, kind: u32, code: i32) {
    if is_on() {
        note(
            TraceKind::End,
            sip.id(),
            sip.id(),
            kind,
            u64::from(code as u32),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::account::root_of;

    fn event_of(kind: TraceKind) -> TraceEvent {
        TraceEvent {
            time_ns: 0,
            kind: kind as u32,
            sip: 1,
            a: 0,
            b: 0,
            c: 0,
        }
    }

    #[test]
    fn who_cannot_pay_for_a_ring_has_none() {
        let _alone = crate::alone();
        let poor = root_of(64 << 20).open(COST - 1).unwrap();
        assert_eq!(start(7, poor, !0), status::NO_RESOURCES);
        assert_eq!(poor.charged(), 0);
        assert!(!is_read_by(7) && !is_on());
    }

    #[test]
    fn a_ring_is_paid_for_until_its_reader_stops_or_ends() {
        let _alone = crate::alone();
        let top = root_of(64 << 20);
        let before = top.charged();
        let account = top.open(1 << 20).unwrap();
        for _ in 0..3 {
            assert_eq!(start(7, account, TraceKind::Send.bit()), status::OK);
            assert_eq!(account.charged(), COST);
            RINGS.lock()[0].note(event_of(TraceKind::Send));
            // Once more: without what came before, for the same ring.
            assert_eq!(start(7, account, TraceKind::Switch.bit()), status::OK);
            assert_eq!((account.charged(), take(7)), (COST, None));
            assert_eq!(KINDS.load(Relaxed), TraceKind::Switch.bit());
            stop(7);
            assert_eq!(account.charged(), 0);
            assert!(!is_on());
        }
        // As many trace as may: one more is charged for nothing.
        for reader in 1..=READERS as u32 {
            assert_eq!(start(reader, top, !0), status::OK);
        }
        assert_eq!(start(7, account, !0), status::HELD);
        assert_eq!(account.charged(), 0);
        for reader in 1..=READERS as u32 {
            stop(reader);
        }
        // The end of a reader, as a SIP's end does it.
        assert_eq!(start(7, account, !0), status::OK);
        account.begin_to_close();
        stop(7);
        account.close();
        account.release();
        assert_eq!(top.charged(), before);
        assert!(!is_on());
    }
}
