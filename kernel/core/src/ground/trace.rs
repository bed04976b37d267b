//! Tracing: a ring of the latest events, read while the system runs ([O] App. A, K11 of the
//! design).

use crate::ground::contract::Contract;
use crate::ground::image;
use crate::ground::machine::hal;
use crate::ground::trusted::variables;
use crate::object::channel::{Channel, End as ChannelEnd};
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use alloc::collections::VecDeque;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_image::snapshot::{TraceEvent, TraceKind};

/// The most events that are kept unread.
const CAPACITY: usize = 16_384;

variables! { forget:
    static ON: AtomicBool = AtomicBool::new(false);
    static RING: SpinLock<Ring> = SpinLock::new(Ring {
        events: VecDeque::new(),
        lost: 0,
    });
}

struct Ring {
    events: VecDeque<TraceEvent>,
    lost: u32,
}

/// Starts or stops tracing; starting clears the ring. Returns false, and does not trace, if there
/// is no memory for the ring.
pub(crate) fn set(on: bool) -> bool {
    let mut ring = RING.lock();
    let mut room = true;
    if on {
        ring.events.clear();
        ring.lost = 0;
        room = ring.events.try_reserve_exact(CAPACITY).is_ok();
    }
    ON.store(on && room, Relaxed);
    room
}

/// Removes and returns the oldest event.
pub(crate) fn take() -> Option<TraceEvent> {
    let mut ring = RING.lock();
    if ring.lost > 0 {
        let event = event(TraceKind::Lost, 0, ring.lost, 0, 0);
        ring.lost = 0;
        return Some(event);
    }
    ring.events.pop_front()
}

/// Whether tracing is on.
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
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
    let event = event(kind, sip, a, b, c);
    let mut ring = RING.lock();
    if ring.events.len() >= CAPACITY {
        ring.events.pop_front();
        ring.lost += 1;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "there is room for as many as are kept"
    )]
    ring.events.push_back(event);
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
