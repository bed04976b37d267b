//! The text screen of a VGA: 80 columns and 25 rows, which the far end of the display sees
//! ([`super::display`]).
//!
//! It is in the mode in which a PC's firmware leaves it, and stays there: registers that would
//! change the mode keep their values, and at the address of fonts nothing answers. What can be
//! changed is the text, where it begins in the memory, the cursor, and whether colours blink.

use super::display::Changes;
use super::isa::{Description, Platform};
use sing_kernel::device::{IoRange, Space};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Columns and rows.
pub(super) const COLUMNS: usize = 80;
pub(super) const ROWS: usize = 25;
/// Bytes of the cells that are shown.
pub(super) const CELLS: usize = COLUMNS * ROWS * 2;

/// Ranges.
const TEXT: usize = 0;
const PORTS: usize = 2;
/// Bytes of the text memory, of that of the fonts, and ports.
const TEXT_BYTES: u32 = 32 << 10;
const FONT_BYTES: u32 = 64 << 10;
const PORT_COUNT: u32 = 0x20;
/// A blank, white on black.
const BLANK: [u8; 2] = [b' ', 7];

/// Ports, counted from 0x3c0. Those of registers behind a number have the number first.
const ATTRIBUTES: u32 = 0x00;
const ATTRIBUTES_READ: u32 = 0x01;
const SEQUENCER: u32 = 0x04;
const OUTPUT: u32 = 0x0c;
const GRAPHICS: u32 = 0x0e;
const TIMING: u32 = 0x14;
const INPUT: u32 = 0x1a;
/// What a port or a register reads as that is not there.
const NOTHING: u8 = 0xff;

/// Mode 3 of the firmware: the registers of the sequencer, of graphics (text, at 0xb8000), and of
/// the timing.
const SEQUENCER_MODE: [u8; 5] = [0x03, 0x00, 0x03, 0x00, 0x02];
const GRAPHICS_MODE: [u8; 9] = [0, 0, 0, 0, 0, 0x10, 0x0e, 0x0f, 0xff];
const TIMING_MODE: [u8; 25] = [
    0x5f, 0x4f, 0x50, 0x82, 0x55, 0x81, 0xbf, 0x1f, 0x00, 0x4f, 0x0d, 0x0e, 0x00, 0x00, 0x00, 0x00,
    0x9c, 0x8e, 0x8f, 0x28, 0x1f, 0x96, 0xb9, 0xa3, 0xff,
];
/// The ports are those of colour screens.
const OUTPUT_MODE: u8 = 0x67;
/// The register of attributes that can be written, and its value: the highest bit of a colour
/// blinks.
const ATTRIBUTE_MODE: u8 = 0x10;
const BLINKS: u8 = 0x0c;
/// Bits of the number of an attribute.
const ATTRIBUTE_NUMBER: u8 = 0x1f;

/// Registers of the timing that can be written: the cursor's shape, the first cell that is shown,
/// the cursor's cell.
const CURSOR_START: usize = 0x0a;
const START: usize = 0x0c;
const CURSOR: usize = 0x0e;
const LAST: usize = 0x0f;
/// There is no cursor.
const NO_CURSOR: u8 = 0x20;
/// Bits of the input status: the beam is not within the picture.
const BLANKED: u8 = 0x09;

/// How the kernel sees it.
pub(super) fn description() -> Description {
    let range = |space, len| IoRange { space, len };
    Description {
        location: "/isa/b8000",
        signature: "/pnp/PNP0900",
        ranges: vec![
            range(Space::Memory, TEXT_BYTES),
            range(Space::Memory, FONT_BYTES),
            range(Space::Port, PORT_COUNT),
        ],
        interrupts: false,
    }
}

/// What is shown.
#[derive(Debug)]
pub(super) struct Picture {
    /// A byte for the character, one for its colours, row by row.
    pub cells: [u8; CELLS],
    /// The cursor's cell, if it is shown.
    pub cursor: Option<u16>,
}

struct State {
    text: Vec<u8>,
    timing: [u8; TIMING_MODE.len()],
    /// Numbers of registers: of attributes, of the sequencer, of graphics, of the timing.
    attribute: u8,
    sequencer: u8,
    graphics: u8,
    timing_number: u8,
    /// Whether the next byte for the attributes is a value.
    is_value: bool,
    attribute_mode: u8,
    input: u8,
}

