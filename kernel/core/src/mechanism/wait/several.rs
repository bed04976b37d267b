//! A wait for any of several things: a thread has a node in the list of each.

use super::{LOST, NO_ROOM, On, TIMED_OUT, WAITING, WaitNode, is_same, settle};
use crate::ground::trusted::Store;
use crate::object::account::Account;
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::slab::Slab;
use sing_runtime::Charged;

/// What a thread waits for in [`Thread::wait_any`], each with a node in its list. A wait for one thing needs no memory.
#[derive(Default)]
pub(super) struct Many {
    pub(super) first: Option<On>,
    more: Charged<On>,
    /// Nodes for `more`, as many as were ever needed. They go with the thread.
    pub(super) nodes: Charged<&'static WaitNode>,
}

static NODES: Slab<WaitNode> = Slab::new();

/// The stores of places in wait lists.
pub(crate) fn stores() -> [&'static dyn Store; 1] {
    [&NODES]
}

impl Many {
    /// Sees to it that there is room for so many things. False where memory is short, or the account has no room.
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

    /// Gives the nodes back, which are in no list.
    pub(super) fn dispose(&mut self, account: &'static Account) {
        // Room for nodes comes after room for what they are for.
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
    /// Waits for the first of several things; `ready` is asked, under no lock, before it sleeps and each time
    /// it wakes, and returns the index of one that is. It is told which one has woken the thread, and returns that where
    /// it is: nobody else was woken for it. `TIMED_OUT` where the deadline passes first. `held` is asked each
    /// time it wakes, before `ready`: whether the SIP still has all of them. What it has not may stand for something of
    /// another SIP by now, so that a look at it would already be too much: `LOST`. `NO_ROOM` where it cannot wait for as many.
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

    /// Puts the thread's nodes into the wait lists of several things, for which there is room.
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
            // What is named twice is waited for once: whoever wakes all who wait comes by each thread once.
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
