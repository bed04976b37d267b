//! The keyboard's controller (an 8042), with a keyboard behind it whose keys the far end of the
//! display presses ([`super::display`]).
//!
//! The far end sends scan codes of set 1, as a PC's controller hands them on: they are not
//! translated here, whichever set the keyboard was told to use. There is no second device, and no
//! line of the controller leads anywhere: it resets nothing and moves no address line.
//!
//! Invariant: what waits for the driver is bounded ([`KEYS`], [`ANSWERS`]). Further keys wait at
//! the host, so that none is lost.

use super::display::Changes;
use super::isa::{Description, Platform};
use super::lines;
use sing_kernel::device::{IoRange, Space};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Ranges: one port each.
const DATA: usize = 0;

/// Bytes of keys that the keyboard keeps; of answers to commands.
const KEYS: usize = 16;
const ANSWERS: usize = 16;

/// Bits of the status: a byte is there; the controller has passed its test; the last byte was a
/// command; the keyboard is not locked.
const FULL: u8 = 0x01;
const TESTED: u8 = 0x04;
const COMMANDED: u8 = 0x08;
const UNLOCKED: u8 = 0x10;

/// Commands of the controller.
const READ_CONFIGURATION: u8 = 0x20;
const WRITE_CONFIGURATION: u8 = 0x60;
const SECOND_OFF: u8 = 0xa7;
const SECOND_ON: u8 = 0xa8;
const TEST_SECOND: u8 = 0xa9;
const TEST: u8 = 0xaa;
const TEST_KEYBOARD: u8 = 0xab;
const KEYBOARD_OFF: u8 = 0xad;
const KEYBOARD_ON: u8 = 0xae;
/// Those that only take a byte of data: for the output lines, for either device's answers, for the
/// second device.
const WRITES: [u8; 4] = [0xd1, 0xd2, 0xd3, 0xd4];
/// The answer to the test of the controller; of a device's wires, which are sound, and which are
/// not.
const PASSED: u8 = 0x55;
const SOUND: u8 = 0;
const BROKEN: u8 = 1;

/// Bits of the configuration: interrupts of the keyboard; which device is switched off; codes are
/// of set 1.
const INTERRUPT: u8 = 0x01;
const IS_OFF: u8 = 0x10;
const SECOND_IS_OFF: u8 = 0x20;
const SET_1: u8 = 0x40;
/// Bits that it keeps.
const KEPT: u8 = 0x7f;

/// Commands of the keyboard, and its answers.
const LIGHTS: u8 = 0xed;
const ECHO: u8 = 0xee;
const CODES: u8 = 0xf0;
const IDENTIFY: u8 = 0xf2;
const RATE: u8 = 0xf3;
const SCAN: u8 = 0xf4;
const STOP: u8 = 0xf5;
const DEFAULTS: u8 = 0xf6;
const RESET: u8 = 0xff;
const UNDERSTOOD: u8 = 0xfa;
const AGAIN: u8 = 0xfe;
const READY: u8 = 0xaa;
/// What it is, in set 1: a keyboard with 101 keys or more.
const KIND: [u8; 2] = [0xab, 0x41];
/// The lights that there are.
const ALL_LIGHTS: u8 = 7;

/// How the kernel sees it.
pub(super) fn description() -> Description {
    let port = || IoRange {
        space: Space::Port,
        len: 1,
    };
    Description {
        location: "/isa/0060",
        signature: "/pnp/PNP0303",
        ranges: vec![port(), port()],
        interrupts: true,
    }
}

struct State {
    configuration: u8,
    /// The command whose byte of data comes next: the controller's, the keyboard's.
    ordered: Option<u8>,
    told: Option<u8>,
    /// Whether the last byte was a command of the controller.
    commanded: bool,
    /// Answers go before keys.
    answers: VecDeque<u8>,
    keys: VecDeque<u8>,
    /// The byte that was read last.
    last: u8,
    lights: u8,
    /// Whether the keyboard tells its keys.
    scans: bool,
}

impl Default for State {
    /// As the firmware leaves it: without interrupts.
    fn default() -> State {
        State {
            configuration: SET_1 | SECOND_IS_OFF,
            ordered: None,
            told: None,
            commanded: false,
            answers: VecDeque::new(),
            keys: VecDeque::new(),
            last: 0,
            lights: 0,
            scans: true,
        }
    }
}

