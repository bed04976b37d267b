//! The loop: packets that the machine sends to itself.
//!
//! Invariant: it holds few packets more than [`MOST`]; when it is full, senders wait.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sing_packets::icmp::Heard;
use smoltcp::phy::{ChecksumCapabilities, DeviceCapabilities, Medium};

/// Packets at a time.
const MOST: usize = 256;
/// Bytes of a packet.
const MTU: usize = 16 << 10;

#[derive(Default)]
pub struct Loop {
    packets: VecDeque<Vec<u8>>,
    /// What its packets say of others.
    pub heard: Vec<Heard>,
}

impl Loop {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn has_room(&self) -> bool {
        self.packets.len() < MOST
    }

    pub fn push(&mut self, packet: Vec<u8>) {
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    /// The most bytes of a packet.
    pub const fn mtu() -> usize {
        MTU
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
