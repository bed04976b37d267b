//! A wait for any of several objects: a thread has a node in the wait list of each.
//!
//! Invariant: these nodes are in lists only while the thread waits.

pub(crate) mod layout;

use super::{LOST, NO_ROOM, On, TIMED_OUT, WAITING, WaitNode, is_same, settle};
use crate::ground::trusted::Store;
use crate::ground::trusted::variables;
use crate::object::account::Account;
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::slab::Slab;
use sing_runtime::Charged;

/// The objects that a thread waits for in [`Thread::wait_any`], each with a node in its list. The
/// first one's node is in the thread's record, so that a wait for one object needs no memory.
#[derive(Default)]
pub(super) struct Many {
    pub(super) first: Option<On>,
    more: Charged<On>,
    /// Nodes for `more`, as many as were ever needed. They are freed with the thread.
    pub(super) nodes: Charged<&'static WaitNode>,
}

variables! { forget:
    static NODES: Slab<WaitNode> = Slab::new();
}

/// The stores of nodes of wait lists.
pub(crate) fn stores() -> [&'static dyn Store; 1] {
    [&NODES]
}

impl Many {
    /// Reserves nodes for `count` objects. False if memory is short, or the account has no room.
    fn reserve(&mut self, count: usize, thread: &'static Thread) -> bool {
        let Some(more @ 1..) = count.checked_sub(1) else {
            return true;
        };
        let account = thread.sip().account();
        let lists = more.saturating_sub(self.nodes.len());
        if self.more.reserve_exact(more, account).is_err()
            || self.nodes.reserve_exact(lists, account).is_err()
        {
            return false;
        }
        while self.nodes.len() < more {
            if !account.charge(Slab::<WaitNode>::RECORD) {
                return false;
            }
            let Some((record, node)) = NODES.take() else {
                account.discharge(Slab::<WaitNode>::RECORD);
                return false;
            };
            node.record.store(record, Relaxed);
            node.thread.set(Some(thread));
            if self.nodes.push(node, account).is_err() {
                return false;
            }
        }
        true
    }

    /// Frees the nodes, which are in no list.
    pub(super) fn dispose(&mut self, account: &'static Account) {
        // Room for `more` is reserved before any node.
        if self.more.bytes() == 0 {
            return;
        }
        for node in self.nodes.iter() {
            NODES.give(node.record.load(Relaxed));
            account.discharge(Slab::<WaitNode>::RECORD);
        }
        *self = Many::default();
    }
}

impl Thread {
    /// Waits for the first of several objects: its index in `on`, `TIMED_OUT` if the deadline
    /// passes first, `LOST` if the SIP has lost one of them, or `NO_ROOM` if there is no memory for
    /// so many nodes.
    ///
    /// `ready` is called, under no lock, before the thread sleeps and each time it wakes; it
    /// returns the index of an object that is ready. Its argument is the index that the thread was
    /// woken for. It must return that one if it is ready, as nobody else was woken for it.
    ///
    /// `held` is called each time the thread wakes, before `ready`: whether the SIP still has all
    /// of the objects. The record of one that it has lost may belong to another SIP by now, so even
    /// checking it would be wrong.
    pub(crate) fn wait_any(
        &'static self,
        on: &[On],
        deadline: u64,
        held: impl Fn() -> bool,
        mut ready: impl FnMut(Option<u32>) -> Option<u32>,
    ) -> u32 {
        let mut woken_for = None;
        loop {
            if !settle(on, &held) {
                return LOST;
            }
            if let Some(i) = ready(woken_for) {
                return i;
            }
            if deadline != u64::MAX && crate::ground::machine::hal().now() >= deadline {
                return TIMED_OUT;
            }
            if !self.wait.many.lock().reserve(on.len(), self) {
                return NO_ROOM;
            }
            self.wait.phase.store(WAITING, Relaxed);
            self.link(on);
            let woken = self.sleep_until(deadline);
            woken_for = (woken != TIMED_OUT).then_some(woken);
            self.unlink();
            if !held() {
                return LOST;
            }
        }
    }

    /// Puts the thread's nodes into the wait lists of several objects; the nodes are reserved.
    fn link(&'static self, on: &[On]) {
        let Some((&first, more)) = on.split_first() else {
            return;
        };
        let mut many = self.wait.many.lock();
        many.first = Some(first);
        self.wait.one.thread.set(Some(self));
        self.wait.one.index.store(0, Relaxed);
        first.with_waiters(&mut |list| list.push(&self.wait.one));
        let Many {
            more: all, nodes, ..
        } = &mut *many;
        let mut nodes = nodes.iter();
        for (i, &w) in (1..).zip(more) {
            // An object that is named twice gets one node: a wake-up of all waiters visits each
            // thread once.
            let again = on.iter().take(i as usize).any(|&other| is_same(other, w));
            if !again
                && all.push(w, self.sip().account()).is_ok()
                && let Some(node) = nodes.next()
            {
                node.index.store(i, Relaxed);
                w.with_waiters(&mut |list| list.push(node));
            }
        }
    }

    /// Takes the thread's nodes out of all wait lists.
    pub(crate) fn unlink(&'static self) {
        let mut many = self.wait.many.lock();
        if let Some(first) = many.first.take() {
            first.with_waiters(&mut |list| {
                list.remove(&self.wait.one);
            });
        }
        for (w, node) in many.more.iter().zip(many.nodes.iter()) {
            w.with_waiters(&mut |list| {
                list.remove(node);
            });
        }
        many.more.clear();
    }
}
