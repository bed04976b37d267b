//! The device: a 16550 with its FIFOs, by interrupt in both directions.
//!
//! Its interrupts are edges: one comes when the device begins to have something to tell. So
//! [`Line::listen`] is called after each time that it was served, which makes the device tell again
//! what it may still have to tell.

use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::contracts::Parity;
use sing_sdk::device::{Device, Irq, Registers};
use sing_sdk::prelude::*;

/// Registers; the first two are those of the speed while `SPEED` is set.
const DATA: u32 = 0;
const INTERRUPTS: u32 = 1;
const FIFO: u32 = 2;
const FORMAT: u32 = 3;
const MODEM: u32 = 4;
const STATUS: u32 = 5;
/// Interrupts: something was received, or has come in a wrong way; all is sent.
const RECEIVED: u8 = 1 | 4;
const SENT: u8 = 2;
/// FIFOs on and empty; an interrupt when 8 bytes are there, or fewer that nobody has taken.
const FIFOS_ON: u8 = 0x87;
/// Bits of the format: two stop bits, a parity bit, which is even; break; the speed's registers.
const TWO_STOPS: u8 = 4;
const WITH_PARITY: u8 = 8;
const EVEN: u8 = 0x10;
const BREAK: u8 = 0x40;
const SPEED: u8 = 0x80;
/// Modem signals: here is a terminal; the far end may send; interrupts leave the device.
const READY: u8 = 1;
const MAY_SEND: u8 = 2;
const INTERRUPTS_OUT: u8 = 8;
/// Bits of the status.
const HAS_RECEIVED: u8 = 1;
const OVERRUN: u8 = 2;
const WRONG_PARITY: u8 = 4;
const WRONG_STOP: u8 = 8;
const HAS_BREAK: u8 = 0x10;
const CAN_SEND: u8 = 0x20;
const ALL_SENT: u8 = 0x40;
/// What a status without a device is.
const NOTHING: u8 = 0xff;

/// The speed of which others are fractions.
const FASTEST: u32 = 115_200;
/// Bytes of the FIFO for sending, which is empty when the device can send.
const ROOM: usize = 16;
/// The most bits that are on their way in the device: of the FIFO and one byte more, each with a
/// start, a parity and two stops.
const BITS: u64 = (ROOM as u64 + 1) * 12;
/// Bytes that are received in one turn, and loads of the FIFO that are sent: then others have
/// theirs.
const TURN: usize = 512;
const LOADS: usize = 16;
/// Bytes that are kept for the client. The far end is asked to stop when three quarters are there.
const KEPT: usize = 32 << 10;
const HOLD: usize = KEPT / 4 * 3;

/// What has happened since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub received: u64,
    pub sent: u64,
    pub overruns: u64,
    pub parity: u64,
    pub framing: u64,
    pub breaks: u64,
}

/// The line.
pub struct Line {
    registers: Registers,
    pub irq: Irq,
    _device: Device,
    /// What has been received and nobody has taken.
    pub received: VecDeque<u8>,
    /// Whether anybody takes it.
    pub taken: bool,
    format: u8,
    /// Whether the line is held in a break.
    breaks: bool,
    /// How long the device takes at most for all that it may have to send.
    longest: Duration,
    /// Whether the far end has been asked to stop.
    held: bool,
    pub counts: Counts,
}

impl Line {
    /// Sets the device up.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none, or it has no interrupt.
    pub fn new(device: Device) -> Result<Line, Error> {
        let mut line = Line {
            registers: device.registers(0)?,
            irq: device.irq()?,
            _device: device,
            received: VecDeque::with_capacity(KEPT),
            taken: false,
            format: 0,
            breaks: false,
            longest: Duration::ZERO,
            held: false,
            counts: Counts::default(),
        };
        line.registers.write_u8(INTERRUPTS, 0);
        if line.registers.read_u8(STATUS) == NOTHING {
            return Err(Error::NotFound);
        }
        line.usual();
        Ok(line)
    }

    /// Begins anew, as the contract says that a client finds it.
    pub fn usual(&mut self) {
        self.breaks = false;
        let set = self.set(FASTEST, 8, Parity::None, 1);
        debug_assert!(set.is_some());
        self.registers.write_u8(FIFO, FIFOS_ON);
        self.received.clear();
        self.held = false;
        self.modem();
        self.listen(false);
    }