impl Default for State {
    fn default() -> State {
        State {
            text: BLANK.repeat(TEXT_BYTES as usize / BLANK.len()),
            timing: TIMING_MODE,
            attribute: 0,
            sequencer: 0,
            graphics: 0,
            timing_number: 0,
            is_value: false,
            attribute_mode: BLINKS,
            input: 0,
        }
    }
}

impl State {
    fn pair(&self, register: usize) -> u16 {
        u16::from_be_bytes([self.timing[register], self.timing[register + 1]])
    }

    fn picture(&self) -> Picture {
        let start = self.pair(START);
        let from = usize::from(start) * 2;
        let mut cells = [0; CELLS];
        // Behind its end the memory begins again.
        for (at, cell) in cells.iter_mut().enumerate() {
            *cell = self.text[(from + at) % self.text.len()];
        }
        let is_on = self.timing[CURSOR_START] & NO_CURSOR == 0;
        let cursor = self.pair(CURSOR).wrapping_sub(start);
        let is_shown = is_on && usize::from(cursor) < COLUMNS * ROWS;
        Picture {
            cells,
            cursor: is_shown.then_some(cursor),
        }
    }

    fn port(&mut self, port: u32) -> u8 {
        let of = |registers: &[u8], number: u8| {
            let register = registers.get(usize::from(number));
            register.copied().unwrap_or(NOTHING)
        };
        match port {
            ATTRIBUTES => self.attribute,
            ATTRIBUTES_READ if self.attribute & ATTRIBUTE_NUMBER == ATTRIBUTE_MODE => {
                self.attribute_mode
            }
            SEQUENCER => self.sequencer,
            OUTPUT => OUTPUT_MODE,
            GRAPHICS => self.graphics,
            TIMING => self.timing_number,
            _ if port == SEQUENCER + 1 => of(&SEQUENCER_MODE, self.sequencer),
            _ if port == GRAPHICS + 1 => of(&GRAPHICS_MODE, self.graphics),
            _ if port == TIMING + 1 => of(&self.timing, self.timing_number),
            INPUT => {
                self.is_value = false;
                // A driver may wait for either.
                self.input ^= BLANKED;
                self.input
            }
            _ => NOTHING,
        }
    }

    fn set_port(&mut self, port: u32, value: u8) {
        match port {
            ATTRIBUTES => {
                if !self.is_value {
                    self.attribute = value;
                } else if self.attribute & ATTRIBUTE_NUMBER == ATTRIBUTE_MODE {
                    self.attribute_mode = value;
                }
                self.is_value = !self.is_value;
            }
            SEQUENCER => self.sequencer = value,
            GRAPHICS => self.graphics = value,
            TIMING => self.timing_number = value,
            _ if port == TIMING + 1 => {
                let number = usize::from(self.timing_number);
                if (CURSOR_START..=LAST).contains(&number) {
                    self.timing[number] = value;
                }
            }
            _ => {}
        }
    }
}

/// The screen.
pub(super) struct Screen {
    state: Mutex<State>,
    changes: Arc<Changes>,
}

