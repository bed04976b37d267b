//! Tracing: the latest events, read while the system runs ([O] App. A, K11 of the design).
//!
//! Each program that reads them has a ring of its own, with the kinds of events that it has asked
//! for: readers take nothing from each other, and one that falls behind loses its own events.
//!
//! Invariants:
//! - There are [`READERS`] rings at most, each of [`CAPACITY`] events; one goes with its reader.
//! - While nobody reads, an event costs the test of one word.

use crate::ground::contract::Contract;
use crate::ground::image;
use crate::ground::machine::hal;
use crate::ground::trusted::variables;
use crate::object::channel::{Channel, End as ChannelEnd};
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use alloc::collections::VecDeque;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_abi::status;
use sing_arch::lock::SpinLock;
use sing_image::snapshot::{TRACE_ALL, TraceEvent, TraceKind};

/// The most events that are kept unread for a reader.
const CAPACITY: usize = 16_384;
/// The most programs that read at a time.
const READERS: usize = 4;

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
}

impl Ring {
    const fn free() -> Ring {
        Ring {
            reader: 0,
            kinds: 0,
            events: VecDeque::new(),
            lost: 0,
        }
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

/// Begins to trace events of these kinds for a program, without those from before: a bit for each
/// [`TraceKind`], or [`TRACE_ALL`]. [`status::HELD`] if as many programs trace as may,
/// [`status::NO_RESOURCES`] without memory.
pub(crate) fn start(reader: u32, kinds: u32) -> i32 {
    let kinds = if kinds & TRACE_ALL != 0 { !0 } else { kinds };
    let mut events = VecDeque::new();
    if events.try_reserve_exact(CAPACITY).is_err() {
        return status::NO_RESOURCES;
    }
    let mut ring = Ring {
        reader,
        kinds,
        events,
        lost: 0,
    };
    let mut rings = RINGS.lock();
    // Its own from before, or a free one.
    let own = rings.iter().position(|ring| ring.reader == reader);
    let place = own.or_else(|| rings.iter().position(|ring| ring.reader == 0));
    let Some(place) = place.and_then(|at| rings.get_mut(at)) else {
        return status::HELD;
    };
    core::mem::swap(place, &mut ring);
    sum_up(&rings);
    drop(rings);
    // What was there is freed without the lock.
    drop(ring);
    status::OK
}

/// Ends tracing for a program, if it traces.
pub(crate) fn stop(reader: u32) {
    let mut ring = Ring::free();
    let mut rings = RINGS.lock();
    if let Some(own) = rings.iter_mut().find(|ring| ring.reader == reader) {
        core::mem::swap(own, &mut ring);
        sum_up(&rings);
    }
    drop(rings);
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

/// Records the end of a SIP, which reads no more.
pub(crate) fn ended(sip: &Sip, kind: u32, code: i32) {
    if is_on() {
        stop(sip.id());
        note(
            TraceKind::End,
            sip.id(),
            sip.id(),
            kind,
            u64::from(code as u32),
        );
    }
}
