//! A pair of queues: commands to the device, and its answers.
//!
//! Invariant: no more commands are under way than there is room for answers, so neither queue
//! overtakes itself.

use crate::command::{Command, Completion};
use sing_sdk::device::{Device, Registers};
use sing_sdk::prelude::*;

/// Where the registers begin that say how far a queue has been filled or emptied.
const DOORBELLS: u32 = 0x1000;

/// A pair of queues.
pub struct Pair {
    /// Addresses, shared with the device.
    commands: u64,
    answers: u64,
    /// Entries of each.
    size: u16,
    /// The next command's place, and the next answer's.
    tail: u16,
    head: u16,
    /// What the next answer's phase is.
    phase: bool,
    /// The registers of both.
    bells: [u32; 2],
}

impl Pair {
    /// Number `index` of the device's pairs, which lie zeroed at these addresses; `stride` is the
    /// distance of the registers. [`Error::NotFound`] if the device has no such registers.
    pub fn new(
        registers: &Registers,
        index: u32,
        stride: u32,
        [commands, answers]: [u64; 2],
        size: u16,
    ) -> Result<Pair, Error> {
        let bell = |i: u32| DOORBELLS + (2 * index + i) * stride;
        if bell(1) + 4 > registers.len() {
            return Err(Error::NotFound);
        }
        Ok(Pair {
            commands,
            answers,
            size,
            tail: 0,
            head: 0,
            phase: true,
            bells: [bell(0), bell(1)],
        })
    }

    /// How many commands may be under way: a full queue would look like an empty one.
    pub fn room(&self) -> usize {
        usize::from(self.size - 1)
    }

    /// Writes a command behind the others. The device learns of it by [`Pair::notify`].
    pub fn put(&mut self, device: &Device, command: &Command) {
        let at = self.commands + u64::from(u32::from(self.tail) * Command::BYTES);
        device.copy_in(at, &command.encode());
        self.tail = (self.tail + 1) % self.size;
    }

    /// Tells the device of the commands that have been put.
    pub fn notify(&self, registers: &Registers) {
        registers.write_u32(self.bells[0], self.tail.into());
    }

    /// Takes an answer; `None` if there is none.
    pub fn take(&mut self, device: &Device) -> Option<Completion> {
        let at = self.answers + u64::from(u32::from(self.head) * Completion::BYTES);
        let last = device.load_u32(at + u64::from(Completion::LAST));
        let answer = Completion::of(last, self.phase)?;
        self.head = (self.head + 1) % self.size;
        if self.head == 0 {
            self.phase = !self.phase;
        }
        Some(answer)
    }

    /// Tells the device which answers have been taken.
    pub fn taken(&self, registers: &Registers) {
        registers.write_u32(self.bells[1], self.head.into());
    }
}