impl State {
    /// The byte for the driver, if there is one.
    fn front(&self) -> Option<u8> {
        let is_on = self.configuration & IS_OFF == 0;
        let key = self.keys.front().filter(|_| is_on);
        self.answers.front().or(key).copied()
    }

    fn take(&mut self) -> u8 {
        if let Some(byte) = self.front() {
            self.last = byte;
            if self.answers.pop_front().is_none() {
                self.keys.pop_front();
            }
        }
        self.last
    }

    /// An answer for which there is no room is lost.
    fn answer(&mut self, bytes: &[u8]) {
        let room = ANSWERS - self.answers.len();
        self.answers.extend(bytes.iter().take(room));
    }

    /// A command of the controller.
    fn order(&mut self, command: u8) {
        self.ordered = None;
        self.commanded = true;
        match command {
            READ_CONFIGURATION => self.answer(&[self.configuration]),
            SECOND_OFF => self.configuration |= SECOND_IS_OFF,
            SECOND_ON => self.configuration &= !SECOND_IS_OFF,
            TEST_SECOND => self.answer(&[BROKEN]),
            TEST => self.answer(&[PASSED]),
            TEST_KEYBOARD => self.answer(&[SOUND]),
            KEYBOARD_OFF => self.configuration |= IS_OFF,
            KEYBOARD_ON => self.configuration &= !IS_OFF,
            _ if command == WRITE_CONFIGURATION || WRITES.contains(&command) => {
                self.ordered = Some(command);
            }
            _ => {}
        }
    }

    /// A byte of data: what a command of the controller waits for, or one for the keyboard.
    fn data(&mut self, byte: u8) {
        self.commanded = false;
        match self.ordered.take() {
            Some(WRITE_CONFIGURATION) => self.configuration = byte & KEPT,
            Some(_) => {}
            None => self.tell(byte),
        }
    }

    /// A byte for the keyboard.
    fn tell(&mut self, byte: u8) {
        match self.told.take() {
            Some(LIGHTS) => self.lights = byte & ALL_LIGHTS,
            Some(_) => {}
            None => match byte {
                LIGHTS | CODES | RATE => self.told = Some(byte),
                ECHO => return self.answer(&[ECHO]),
                IDENTIFY => return self.answer(&[UNDERSTOOD, KIND[0], KIND[1]]),
                SCAN | DEFAULTS => self.scans = true,
                STOP => {
                    self.scans = false;
                    self.keys.clear();
                }
                RESET => {
                    self.scans = true;
                    self.lights = 0;
                    self.keys.clear();
                    return self.answer(&[UNDERSTOOD, READY]);
                }
                _ => return self.answer(&[AGAIN]),
            },
        }
        self.answer(&[UNDERSTOOD]);
    }
}

/// The controller and its keyboard.
pub(super) struct Keyboard {
    line: u32,
    state: Mutex<State>,
    /// There is room for keys.
    room: Condvar,
    changes: Arc<Changes>,
}

