//! Invariants of SIPs' records ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{DYING, ENDED, EXITED, LIVE, SIPS, Sip};
use crate::object::calls;
use crate::object::handle::Object;
use crate::object::sweep::{self, Census, Findings};
use crate::object::thread::Thread;
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;

impl Sip {
    /// Whether its record is in use.
    pub(crate) fn is_there(&self) -> bool {
        SIPS.is_live(self.index.load(Relaxed))
    }

    /// Whether a thread is in its list.
    pub(crate) fn has_thread(&self, t: &Thread) -> bool {
        self.inner.lock().threads.holds(t)
    }
}

/// All records, in use or not.
pub(crate) fn records() -> impl Iterator<Item = &'static Sip> {
    SIPS.all()
}

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings, census: &Census) {
    let mut live = 0;
    for sip in records() {
        found.seen();
        live += u32::from(sip.references.load(Relaxed) > 0);
        if sip.is_there() {
            used(found, census, sip);
        } else {
            free(found, sip);
        }
    }
    let counted = LIVE.load(Relaxed);
    found.check(live == counted, || {
        format!("{counted} SIPs are counted, {live} are there")
    });
    let ending = DYING.lock().iter().all(|s| s.is_there() && !s.is_alive());
    found.check(ending && EXITED.lock().iter().all(Sip::is_there), || {
        "a SIP is given back that lives, or whose record is free".into()
    });
}

fn free(found: &mut Findings, sip: &'static Sip) {
    let n = sip.index.load(Relaxed);
    let (references, keepers) = (
        sip.references.load(Relaxed),
        sip.record_references.load(Relaxed),
    );
    found.check(references == 0 && keepers == 0, || {
        format!("SIP record {n}, free, has {references} references and {keepers} keepers")
    });
    let listed = sip.node.is_linked() || sip.sibling.is_linked() || sip.is_resumed();
    found.check(!listed, || format!("SIP record {n}, free, is in a list"));
    let empty = sip.held.lock().is_empty()
        && sip.children.lock().is_empty()
        && sip.closing.lock().is_empty()
        && sip.legacy.lock().is_empty()
        && sip.joiners.lock().is_empty()
        && sip.inner.lock().threads.is_empty()
        && sip.handles.lock().live() == 0;
    found.check(empty, || format!("SIP record {n}, free, has something"));
}

fn used(found: &mut Findings, census: &Census, sip: &'static Sip) {
    let (n, id) = (sip.index.load(Relaxed), sip.id());
    let handles = census.sips.get(&id).copied().unwrap_or(0);
    let (wanted, references) = (
        handles + calls::references(sip) + u32::from(!sip.has_ended()),
        sip.references.load(Relaxed),
    );
    found.check(references == wanted, || {
        format!("SIP {id} has {references} references, but {wanted} names")
    });
    let children = sip.children.lock().iter().count() as u32;
    let kept = census.kept.get(&id).copied().unwrap_or(0);
    let resumed = u32::from(sip.is_resumed());
    let wanted = children + kept + resumed;
    let keepers = sip.record_references.load(Relaxed);
    found.check(keepers == wanted, || {
        format!(
            "SIP {id} has {keepers} keepers, but {children} children and {kept} threads that keep it"
        )
    });
    let family = sip
        .children
        .lock()
        .iter()
        .all(|c| c.is_there() && c.parent_sip.is(sip));
    found.check(family && sweep::is_whole(&sip.children.lock()), || {
        format!("a child of SIP {id} is not its, or is free")
    });
    found.check(sip.parent_sip.get().is_none_or(Sip::is_there), || {
        format!("the parent's record of SIP {id} is free")
    });
    found.check(
        (sip.halted.load(Relaxed) & ENDED == 0) == sip.is_alive(),
        || format!("SIP {id} is alive: {}, but not marked so", sip.is_alive()),
    );
    let held = !sip.held.lock().is_empty();
    found.check(!held || sip.is_halted() || sip.is_resumed(), || {
        format!("SIP {id} can run, but threads of it are held")
    });
    let mut threads = true;
    sip.each_thread(|t| threads &= t.is_there() && core::ptr::eq(t.sip(), sip));
    found.check(
        threads && sweep::is_whole(&sip.inner.lock().threads),
        || format!("a thread of SIP {id} is not its, or is free"),
    );
    let closing = sip.closing.lock().iter().all(|member| {
        member.endpoint().is_some_and(|(channel, side)| {
            let inner = channel.lock();
            let end = &inner.ends[side.index()];
            inner.contract.is_some() && (end.closed || end.kept.is_some())
        })
    });
    found.check(closing, || {
        format!("SIP {id} empties an endpoint that is open, or free")
    });
    let legacy = sip.legacy.lock().iter().all(|member| {
        member.endpoint().is_some_and(|(channel, side)| {
            let inner = channel.lock();
            let end = &inner.ends[side.index()];
            let nobodys = end.owner.get().is_none() && !end.closed && end.kept.is_some();
            inner.contract.is_some() && nobodys
        })
    });
    let len = sip.legacy.lock().iter().count() as u32;
    found.check(legacy && len == sip.legacy_len.load(Relaxed), || {
        format!("SIP {id} has a legacy that is another's, or miscounted")
    });
    found.check(!sip.has_ended() || sip.handles.lock().live() == 0, || {
        format!("SIP {id} is gone, but has handles")
    });
    sip.handles.lock().each(|object| {
        let there = match object {
            Object::Endpoint(channel, side, _) => {
                let inner = channel.lock();
                inner.contract.is_some() && inner.ends[side.index()].owner.is(sip)
            }
            Object::Set(set) => set.is_there(),
            Object::Event(event) => event.is_there(),
            Object::Mutex(mutex) => mutex.is_there(),
            Object::Thread(t) => t.is_there(),
            Object::Process(p) => p.is_there(),
            Object::Parked(a) => crate::object::exheap::is_there(*a),
            // The devices' own check looks at these.
            Object::Device(_) | Object::Io(..) | Object::Irq(_) | Object::Queue(..) => true,
            Object::None | Object::Interrupt(_) => true,
        };
        found.check(there, || {
            format!("a handle of SIP {id} (record {n}) names what is not its, or is free")
        });
    });
}
