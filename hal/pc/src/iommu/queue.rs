//! A unit's queue of what it shall forget (Intel VT-d, 6.5.2): the only way to make it forget
//! entries of the table of interrupts, and where it is switched on, the only way for the rest.
//!
//! Invariants:
//! - One request is under way at a time: it counts as done when the unit has written that request's
//!   own number behind the queue. A number that comes late is that of none.
//! - A unit that reports an error, or does not answer in time, has confirmed nothing; it goes on
//!   doing so, as it does not get past the request.

use super::registers::Unit;
use super::written;
use crate::memory::{self, LOW, PAGE, Run};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

const HEAD: u64 = 0x80;
const TAIL: u64 = 0x88;
const ADDRESS: u64 = 0x90;
/// Requests that fit in its page, of two words each.
const ENTRIES: u64 = 256;
/// The word of the page behind it where the unit writes the number of a request.
const ANSWER: usize = 512;

/// What a unit shall forget.
#[derive(Clone, Copy, Debug)]
pub enum Forget {
    /// All contexts.
    Contexts,
    /// The translations of a domain, or all; after what is under way has ended, as far as the unit
    /// can see to that (two bits).
    Pages(Option<u16>, u64),
    /// All entries of the table of interrupts.
    Interrupts,
}

impl Forget {
    fn word(self) -> u64 {
        match self {
            Forget::Contexts => 1 | 1 << 4,
            Forget::Pages(None, drains) => 2 | 1 << 4 | drains << 6,
            Forget::Pages(Some(domain), drains) => {
                2 | 2 << 4 | drains << 6 | u64::from(domain) << 16
            }
            Forget::Interrupts => 4,
        }
    }
}

/// The queue.
pub struct Queue {
    pages: Run,
    /// The number of the last request.
    number: AtomicU64,
    incoherent: bool,
}

impl core::fmt::Debug for Queue {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl Queue {
    /// A queue for a unit whose own is switched off. `None` if memory is short.
    pub fn new(unit: &Unit) -> Option<Queue> {
        let pages = memory::take_run(2, PAGE, LOW)?;
        unit.write64(TAIL, 0);
        unit.write64(ADDRESS, pages.physical().start);
        let incoherent = unit.is_incoherent();
        written(incoherent, pages.words());
        Some(Queue {
            pages,
            number: AtomicU64::new(0),
            incoherent,
        })
    }

    /// Lets the unit forget. Whether it has confirmed that.
    pub fn forget(&self, unit: &Unit, what: Forget) -> bool {
        const WAIT: u64 = 5 | 1 << 5;
        // Bytes; a request has 16, and two are written.
        let place = |register| unit.read64(register) / 16 % ENTRIES;
        let (head, tail) = (place(HEAD), place(TAIL));
        if (head + ENTRIES - tail - 1) % ENTRIES < 2 {
            return false;
        }
        let number = self.number.fetch_add(1, SeqCst).wrapping_add(1) & u64::from(u32::MAX);
        let words = self.pages.words();
        let answer = self.pages.physical().start + ANSWER as u64 * 8;
        let requests = [(what.word(), 0), (WAIT | number << 32, answer)];
        for (at, (first, second)) in (tail..).zip(requests) {
            let at = (at % ENTRIES * 2) as usize;
            words[at].store(first, SeqCst);
            words[at + 1].store(second, SeqCst);
            written(self.incoherent, &words[at..at + 2]);
        }
        unit.write64(TAIL, (tail + 2) % ENTRIES * 16);
        let told = || words[ANSWER].load(SeqCst) & u64::from(u32::MAX) == number;
        unit.wait(|| told() || unit.has_queue_error()) && told()
    }
}