impl Screen {
    pub(super) fn new(changes: Arc<Changes>) -> Screen {
        Screen {
            state: Mutex::default(),
            changes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is shown now.
    pub(super) fn picture(&self) -> Picture {
        self.lock().picture()
    }
}

/// The bytes of an access within memory of this length.
fn within(offset: u32, width: u32) -> std::ops::Range<usize> {
    let from = offset as usize;
    from..from.saturating_add(width as usize)
}

impl Platform for Screen {
    fn read(&self, range: usize, offset: u32, width: u32) -> u64 {
        let mut state = self.lock();
        let mut value = [NOTHING; 8];
        let into = value.get_mut(..width as usize);
        match range {
            TEXT => {
                if let (Some(into), Some(from)) = (into, state.text.get(within(offset, width))) {
                    into.copy_from_slice(from);
                }
            }
            // An access of several ports is one of each.
            PORTS => {
                for (port, byte) in (offset..).zip(into.unwrap_or_default()) {
                    *byte = state.port(port);
                }
            }
            _ => {}
        }
        u64::from_le_bytes(value)
    }

    fn write(&self, range: usize, offset: u32, width: u32, value: u64) -> bool {
        let mut state = self.lock();
        let value = value.to_le_bytes();
        let from = value.get(..width as usize).unwrap_or_default();
        match range {
            TEXT => {
                if let Some(to) = state.text.get_mut(within(offset, width)) {
                    to.copy_from_slice(from);
                }
            }
            PORTS => {
                for (port, byte) in (offset..).zip(from) {
                    state.set_port(port, *byte);
                }
            }
            _ => return false,
        }
        self.changes.note();
        false
    }

    fn reset(&self) {
        *self.lock() = State::default();
        self.changes.note();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        Screen::new(Arc::default())
    }

    fn timing(screen: &Screen, register: usize) -> u8 {
        screen.write(PORTS, TIMING, 1, register as u64);
        screen.read(PORTS, TIMING + 1, 1) as u8
    }

    fn set_timing(screen: &Screen, register: usize, value: u8) {
        // Number and value by one access of two ports.
        let both = u64::from(value) << 8 | register as u64;
        screen.write(PORTS, TIMING, 2, both);
    }

    #[test]
    fn what_is_written_is_shown_from_the_first_cell_on() {
        let screen = screen();
        screen.write(TEXT, 160, 4, 0x0742_0741);
        let picture = screen.picture();
        assert_eq!(picture.cells[160..164], [0x41, 7, 0x42, 7]);
        assert_eq!(picture.cells[..2], BLANK);
        assert_eq!(screen.read(TEXT, 162, 2), 0xffff_ffff_ffff_0742);
        // One row on; and over the end of the memory.
        set_timing(&screen, START + 1, 80);
        assert_eq!(screen.picture().cells[..2], [0x41, 7]);
        set_timing(&screen, START, 0xff);
        set_timing(&screen, START + 1, 0xff);
        assert_eq!(screen.picture().cells[162..164], [0x41, 7]);
    }

    #[test]
    fn the_cursor_is_where_it_was_put_unless_it_is_off_or_outside() {
        let screen = screen();
        set_timing(&screen, CURSOR, 7);
        set_timing(&screen, CURSOR + 1, 0xcf);
        assert_eq!(screen.picture().cursor, Some(1999));
        set_timing(&screen, CURSOR + 1, 0xd0);
        assert_eq!(screen.picture().cursor, None);
        set_timing(&screen, CURSOR, 0);
        set_timing(&screen, CURSOR_START, NO_CURSOR | 13);
        assert_eq!(screen.picture().cursor, None);
        screen.reset();
        assert_eq!(screen.picture().cursor, Some(0));
    }

    #[test]
    fn the_mode_stays_what_it_is() {
        let screen = screen();
        for port in 0..PORT_COUNT {
            for value in [0, 0x5a, 0xff] {
                screen.write(PORTS, port, 1, value);
            }
        }
        for (register, value) in TIMING_MODE.iter().enumerate() {
            let is_kept = !(CURSOR_START..=LAST).contains(&register);
            set_timing(&screen, register, !value);
            assert_eq!(timing(&screen, register) == *value, is_kept, "{register}");
        }
        // What it blinks with can be chosen; the byte behind the number is the value.
        screen.read(PORTS, INPUT, 1);
        screen.write(PORTS, ATTRIBUTES, 1, u64::from(ATTRIBUTE_MODE | 0x20));
        screen.write(PORTS, ATTRIBUTES, 1, 4);
        assert_eq!(screen.read(PORTS, ATTRIBUTES_READ, 1) as u8, 4);
    }

    #[test]
    fn no_access_reaches_what_is_not_there() {
        let screen = screen();
        for (range, offset) in [(TEXT, TEXT_BYTES - 2), (TEXT, u32::MAX), (1, 0), (3, 0)] {
            screen.write(range, offset, 4, 0);
            assert_eq!(screen.read(range, offset, 4), u64::MAX, "{range} {offset}");
        }
        assert_eq!(screen.read(TEXT, 0, 9), u64::MAX);
        assert_eq!(screen.read(PORTS, PORT_COUNT - 1, 4), u64::MAX);
    }
}
