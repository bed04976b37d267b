//! The keyboard's controller (an 8042, or what behaves like one), with the keyboard behind it.
//!
//! Invariant: no wait is longer than [`PATIENCE`], and no loop is longer than [`BURST`] bytes.

use core::time::Duration;
use sing_sdk::device::{Device, Irq, Registers};
use sing_sdk::prelude::*;
use sing_sdk::thread::sleep;
use sing_sdk::time::uptime;

/// Bits of the status: a byte to read, room for none to write, a byte of the second device.
const FULL: u8 = 1;
const BUSY: u8 = 2;
const SECOND: u8 = 0x20;
/// Commands of the controller.
const READ_CONFIGURATION: u8 = 0x20;
const WRITE_CONFIGURATION: u8 = 0x60;
const SECOND_OFF: u8 = 0xa7;
const TEST: u8 = 0xaa;
const KEYBOARD_OFF: u8 = 0xad;
const KEYBOARD_ON: u8 = 0xae;
/// The answer to the test.
const PASSED: u8 = 0x55;
/// The configuration: interrupts of the keyboard and of the second device; both switched off;
/// translation to scan code set 1.
const INTERRUPT: u8 = 0x01;
const SECOND_INTERRUPT: u8 = 0x02;
const IS_OFF: u8 = 0x10;
const SECOND_IS_OFF: u8 = 0x20;
const TRANSLATES: u8 = 0x40;
/// Commands of the keyboard, and its answer.
const CODES: [u8; 2] = [0xf0, 2];
const SCAN: u8 = 0xf4;
const UNDERSTOOD: u8 = 0xfa;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);
/// The most bytes that are read in a row.
pub const BURST: usize = 64;

/// The controller.
pub struct Controller {
    data: Registers,
    command: Registers,
    pub irq: Irq,
    /// Keeps the device.
    _device: Device,
}

impl Controller {
    /// Starts the controller, and the keyboard if there is one now.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such controller, or it is broken.
    pub fn start(device: Device) -> Result<Controller, Error> {
        let controller = Controller {
            data: device.registers(0)?,
            command: device.registers(1)?,
            irq: device.irq()?,
            _device: device,
        };
        controller.set_up()?;
        Ok(controller)
    }

    fn set_up(&self) -> Result<(), Error> {
        self.order(KEYBOARD_OFF)?;
        self.order(SECOND_OFF)?;
        // What was typed before is nobody's.
        (0..BURST)
            .take_while(|_| self.read().is_some())
            .for_each(drop);
        self.order(TEST)?;
        if self.answer()? != PASSED {
            return Err(Error::NotFound);
        }
        self.order(READ_CONFIGURATION)?;
        let was = self.answer()?;
        let off = INTERRUPT | SECOND_INTERRUPT | IS_OFF;
        // Without interrupts, as long as answers are waited for here.
        let quiet = was & !off | SECOND_IS_OFF | TRANSLATES;
        self.configure(quiet)?;
        self.order(KEYBOARD_ON)?;
        // A keyboard that does not answer may be plugged in later; one that does not know the
        // command has the usual codes.
        let _ = self.tell(CODES[0]).and_then(|()| self.tell(CODES[1]));
        let _ = self.tell(SCAN);
        self.configure(quiet | INTERRUPT)?;
        Ok(())
    }

    fn configure(&self, configuration: u8) -> Result<(), Error> {
        self.order(WRITE_CONFIGURATION)?;
        self.send(configuration)
    }

    /// The next byte of the keyboard, if there is one.
    pub fn read(&self) -> Option<u8> {
        let status = self.command.read_u8(0);
        if status & FULL == 0 {
            return None;
        }
        let byte = self.data.read_u8(0);
        // What the second device says, which is off, says no key: this code is that of none.
        Some(if status & SECOND == 0 { byte } else { 0 })
    }

    /// Sends a byte to the keyboard, which answers.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the controller takes none.
    pub fn send(&self, byte: u8) -> Result<(), Error> {
        self.room()?;
        self.data.write_u8(0, byte);
        Ok(())
    }

    /// Tells the keyboard something before its interrupts are on.
    fn tell(&self, byte: u8) -> Result<(), Error> {
        self.send(byte)?;
        match self.answer()? {
            UNDERSTOOD => Ok(()),
            _ => Err(Error::BadState),
        }
    }

    fn order(&self, command: u8) -> Result<(), Error> {
        self.room()?;
        self.command.write_u8(0, command);
        Ok(())
    }

    fn room(&self) -> Result<(), Error> {
        wait(|| (self.command.read_u8(0) & BUSY == 0).then_some(()))
    }

    fn answer(&self) -> Result<u8, Error> {
        wait(|| self.read())
    }
}

/// Waits until something is there.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> Result<T, Error> {
    let end = uptime() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if uptime() >= end {
            return Err(Error::Timeout);
        }
        sleep(PAUSE);
    }
}
