//! The device: its start, and frames in its terms.

use crate::register as at;
use crate::ring::{DESCRIPTOR, PLACE, Ring};
use core::time::Duration;
use nic_driver::NicDevice;
use sing_sdk::device::{Device, Irq, Registers};
use sing_sdk::dma::{Access, Mapping};
use sing_sdk::prelude::*;
use sing_sdk::thread::sleep;

/// Descriptors to receive and to send.
const RECEIVES: u32 = 128;
const SENDS: u32 = 64;
/// Where the parts of the shared memory lie: both rings in the first page, then the frames.
const SEND_RING: u64 = RECEIVES as u64 * DESCRIPTOR;
const PLACES: u64 = 4096;
const SEND_PLACES: u64 = PLACES + RECEIVES as u64 * PLACE;
const SHARED: u64 = SEND_PLACES + SENDS as u64 * PLACE;

/// How often the end of a reset is looked for, and how long between two looks.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// The card.
pub struct Card {
    device: Device,
    registers: Registers,
    irq: Irq,
    _shared: Mapping,
    receive: Ring,
    send: Ring,
    mac: [u8; 6],
}

impl Card {
    /// Starts the device.
    pub fn start(device: Device) -> Result<Card, Error> {
        let registers = device.registers(0)?;
        if registers.len() < at::END {
            return Err(Error::NotFound);
        }
        let irq = device.irq()?;
        // Whatever it was at, before it can reach anything of ours.
        reset(&registers)?;
        let low = registers.read_u32(at::ADDRESS);
        let high = registers.read_u32(at::ADDRESS_HIGH);
        let [a, b, c, d] = low.to_le_bytes();
        let [e, f, ..] = high.to_le_bytes();
        for word in 0..at::MULTICAST_WORDS {
            registers.write_u32(at::MULTICAST + 4 * word, 0);
        }
        let block = Block::new(SHARED as usize)?;
        let shared = device.map(block, 0..SHARED as u32, Access::Shared)?;
        let base = shared.address();
        let mut receive = Ring::new(&registers, at::RECEIVE_RING, base, base + PLACES, RECEIVES);
        let send = Ring::new(
            &registers,
            at::SEND_RING,
            base + SEND_RING,
            base + SEND_PLACES,
            SENDS,
        );
        while receive.room().is_some() {
            receive.give(&device, None);
        }
        let link = registers.read_u32(at::CONTROL) | at::LINK | at::DETECT;
        registers.write_u32(at::CONTROL, link);
        registers.write_u32(at::GAP, at::USUAL_GAP);
        registers.write_u32(at::SEND, at::SEND_ON);
        registers.write_u32(at::RECEIVE, at::RECEIVE_ON);
        receive.tell(&registers);
        let wanted = at::SENT | at::CHANGED | at::SHORT | at::OVERRUN | at::CAME;
        registers.write_u32(at::WANTED, wanted);
        Ok(Card {
            device,
            registers,
            irq,
            _shared: shared,
            receive,
            send,
            mac: [a, b, c, d, e, f],
        })
    }
}

/// Resets the device, and keeps it from interrupting.
fn reset(registers: &Registers) -> Result<(), Error> {
    let quiet = || {
        registers.write_u32(at::UNWANTED, u32::MAX);
        let _ = registers.read_u32(at::CAUSES);
    };
    quiet();
    registers.write_u32(at::CONTROL, registers.read_u32(at::CONTROL) | at::RESET);
    for _ in 0..LOOKS {
        sleep(PAUSE);
        if registers.read_u32(at::CONTROL) & at::RESET == 0 {
            quiet();
            return Ok(());
        }
    }
    Err(Error::Timeout)
}

impl NicDevice for Card {
    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn is_up(&self) -> bool {
        self.registers.read_u32(at::STATUS) & at::LINK_UP != 0
    }

    fn irq(&self) -> &Irq {
        &self.irq
    }

    fn interrupted(&mut self) {
        let _ = self.registers.read_u32(at::CAUSES);
    }

    fn receive(&mut self, frame: &mut [u8]) -> Result<usize, Error> {
        let came = self.receive.done(&self.device).ok_or(Error::WouldBlock)?;
        let len = came.len;
        let sound = came.sound && len <= frame.len();
        if sound {
            self.device.copy_out(came.at, &mut frame[..len]);
        }
        self.receive.take();
        self.receive.give(&self.device, None);
        Ok(if sound { len } else { 0 })
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        while self.send.done(&self.device).is_some() {
            self.send.take();
        }
        let place = self.send.room().ok_or(Error::WouldBlock)?;
        self.device.copy_in(place, frame);
        self.send.give(&self.device, Some(frame.len() as u16));
        Ok(())
    }

    /// An interrupt comes for all that the device does, however soon.
    fn notify(&mut self) -> bool {
        self.receive.tell(&self.registers);
        self.send.tell(&self.registers);
        false
    }
}