    fn modem(&self) {
        let may_send = if self.held { 0 } else { MAY_SEND };
        self.registers
            .write_u8(MODEM, READY | INTERRUPTS_OUT | may_send);
    }

    /// Sets speed and format; the speed that the device has, if it has one near this.
    pub fn set(&mut self, baud: u32, bits: u32, parity: Parity, stops: u32) -> Option<u32> {
        if !(1..=FASTEST).contains(&baud) || !(5..=8).contains(&bits) || !(1..=2).contains(&stops) {
            return None;
        }
        let divisor = (FASTEST + baud / 2) / baud;
        let divisor = u16::try_from(divisor).ok().filter(|&d| d > 0)?;
        let real = FASTEST / u32::from(divisor);
        if u64::from(real.abs_diff(baud)) * 100 > u64::from(baud) * 3 {
            return None;
        }
        let stops = if stops == 2 { TWO_STOPS } else { 0 };
        let parity = match parity {
            Parity::None => 0,
            Parity::Odd => WITH_PARITY,
            Parity::Even => WITH_PARITY | EVEN,
        };
        self.format = (bits - 5) as u8 | stops | parity;
        let [low, high] = divisor.to_le_bytes();
        // A break goes on, whatever is set meanwhile.
        let format = self.format();
        self.registers.write_u8(FORMAT, format | SPEED);
        self.registers.write_u8(DATA, low);
        self.registers.write_u8(INTERRUPTS, high);
        self.registers.write_u8(FORMAT, format);
        self.longest = Duration::from_secs(BITS) / real;
        Some(real)
    }

    /// What is in the register.
    fn format(&self) -> u8 {
        self.format | if self.breaks { BREAK } else { 0 }
    }

    /// Begins or ends a break.
    pub fn hold_break(&mut self, on: bool) {
        self.breaks = on;
        self.registers.write_u8(FORMAT, self.format());
    }

    /// Whether the device has sent all that it had.
    pub fn is_idle(&self) -> bool {
        self.registers.read_u8(STATUS) & ALL_SENT != 0
    }

    /// How long the device takes at most for all that it may have to send.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Takes what has been received; whether it may have more that there is room for.
    fn receive(&mut self) -> bool {
        for _ in 0..TURN {
            if self.received.len() >= KEPT {
                return false;
            }
            let status = self.registers.read_u8(STATUS);
            let count = |bit: u8, counter: &mut u64| *counter += u64::from(status & bit != 0);
            count(OVERRUN, &mut self.counts.overruns);
            count(WRONG_PARITY, &mut self.counts.parity);
            count(HAS_BREAK, &mut self.counts.breaks);
            // A break is a character without a stop bit.
            if status & HAS_BREAK == 0 {
                count(WRONG_STOP, &mut self.counts.framing);
            }
            if status & HAS_RECEIVED == 0 {
                return false;
            }
            let byte = self.registers.read_u8(DATA);
            if status & HAS_BREAK == 0 {
                self.counts.received += 1;
                if self.taken {
                    self.received.push_back(byte);
                }
            }
        }
        true
    }

    /// Sends from the front of these bytes as much as the device has room for now; how many.
    fn send(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        for _ in 0..LOADS {
            if sent == bytes.len() || self.registers.read_u8(STATUS) & CAN_SEND == 0 {
                break;
            }
            for byte in bytes[sent..].iter().take(ROOM) {
                self.registers.write_u8(DATA, *byte);
                sent += 1;
            }
            // So that nothing is lost that comes back meanwhile.
            self.receive();
        }
        self.counts.sent += sent as u64;
        sent
    }

    /// Serves the device: receives, and sends from these bytes; how many.
    pub fn serve(&mut self, to_send: &[u8]) -> usize {
        let more = self.receive();
        let sent = self.send(to_send);
        let held = self.received.len() >= HOLD || more && self.held;
        if held != self.held {
            self.held = held;
            self.modem();
        }
        sent
    }

    /// Has the device interrupt for what is wanted of it: received bytes, if there is room, and the
    /// end of sending. It interrupts at once for what is so already.
    pub fn listen(&self, sends: bool) {
        let received = if self.received.len() < KEPT {
            RECEIVED
        } else {
            0
        };
        let sent = if sends { SENT } else { 0 };
        self.registers.write_u8(INTERRUPTS, 0);
        self.registers.write_u8(INTERRUPTS, received | sent);
    }
}
