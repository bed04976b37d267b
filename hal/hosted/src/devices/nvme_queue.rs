//! Queues of an NVMe controller: rings in memory that the driver shares with it.
//!
//! Invariants: an index is always below its queue's size. A command is taken only if there is room
//! for its answer, so an answer that comes later has its place. What a queue has lost is lost: an
//! answer to a queue that was made anew since goes nowhere ([`Submission::name`]).

use super::nvme_command::{BYTES, Command, Fault};
use super::window::{Nowhere, Reach};
use std::sync::atomic::{Ordering, fence};

/// Bytes of an answer.
const ANSWER: u64 = 16;

/// A queue of commands.
pub(super) struct Submission {
    pub(super) at: u64,
    pub(super) size: u32,
    /// The next command to take, and where those end that the driver has put.
    pub(super) head: u32,
    pub(super) tail: u32,
    /// The queue for answers.
    pub(super) answers: usize,
    /// What no other queue of the controller had before, nor will have.
    pub(super) name: u64,
    /// Commands that have no answer yet.
    pub(super) under: u32,
}

/// A queue of answers.
pub(super) struct Completion {
    pub(super) at: u64,
    pub(super) size: u32,
    /// The first answer that the driver has not taken, and the next place.
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) phase: bool,
    pub(super) interrupts: bool,
    /// Answers that are still to come.
    pub(super) under: u32,
}

impl Submission {
    pub(super) fn new(at: u64, size: u32, answers: usize, name: u64) -> Submission {
        Submission {
            at,
            size,
            head: 0,
            tail: 0,
            answers,
            name,
            under: 0,
        }
    }

    /// Takes the next command; `None` if there is none.
    pub(super) fn take(&mut self, reach: &mut Reach<'_>) -> Result<Option<Command>, Nowhere> {
        if self.head == self.tail {
            return Ok(None);
        }
        let mut bytes = [0; BYTES as usize];
        // Queues lie below 2^64 less a page.
        reach.read(
            self.at.wrapping_add(u64::from(self.head) * BYTES),
            &mut bytes,
        )?;
        self.head = (self.head + 1) % self.size;
        self.under += 1;
        Ok(Some(Command::of(&bytes)))
    }

    /// The driver says where its commands end. False if that is nowhere in the queue.
    pub(super) fn set_tail(&mut self, tail: u32) -> bool {
        self.tail = tail.min(self.size - 1);
        tail < self.size
    }
}

impl Completion {
    pub(super) fn new(at: u64, size: u32, interrupts: bool) -> Completion {
        Completion {
            at,
            size,
            head: 0,
            tail: 0,
            phase: true,
            interrupts,
            under: 0,
        }
    }

    /// Answers that the driver has not taken.
    fn used(&self) -> u32 {
        (self.tail + self.size - self.head) % self.size
    }

    /// Whether there is room for the answer to one more command.
    pub(super) fn has_room(&self) -> bool {
        self.used() + self.under + 1 < self.size
    }

    /// The driver says how far it has taken the answers. False if there are none up to there.
    pub(super) fn set_head(&mut self, head: u32) -> bool {
        let sound = head < self.size && (head + self.size - self.head) % self.size <= self.used();
        if sound {
            self.head = head;
        }
        sound
    }

    /// Puts an answer, for which there is room.
    pub(super) fn put(&mut self, reach: &mut Reach<'_>, answer: &Answer) -> Result<(), Nowhere> {
        let at = self.at.wrapping_add(u64::from(self.tail) * ANSWER);
        let status = answer.result.err().map_or(0, |fault| fault.0);
        let word = answer.result.unwrap_or(0);
        let place = answer.head | u32::from(answer.queue) << 16;
        let last = u32::from(answer.number) | u32::from(self.phase) << 16 | u32::from(status) << 17;
        reach.write(at, &word.to_le_bytes())?;
        reach.write(at.wrapping_add(4), &[0; 4])?;
        reach.write(at.wrapping_add(8), &place.to_le_bytes())?;
        // Its phase says that it is there: after all else.
        fence(Ordering::Release);
        reach.write(at.wrapping_add(12), &last.to_le_bytes())?;
        self.under = self.under.saturating_sub(1);
        self.tail = (self.tail + 1) % self.size;
        self.phase ^= self.tail == 0;
        Ok(())
    }
}

/// An answer.
pub(super) struct Answer {
    /// The queue of the command, and how far it has been taken.
    pub(super) queue: u16,
    pub(super) head: u32,
    /// The command's number.
    pub(super) number: u16,
    /// What the command says beside that it was done.
    pub(super) result: Result<u32, Fault>,
}
