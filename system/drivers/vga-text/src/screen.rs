//! The screen: the VGA's text memory and what its registers say of it.
//!
//! Invariant: what lies in the text memory is remembered, so that only changes are written.

use alloc::vec::Vec;
use sing_sdk::device::{Device, Registers};
use sing_sdk::prelude::*;
use vga_text::cell;

/// Ports, counted from 0x3c0.
const ATTRIBUTES: u32 = 0x00;
const ATTRIBUTES_READ: u32 = 0x01;
const OUTPUT: u32 = 0x0c;
const GRAPHICS: u32 = 0x0e;
const TIMING: u32 = 0x14;
const INPUT: u32 = 0x1a;
/// The controller of timing is at the ports of colour screens.
const COLOUR: u8 = 1;
/// Registers of the graphics controller: graphics or text and where the memory is.
const MISCELLANEOUS: u8 = 6;
/// Text, at 0xb8000.
const IS_GRAPHICS: u8 = 1;
const WHERE: u8 = 0b1100;
/// Registers of the controller of timing.
const COLUMNS: u8 = 0x01;
const OVERFLOW: u8 = 0x07;
const LINES: u8 = 0x09;
const CURSOR_START: u8 = 0x0a;
const START: u8 = 0x0c;
const CURSOR: u8 = 0x0e;
const END: u8 = 0x12;
const PITCH: u8 = 0x13;
/// Switches the cursor off.
const NO_CURSOR: u8 = 0x20;
/// The register of the attribute controller that says what the highest bit of a colour is, and
/// the bit that makes it blinking. With the screen's colours left on.
const MODE: u8 = 0x10 | 0x20;
const BLINKS: u8 = 8;

/// The most cells.
const MOST: u32 = 16 << 10;

/// The screen.
pub struct Screen {
    text: Registers,
    ports: Registers,
    columns: u32,
    rows: u32,
    /// Bytes from row to row.
    pitch: u32,
    cursor_start: u8,
    /// Two cells each, row by row; `None` before they are known.
    shown: Vec<Option<u32>>,
    /// Keeps the device.
    _device: Device,
}

impl Screen {
    /// The screen as the firmware has left it.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it shows no text.
    pub fn start(device: Device) -> Result<Screen, Error> {
        let mut screen = Screen {
            text: device.registers(0)?,
            ports: device.registers(2)?,
            columns: 0,
            rows: 0,
            pitch: 0,
            cursor_start: 0,
            shown: Vec::new(),
            _device: device,
        };
        screen.look()?;
        Ok(screen)
    }

    fn look(&mut self) -> Result<(), Error> {
        let mode = self.indexed(GRAPHICS, MISCELLANEOUS);
        let colour = self.ports.read_u8(OUTPUT) & COLOUR != 0;
        let is_text = mode & IS_GRAPHICS == 0 && mode & WHERE == WHERE;
        self.columns = u32::from(self.timing(COLUMNS)) + 1;
        let overflow = u32::from(self.timing(OVERFLOW));
        let end = u32::from(self.timing(END)) | (overflow & 2) << 7 | (overflow & 0x40) << 3;
        let height = u32::from(self.timing(LINES) & 0x1f) + 1;
        self.rows = (end + 1) / height;
        self.pitch = u32::from(self.timing(PITCH)) * 4;
        let fits = self.columns * 2 <= self.pitch
            && self.rows * self.pitch <= self.text.len()
            && self.columns * self.rows <= MOST;
        if !is_text || !colour || !fits || !self.columns.is_multiple_of(2) || self.rows == 0 {
            return Err(Error::NotFound);
        }
        self.shown = alloc::vec![None; (self.columns / 2 * self.rows) as usize];
        self.cursor_start = self.timing(CURSOR_START) & 0x1f;
        self.set_timing(START, 0);
        self.set_timing(START + 1, 0);
        // Sixteen colours behind characters, too. Reading this port has the next byte for the
        // attribute controller name a register.
        let _ = self.ports.read_u8(INPUT);
        self.ports.write_u8(ATTRIBUTES, MODE);
        let mode = self.ports.read_u8(ATTRIBUTES_READ);
        self.ports.write_u8(ATTRIBUTES, mode & !BLINKS);
        Ok(())
    }

    /// Columns and rows.
    pub fn size(&self) -> (u32, u32) {
        (self.columns, self.rows)
    }

    /// Shows cells, and the cursor.
    pub fn show(&mut self, cells: &Vector<ScreenCell>, cursor: u32) {
        let value = |at: u32| {
            let cell_at = cells.get(at as usize);
            cell_at.map_or(cell(' ', 7, 0), |c| {
                let character = char::from_u32(c.character).unwrap_or('\u{fffd}');
                cell(character, c.foreground, c.background)
            })
        };
        for (at, shown) in (0..).zip(&mut self.shown) {
            let first = at * 2;
            let pair = u32::from(value(first)) | u32::from(value(first + 1)) << 16;
            if *shown != Some(pair) {
                *shown = Some(pair);
                let offset = first / self.columns * self.pitch + first % self.columns * 2;
                self.text.write_u32(offset, pair);
            }
        }
        if cursor < self.columns * self.rows {
            let at = cursor / self.columns * (self.pitch / 2) + cursor % self.columns;
            self.set_timing(CURSOR, (at >> 8) as u8);
            self.set_timing(CURSOR + 1, at as u8);
            self.set_timing(CURSOR_START, self.cursor_start);
        } else {
            self.set_timing(CURSOR_START, self.cursor_start | NO_CURSOR);
        }
    }

    fn indexed(&self, port: u32, register: u8) -> u8 {
        self.ports.write_u8(port, register);
        self.ports.read_u8(port + 1)
    }

    fn timing(&self, register: u8) -> u8 {
        self.indexed(TIMING, register)
    }

    fn set_timing(&self, register: u8, value: u8) {
        self.ports.write_u8(TIMING, register);
        self.ports.write_u8(TIMING + 1, value);
    }
}
