//! The device: its features, its address, and frames in its terms ([virtio], 5.1).
//!
//! Each frame on its way has a block of the driver's own, with the device's head before it. Blocks
//! to receive are always with the device; those to send are kept when they are not.
//!
//! [virtio]: https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html

use nic_driver::NicDevice;
use sing_sdk::device::{Device, Done, Irq, MAX_QUEUE, Part, Queue, Registers};
use sing_sdk::frames::LONGEST;
use sing_sdk::prelude::*;

/// Features: the configuration has an address, and says whether there is a network.
const MAC: u64 = 1 << 5;
const STATUS: u64 = 1 << 16;

/// Places in the device's configuration, and the bit of the status that says so.
const STATUS_AT: u32 = 6;
const LINK_UP: u16 = 1;

/// The queues.
const RECEIVE: u32 = 0;
const SEND: u32 = 1;

/// The bytes before a frame: nothing is left to the other side, so all are zero.
const HEAD: usize = 12;
/// The bytes of a frame's block, which so never crosses a page.
const BLOCK: usize = 2048;
/// Blocks to receive and to send.
const RECEIVES: usize = 128;
const SENDS: usize = 64;

/// The address of a card that has none: one of those for local use.
const NO_MAC: [u8; 6] = [0x52, 0x54, 0, 0x53, 0x49, 0x4e];

/// The card.
pub struct Card {
    // Dropped first: nothing is under way then.
    receive: Queue,
    send: Queue,
    irq: Irq,
    registers: Registers,
    _device: Device,
    /// Blocks to send that are not under way.
    free: Vec<Block>,
    mac: [u8; 6],
    has_status: bool,
    /// Whether the device knows of all that it was given, to receive and to send.
    told: [bool; 2],
}

impl Card {
    /// Starts the device.
    pub fn start(device: Device) -> Result<Card, Error> {
        let features = device.reset()? & (MAC | STATUS);
        device.accept(features)?;
        let registers = device.registers(0)?;
        let mut mac = NO_MAC;
        if features & MAC != 0 {
            for (i, byte) in mac.iter_mut().enumerate() {
                *byte = registers.read_u8(i as u32);
            }
        }
        let irq = device.irq()?;
        let receive = device.queue(RECEIVE, MAX_QUEUE)?;
        let send = device.queue(SEND, MAX_QUEUE)?;
        device.ready()?;
        let mut card = Card {
            receive,
            send,
            irq,
            registers,
            _device: device,
            free: Vec::new(),
            mac,
            has_status: features & STATUS != 0,
            told: [true; 2],
        };
        for _ in 0..RECEIVES {
            if !card.give(vec![Block::new(BLOCK)?])? {
                break;
            }
        }
        for _ in 0..SENDS {
            card.free.push(Block::new(BLOCK)?);
        }
        // The server looks for frames before it waits for the first interrupt.
        let _ = card.notify();
        Ok(card)
    }

    /// Gives the device a block to receive. Whether it had room.
    fn give(&mut self, block: Vec<Block>) -> Result<bool, Error> {
        let part = Part::written(0, 0..BLOCK as u32);
        match self.receive.add(block, &[part]) {
            Ok(_) => {
                self.told[0] = false;
                Ok(true)
            }
            Err(refused) if refused.error == Error::WouldBlock => Ok(false),
            Err(refused) => Err(refused.error),
        }
    }
}

impl NicDevice for Card {
    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn is_up(&self) -> bool {
        !self.has_status || self.registers.read_u16(STATUS_AT) & LINK_UP != 0
    }

    fn irq(&self) -> &Irq {
        &self.irq
    }

    fn receive(&mut self, frame: &mut [u8]) -> Result<usize, Error> {
        let Done {
            written, blocks, ..
        } = self.receive.take()?;
        // A request that was lost is one of a device that was reset.
        let written = written.ok_or(Error::Closed)? as usize;
        let len = written.saturating_sub(HEAD);
        let block = blocks.first().ok_or(Error::BadState)?;
        let sound = written <= BLOCK && len <= frame.len();
        if sound && len > 0 {
            block.read(HEAD, &mut frame[..len]);
        }
        self.give(blocks)?;
        Ok(if sound { len } else { 0 })
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        if self.free.is_empty() {
            loop {
                match self.send.take() {
                    Ok(done) => self.free.extend(done.blocks),
                    Err(Error::WouldBlock) => break,
                    Err(e) => return Err(e),
                }
            }
        }
        let mut block = self.free.pop().ok_or(Error::WouldBlock)?;
        debug_assert!(frame.len() <= LONGEST);
        block.write(HEAD, frame);
        let part = Part::read(0, 0..(HEAD + frame.len()) as u32);
        match self.send.add(vec![block], &[part]) {
            Ok(_) => {
                self.told[1] = false;
                Ok(())
            }
            Err(mut refused) => {
                self.free.append(&mut refused.content);
                Err(refused.error)
            }
        }
    }

    fn notify(&mut self) -> bool {
        let mut done = false;
        for (queue, told) in [&self.receive, &self.send].into_iter().zip(&mut self.told) {
            if !core::mem::replace(told, true) {
                done |= queue.notify();
            }
        }
        done
    }
}
