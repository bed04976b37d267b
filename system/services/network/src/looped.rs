//! The loop: packets that the machine sends to itself.
//!
//! Invariant: it holds few packets more than [`MOST`]; when it is full, senders wait.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use smoltcp::phy::{ChecksumCapabilities, DeviceCapabilities, Medium};

/// Packets at a time.
const MOST: usize = 256;
/// Bytes of a packet.
const MTU: usize = 16 << 10;

#[derive(Default)]
pub struct Loop(VecDeque<Vec<u8>>);

impl Loop {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has_room(&self) -> bool {
        self.0.len() < MOST
    }

    pub fn push(&mut self, packet: Vec<u8>) {
        self.0.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.0.pop_front()
    }

    pub fn capabilities() -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ip;
        all.max_transmission_unit = MTU;
        // What never leaves the memory of this program is not damaged on the way.
        all.checksum = ChecksumCapabilities::ignored();
        all
    }
}
