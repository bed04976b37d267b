//! Invariants of channels' records ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{CHANNELS, Channel, End};
use crate::object::sip::Sip;
use crate::object::sweep::{self, Findings};
use crate::object::thread::Thread;
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;
use sing_image::manifest::Side;

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings) {
    for channel in CHANNELS.all() {
        found.seen();
        let n = channel.index.load(Relaxed);
        let (there, marked) = (sweep::is_there(channel), CHANNELS.has(n, channel));
        found.check(there == marked, || {
            format!("channel {n} has a contract: {there}, but is in use: {marked}")
        });
        for side in [Side::Imp, Side::Exp] {
            let inner = channel.lock();
            let end = &inner.ends[side.index()];
            let receiver = end.receiver.get();
            let waiters = sweep::is_whole(&end.waiters);
            let known = end.waiters.iter().all(|node| node.is_there());
            if !there {
                found.check(receiver.is_none() && end.waiters.is_empty(), || {
                    format!("a thread waits at channel {n}, which is free")
                });
                let linked = channel.member(side).is_linked();
                found.check(!linked, || {
                    format!("channel {n}, free, is in a set, or to be emptied")
                });
                continue;
            }
            found.check(receiver.is_none_or(|t| waits(t, channel, side)), || {
                format!("a thread is to be woken at channel {n} that does not wait there")
            });
            found.check(waiters && known, || {
                format!("a thread waits at channel {n} whose record is free")
            });
            found.check(well_owned(end), || {
                format!("channel {n} is a SIP's whose record is free, or that is gone")
            });
        }
    }
}

fn waits(t: &'static Thread, channel: &'static Channel, side: Side) -> bool {
    t.is_there() && t.waits_at(channel.member(side))
}

fn well_owned(end: &End) -> bool {
    end.owner
        .get()
        .is_none_or(|s: &Sip| s.is_there() && !s.has_ended())
}
