//! Rings of descriptors of an e1000 ([Intel], 3.2 and 3.3), of the legacy form.
//!
//! Invariants: a ring in use has [`MOST`] descriptors at the most, and its indexes are below that
//! number; so a look through it ends.
//!
//! [Intel]: PCI/PCI-X Family of Gigabit Ethernet Controllers, Software Developer's Manual

use super::window::{Nowhere, Reach};
use std::sync::atomic::{Ordering, fence};

/// Bytes of a descriptor, and the most descriptors.
const BYTES: u32 = 16;
const MOST: u32 = 256;

/// Offsets of a ring's registers, from its first one on.
const BASE: u32 = 0x00;
const BASE_HIGH: u32 = 0x04;
const LENGTH: u32 = 0x08;
const HEAD: u32 = 0x10;
pub(super) const TAIL: u32 = 0x18;

/// The state of a descriptor: done, and the frame ends here.
pub(super) const DONE: u8 = 1;
pub(super) const END: u8 = 2;

/// A ring, as the registers have it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ring {
    base: u64,
    bytes: u32,
    head: u32,
    tail: u32,
}

/// A descriptor for a frame to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: u64,
    pub(super) len: u16,
    pub(super) command: u8,
}

impl Ring {
    /// Reads the register at this offset.
    pub(super) fn get(&self, offset: u32) -> u32 {
        match offset {
            BASE => self.base as u32,
            BASE_HIGH => (self.base >> 32) as u32,
            LENGTH => self.bytes,
            HEAD => self.head,
            TAIL => self.tail,
            _ => 0,
        }
    }

    /// Writes it.
    pub(super) fn set(&mut self, offset: u32, value: u32) {
        match offset {
            BASE => self.base = self.base & !0xffff_ffff | u64::from(value & !15),
            BASE_HIGH => self.base = self.base & 0xffff_ffff | u64::from(value) << 32,
            LENGTH => self.bytes = value & 0xf_ff80,
            HEAD => self.head = value & 0xffff,
            TAIL => self.tail = value & 0xffff,
            _ => {}
        }
    }

    /// How many descriptors it has for the device; `None` if it is no ring that can be used.
    pub(super) fn ready(&self) -> Option<u32> {
        let size = self.bytes / BYTES;
        let sound = size <= MOST && self.head.max(self.tail) < size;
        match (size, self.head == self.tail) {
            // Nothing was set up, and nothing is to be done.
            (0, true) => Some(0),
            _ => sound.then(|| (self.tail + size - self.head) % size),
        }
    }

    /// The address of the next descriptor.
    fn next(&self) -> u64 {
        self.base.wrapping_add(u64::from(self.head * BYTES))
    }

    fn go_on(&mut self) {
        self.head = (self.head + 1) % (self.bytes / BYTES).max(1);
    }

    /// The next descriptor, of a frame to send.
    pub(super) fn sent(&self, reach: &mut Reach<'_>) -> Result<Sent, Nowhere> {
        let mut bytes = [0; BYTES as usize];
        reach.read(self.next(), &mut bytes)?;
        let [a, b, c, d, e, f, g, h, low, high, _, command, ..] = bytes;
        Ok(Sent {
            at: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            len: u16::from_le_bytes([low, high]),
            command,
        })
    }

    /// The device is done with the next descriptor to send, and says so if it is asked to.
    pub(super) fn finish(&mut self, reach: &mut Reach<'_>, tell: bool) -> Result<(), Nowhere> {
        if tell {
            fence(Ordering::Release);
            reach.write(self.next().wrapping_add(12), &[DONE])?;
        }
        self.go_on();
        Ok(())
    }

    /// Puts a part of a frame where the next descriptor says; `state` says whether it is the last.
    pub(super) fn receive(
        &mut self,
        reach: &mut Reach<'_>,
        part: &[u8],
        state: u8,
    ) -> Result<(), Nowhere> {
        let mut place = [0; 8];
        reach.read(self.next(), &mut place)?;
        reach.write(u64::from_le_bytes(place), part)?;
        let [low, high] = (part.len() as u16).to_le_bytes();
        let rest = self.next().wrapping_add(8);
        reach.write(rest, &[low, high, 0, 0])?;
        reach.write(rest.wrapping_add(5), &[0; 3])?;
        // It says that all else is there.
        fence(Ordering::Release);
        reach.write(rest.wrapping_add(4), &[state])?;
        self.go_on();
        Ok(())
    }
}
