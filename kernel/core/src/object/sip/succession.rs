//! Successors: a supervised SIP that ends goes on in another one of the same image.
//!
//! Endpoints that it keeps stay open, in whatever protocol state, so that their other sides notice
//! nothing but that an answer takes longer; the messages queued at them stay, too. They are in the
//! list [`Sip::legacy`], first of the SIP that has ended, then of its successor, which takes them
//! one by one. Everything else of the SIP is freed as always.
//!
//! Invariants:
//! - An endpoint in a legacy has no owner, and is not closed by its own side.
//! - A legacy is that of a SIP that runs, or of one that has ended and to which a handle exists. If
//!   the handle is disposed of, whoever had it closes the endpoints; a SIP that has no handle closes
//!   them itself when it ends.
//! - A successor has the image of its predecessor, so that whatever the verifier has found of the
//!   one holds for the other: it gets no endpoint that its image could not use.
//! - A legacy has at most [`MOST`] endpoints; moving it is one step.

use super::Sip;
use crate::ground::work::Work;
use crate::object::channel::Channel;
use crate::object::handle::Object;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_arch::lock::Counter;
use sing_image::manifest::Side;

/// The most endpoints that a SIP keeps for its successor; further ones are closed.
const MOST: u32 = 4096;

impl Sip {
    /// From now on it has a successor when it ends. False if it has ended.
    pub(crate) fn supervise(&self) -> bool {
        let alive = self.is_alive();
        if alive {
            self.supervised.store(true, Relaxed);
        }
        alive
    }

    /// Whether it is to have a successor.
    pub(crate) fn is_supervised(&self) -> bool {
        self.supervised.load(Relaxed)
    }

    /// How many endpoints it has kept, or can still take.
    pub(crate) fn legacy_len(&self) -> u32 {
        self.legacy_len.load(Relaxed)
    }

    /// It will have no successor. If it has ended, `by` gives up what it has kept, in `by`'s own
    /// steps; else it can still take what its predecessor kept, and gives up the rest when it ends.
    pub(super) fn end_succession(&'static self, by: &'static Sip) {
        self.supervised.store(false, Relaxed);
        if self.has_ended() {
            self.give_up_legacy(by);
        }
    }

    /// Has `by` close all that is in the legacy. False if there is nothing.
    pub(super) fn give_up_legacy(&'static self, by: &'static Sip) -> bool {
        let any = !self.legacy.lock().is_empty();
        by.closing.lock().append(&self.legacy.lock());
        self.legacy_len.store(0, Relaxed);
        any
    }

    /// The SIP ends, and an object of its handle table is taken out. False if that is nothing to be
    /// kept.
    pub(super) fn keep_for_successor(&'static self, object: &Object, work: &mut Work) -> bool {
        let Object::Endpoint(channel, side, bits) = *object else {
            return false;
        };
        let len = self.legacy_len.load(Relaxed);
        if !self.is_supervised() || len >= MOST || !channel.keep(side, bits) {
            return false;
        }
        self.legacy.lock().push(channel.member(side));
        self.legacy_len.store(len + 1, Relaxed);
        work.spend(0);
        true
    }

    /// Passes what `predecessor` has kept on to this one.
    pub(crate) fn succeed(&'static self, predecessor: &'static Sip) {
        predecessor.supervised.store(false, Relaxed);
        self.supervised.store(true, Relaxed);
        self.legacy.lock().append(&predecessor.legacy.lock());
        self.legacy_len
            .store(predecessor.legacy_len.load(Relaxed), Relaxed);
        predecessor.legacy_len.store(0, Relaxed);
    }

    /// Gives one of the endpoints that its predecessor kept a handle; that and its tag. It is kept
    /// on.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none; `NO_RESOURCES`, in which case it can be taken later.
    pub(crate) fn take_kept(&'static self) -> Result<(u32, u32), i32> {
        let first = self.legacy.lock().first();
        let Some((channel, side)) = first.and_then(|member| member.endpoint()) else {
            return Err(status::NOT_FOUND);
        };
        let Some(kept) = channel.lock().ends[side.index()].kept else {
            return Err(status::NOT_FOUND);
        };
        let Some(handle) = self.insert(Object::Endpoint(channel, side, kept.bits)) else {
            return Err(status::NO_RESOURCES);
        };
        self.legacy.lock().remove(channel.member(side));
        self.legacy_len.sub(1);
        channel.lock().ends[side.index()].owner.set(Some(self));
        Ok((handle, kept.tag))
    }
}

impl Channel {
    /// Takes a marked endpoint from its owner, which ends. False if it is not marked.
    fn keep(&'static self, side: Side, bits: u32) -> bool {
        if self.lock().ends[side.index()].kept.is_none() {
            return false;
        }
        self.member(side).leave();
        let mut inner = self.lock();
        let end = &mut inner.ends[side.index()];
        end.owner.set(None);
        if let Some(kept) = &mut end.kept {
            kept.bits = bits;
        }
        end.wake_all();
        true
    }
}
