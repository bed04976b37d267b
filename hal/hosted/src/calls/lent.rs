//! Blocks of messages that the host has received, and reads where they lie.
//!
//! Invariants:
//! - A block is given back to the kernel once, when what has it here is dropped; until then it stays where
//!   it is, and its bytes are not changed.
//! - Its bytes are read only while the system is borrowed, so not after that has been dropped. A system that
//!   ends by itself is not taken down while the host has blocks ([`Loans::wait`]).
//! - In a fork, which may not have the system's memory, a block has no bytes.

use super::Port;
use super::answer::locked;
use crate::embed::Running;
use sing_calls::Given;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Blocks that are given back before the kernel is told of it: what that costs, they share.
pub(super) const UNTOLD: usize = 32;

/// How many blocks the host has.
#[derive(Default)]
pub(super) struct Loans {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Loans {
    fn lent(&self) {
        *locked(&self.count) += 1;
    }

    pub(super) fn returned(&self) {
        let mut count = locked(&self.count);
        *count = count.saturating_sub(1);
        drop(count);
        self.changed.notify_all();
    }

    /// Has who waits look again.
    pub(super) fn look(&self) {
        drop(locked(&self.count));
        self.changed.notify_all();
    }

    /// Waits until the host has none, or this is so.
    pub(super) fn wait(&self, is_over: impl Fn() -> bool) {
        let mut count = locked(&self.count);
        while *count > 0 && !is_over() {
            count = self
                .changed
                .wait(count)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A message that has come.
#[derive(Debug)]
pub struct Message {
    /// Its index in the contract.
    pub index: u32,
    /// What it brings.
    pub words: Vec<Word>,
}

/// A word of a message.
#[derive(Debug)]
pub enum Word {
    /// A number.
    Number(u64),
    /// No block, where one may be.
    Nothing,
    /// A block.
    Block(Lent),
}

impl Message {
    pub(super) fn new(port: &Arc<Port>, index: u32, words: &[Given]) -> Message {
        let word = |given: &Given| match *given {
            Given::Number(number) => Word::Number(number),
            Given::Nothing => Word::Nothing,
            Given::Block {
                number,
                address,
                len,
            } => {
                port.loans.lent();
                Word::Block(Lent {
                    port: Arc::clone(port),
                    number,
                    address,
                    len,
                })
            }
        };
        Message {
            index,
            words: words.iter().map(word).collect(),
        }
    }
}

/// A block that the kernel has lent: to be read with the system at hand ([`Running::held`]). Dropping it gives
/// it back.
#[derive(Debug)]
pub struct Lent {
    port: Arc<Port>,
    number: u32,
    address: u64,
    len: u32,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.port.give_back(self.number);
    }
}

/// A block that is read where it lies: its bytes. Dropping it gives it back.
#[derive(Debug)]
pub struct Held<'r> {
    lent: Lent,
    running: PhantomData<&'r Running>,
}

impl Running {
    /// A block of this system's, to be read; `None` if it is another's.
    #[must_use]
    pub fn held(&self, lent: Lent) -> Option<Held<'_>> {
        Arc::ptr_eq(&lent.port, self.port()).then_some(Held {
            lent,
            running: PhantomData,
        })
    }
}

impl Deref for Held<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.lent.port.is_elsewhere() {
            return &[];
        }
        let (at, len) = (self.lent.address as *const u8, self.lent.len as usize);
        // SAFETY: the kernel has said so of a block that it gives to the host (`Given::Block`): its bytes lie
        // there, and are neither changed nor freed before it is given back, which dropping this does. They are
        // accessible until the machine is taken down: not while the system is borrowed, as `Running` is, unless
        // it ends by itself, and then not while a block is out (`Port::wait_for_loans`).
        unsafe { std::slice::from_raw_parts(at, len) }
    }
}