impl Keyboard {
    pub(super) fn new(line: u32, changes: Arc<Changes>) -> Keyboard {
        Keyboard {
            line,
            state: Mutex::default(),
            room: Condvar::new(),
            changes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lights that are on.
    pub(super) fn lights(&self) -> u8 {
        self.lock().lights
    }

    /// Waits until there is room for keys; returns for how many bytes.
    pub(super) fn room(&self) -> usize {
        let mut state = self.lock();
        while state.keys.len() >= KEYS {
            state = self
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        KEYS - state.keys.len()
    }

    /// Keys were pressed, no more than there is room for; while the keyboard does not scan, for
    /// nobody. Returns whether an interrupt is now to be delivered.
    pub(super) fn press(&self, bytes: &[u8]) -> bool {
        let mut state = self.lock();
        if state.scans {
            let room = KEYS.saturating_sub(state.keys.len());
            state.keys.extend(bytes.iter().take(room));
        }
        self.update(&state)
    }

    /// Makes the line what it should be. Returns whether an interrupt is now to be delivered.
    fn update(&self, state: &State) -> bool {
        if state.configuration & INTERRUPT != 0 && state.front().is_some() {
            lines::raise(self.line)
        } else {
            lines::lower(self.line);
            false
        }
    }
}

impl Platform for Keyboard {
    fn read(&self, range: usize, _: u32, width: u32) -> u64 {
        if width != 1 {
            return u64::MAX;
        }
        let mut state = self.lock();
        if range != DATA {
            let full = if state.front().is_some() { FULL } else { 0 };
            let commanded = if state.commanded { COMMANDED } else { 0 };
            return (full | commanded | TESTED | UNLOCKED).into();
        }
        let byte = state.take();
        if state.front().is_none() {
            lines::lower(self.line);
        }
        self.room.notify_one();
        byte.into()
    }

    fn write(&self, range: usize, _: u32, width: u32, value: u64) -> bool {
        if width != 1 {
            return false;
        }
        let mut state = self.lock();
        let lights = state.lights;
        if range == DATA {
            state.data(value as u8);
        } else {
            state.order(value as u8);
        }
        if state.lights != lights {
            self.changes.note();
        }
        self.room.notify_one();
        self.update(&state)
    }

    fn reset(&self) {
        let mut state = self.lock();
        *state = State::default();
        lines::lower(self.line);
        self.room.notify_one();
        self.changes.note();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that no other test has.
    const LINE: u32 = 27;

    fn keyboard() -> Keyboard {
        Keyboard::new(LINE, Arc::default())
    }

    fn order(keyboard: &Keyboard, command: u8) {
        keyboard.write(1, 0, 1, command.into());
    }

    fn tell(keyboard: &Keyboard, byte: u8) {
        keyboard.write(DATA, 0, 1, byte.into());
    }

    /// All that is there to be read.
    fn read(keyboard: &Keyboard) -> Vec<u8> {
        let is_full = || keyboard.read(1, 0, 1) as u8 & FULL != 0;
        let mut bytes = Vec::new();
        while is_full() {
            bytes.push(keyboard.read(DATA, 0, 1) as u8);
        }
        bytes
    }

    #[test]
    fn commands_are_answered_before_keys_are_told() {
        let keyboard = keyboard();
        keyboard.press(&[0x1e, 0x9e]);
        order(&keyboard, TEST);
        order(&keyboard, READ_CONFIGURATION);
        tell(&keyboard, CODES);
        tell(&keyboard, 2);
        let first = [PASSED, SET_1 | SECOND_IS_OFF, UNDERSTOOD, UNDERSTOOD];
        assert_eq!(read(&keyboard), [&first[..], &[0x1e, 0x9e]].concat());
        tell(&keyboard, 0x12);
        assert_eq!(read(&keyboard), [AGAIN], "no command of a keyboard");
    }

    #[test]
    fn a_keyboard_that_is_off_or_does_not_scan_tells_no_keys() {
        let keyboard = keyboard();
        order(&keyboard, KEYBOARD_OFF);
        keyboard.press(&[0x1e]);
        assert_eq!(read(&keyboard), []);
        order(&keyboard, KEYBOARD_ON);
        assert_eq!(read(&keyboard), [0x1e], "the keyboard has kept it");
        tell(&keyboard, STOP);
        keyboard.press(&[0x1f]);
        tell(&keyboard, SCAN);
        assert_eq!(read(&keyboard), [UNDERSTOOD, UNDERSTOOD]);
    }

    #[test]
    fn the_lights_are_those_that_were_told() {
        let keyboard = keyboard();
        for byte in [LIGHTS, 0xf2] {
            tell(&keyboard, byte);
        }
        assert_eq!(keyboard.lights(), 2);
        // What a command of the controller takes is none of the keyboard's.
        order(&keyboard, WRITES[3]);
        tell(&keyboard, RESET);
        assert_eq!(keyboard.lights(), 2);
        keyboard.reset();
        assert_eq!((keyboard.lights(), read(&keyboard)), (0, vec![]));
    }

    #[test]
    fn what_waits_for_a_keyboards_driver_is_bounded() {
        let keyboard = keyboard();
        for _ in 0..100 {
            keyboard.press(&[1; KEYS]);
            order(&keyboard, TEST);
            tell(&keyboard, IDENTIFY);
        }
        let waiting = read(&keyboard);
        assert_eq!(waiting.len(), KEYS + ANSWERS);
        assert_eq!(keyboard.room(), KEYS);
    }

    #[test]
    fn any_bytes_are_taken_by_the_controller() {
        let keyboard = keyboard();
        for a in 0..=255 {
            for b in 0..=255 {
                order(&keyboard, a);
                tell(&keyboard, b);
                tell(&keyboard, a);
            }
            assert!(read(&keyboard).len() <= KEYS + ANSWERS);
        }
        assert_eq!(keyboard.read(DATA, 0, 4), u64::MAX, "no such access");
    }
}
