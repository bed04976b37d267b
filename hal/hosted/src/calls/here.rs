//! The request of the thread that runs the kernel for it: the kernel reads it where that thread has it, and puts
//! the answer down beside it. Nothing is copied, queued or woken.
//!
//! Invariants:
//! - One request at most is here: its thread has the baton. The kernel runs on that thread from when it is put
//!   here ([`Here::put`]) until it is taken away ([`Here::end`]), and both are done by it.
//! - A request is read once. One that the kernel cannot take yet is queued as any other.
//! - What is answered when it is not here any more is waited for as the answers of others are ([`super::answer`]).

use super::Reply;
use sing_calls::Request;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The place of such a request.
#[derive(Default)]
pub(super) struct Here {
    /// The request that the kernel has yet to take; null if there is none.
    request: AtomicPtr<Request<'static>>,
    /// The number of the request that is here; 0 if none is.
    id: AtomicU64,
    /// Its answer.
    reply: Mutex<Option<Reply>>,
}

impl Here {
    /// Puts a request here.
    ///
    /// # Safety
    /// It stays where it is until [`Here::end`].
    pub(super) unsafe fn put(&self, request: &Request<'_>) {
        let at = ptr::from_ref(request).cast_mut().cast();
        self.id.store(request.id, Relaxed);
        self.request.store(at, Release);
    }

    /// Whether a request is here that the kernel has not taken.
    pub(super) fn waits(&self) -> bool {
        !self.request.load(Relaxed).is_null()
    }

    /// Takes the request, and gives it to `serve`: what that says. `None` if there is none.
    pub(super) fn take<R>(&self, serve: impl FnOnce(&Request<'_>) -> R) -> Option<R> {
        if !self.waits() {
            return None;
        }
        let at = self.request.swap(ptr::null_mut(), Acquire);
        // SAFETY: `put` was given a reference that is valid until `end`, which has yet to come: whoever
        // calls it would have found null. The function cannot keep what it is given.
        let request = unsafe { at.as_ref() };
        request.map(serve)
    }

    /// Whether the request of this number is here.
    pub(super) fn has(&self, id: u64) -> bool {
        id != 0 && self.id.load(Relaxed) == id
    }

    /// Puts the answer down of the request that is here.
    pub(super) fn answer(&self, reply: Reply) {
        *super::locked(&self.reply) = Some(reply);
    }

    /// Takes the request away; its answer, if that has come.
    pub(super) fn end(&self) -> Option<Reply> {
        self.request.store(ptr::null_mut(), Relaxed);
        self.id.store(0, Relaxed);
        super::locked(&self.reply).take()
    }
}
