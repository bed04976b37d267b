//! A ring of descriptors and the frames' places, in memory shared with the device.
//!
//! Invariants: the driver's indexes are its own; of the device's words only the descriptor's status,
//! length and errors are looked at, and tested. A ring always keeps a descriptor free, as a full one
//! would look like an empty one.

use crate::register::{BASE, BASE_HIGH, BYTES, HEAD, TAIL};
use sing_sdk::device::{Device, Registers};

/// The bytes of a descriptor and of a frame's place.
pub const DESCRIPTOR: u64 = 16;
pub const PLACE: u64 = 2048;

/// Places in a descriptor: to receive, and to send (command).
const LENGTH: u64 = 8;
const COMMAND: u64 = 11;
const STATE: u64 = 12;
const FAULTS: u64 = 13;
/// The state: done, and the frame's end is here.
const DONE: u8 = 1;
const WHOLE: u8 = 2;
/// The command: the frame's end is here, add the checksum, and say when it is done.
const SEND: u8 = 1 | 2 | 8;

/// A ring.
pub struct Ring {
    registers: u32,
    descriptors: u64,
    places: u64,
    size: u32,
    /// The oldest descriptor that the device has, and the next that it gets.
    first: u32,
    next: u32,
    /// Whether the device knows where the driver's part ends.
    told: bool,
}

/// What the device says of a frame that came.
pub struct Came {
    /// Its bytes.
    pub len: usize,
    /// Whether it is whole.
    pub sound: bool,
    /// Where it lies.
    pub at: u64,
}

impl Ring {
    /// A ring at these zeroed addresses, told to the device.
    pub fn new(registers: &Registers, base: u32, descriptors: u64, places: u64, size: u32) -> Ring {
        registers.write_u32(base + BASE, descriptors as u32);
        registers.write_u32(base + BASE_HIGH, (descriptors >> 32) as u32);
        registers.write_u32(base + BYTES, size * DESCRIPTOR as u32);
        registers.write_u32(base + HEAD, 0);
        registers.write_u32(base + TAIL, 0);
        Ring {
            registers: base,
            descriptors,
            places,
            size,
            first: 0,
            next: 0,
            told: true,
        }
    }

    fn descriptor(&self, index: u32) -> u64 {
        self.descriptors + u64::from(index) * DESCRIPTOR
    }

    fn place(&self, index: u32) -> u64 {
        self.places + u64::from(index) * PLACE
    }

    fn behind(&self, index: u32) -> u32 {
        (index + 1) % self.size
    }

    /// The place of the next frame to send; `None` if the device has all.
    pub fn room(&self) -> Option<u64> {
        (self.behind(self.next) != self.first).then(|| self.place(self.next))
    }

    /// Gives the device the next descriptor, to receive (no length) or to send so many bytes of
    /// the place that [`Ring::room`] has named.
    pub fn give(&mut self, device: &Device, send: Option<u16>) {
        let at = self.descriptor(self.next);
        device.store_u64(at, self.place(self.next));
        device.store_u64(at + LENGTH, 0);
        if let Some(len) = send {
            device.store_u16(at + LENGTH, len);
            device.store_u8(at + COMMAND, SEND);
        }
        self.next = self.behind(self.next);
        self.told = false;
    }

    /// The oldest descriptor, if the device is done with it.
    pub fn done(&self, device: &Device) -> Option<Came> {
        if self.first == self.next {
            return None;
        }
        let at = self.descriptor(self.first);
        let state = device.load_u8(at + STATE);
        if state & DONE == 0 {
            return None;
        }
        let len = device.load_u16(at + LENGTH);
        let faults = device.load_u8(at + FAULTS);
        Some(Came {
            len: len.into(),
            sound: state & WHOLE != 0 && faults == 0 && u64::from(len) <= PLACE,
            at: self.place(self.first),
        })
    }

    /// Takes the oldest descriptor back, which the device is done with.
    pub fn take(&mut self) {
        self.first = self.behind(self.first);
    }

    /// Tells the device of what it was given.
    pub fn tell(&mut self, registers: &Registers) {
        if !core::mem::replace(&mut self.told, true) {
            registers.write_u32(self.registers + TAIL, self.next);
        }
    }
}
