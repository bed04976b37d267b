//! The loop: packets that the machine sends to itself.
//!
//! Invariant: it holds at most [`MOST`] packets; further ones are lost, as on any link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

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
}

pub struct Taken(Vec<u8>);
pub struct Free<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Taken {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Free<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut packet = alloc::vec![0; len];
        let done = fill(&mut packet);
        self.0.push_back(packet);
        done
    }
}

impl Device for Loop {
    type RxToken<'a> = Taken;
    type TxToken<'a> = Free<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Taken, Free<'_>)> {
        let packet = self.0.pop_front()?;
        Some((Taken(packet), Free(&mut self.0)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Free<'_>> {
        (self.0.len() < MOST).then_some(Free(&mut self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ip;
        all.max_transmission_unit = MTU;
        // What never leaves the memory of this program is not damaged on the way.
        all.checksum = smoltcp::phy::ChecksumCapabilities::ignored();
        all
    }
}
