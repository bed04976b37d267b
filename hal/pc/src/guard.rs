//! Ports by which a device would control the machine: what a driver of it gets of them.
//!
//! Invariant: through a guarded port nobody stops non-maskable interrupts, writes settings of the
//! firmware, resets the machine, or switches address line 20 off, after which every other MiB of
//! memory would be taken for the one below. What a guard does not let pass is not written; the
//! driver notices nothing but that it does not happen.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// What is behind ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The real-time clock: the number of a register, whose highest bit stops non-maskable
    /// interrupts; and its value. Behind the clock's own registers lie the firmware's settings.
    Clock,
    /// The command port of the keyboard's controller.
    Keyboard,
}

/// Registers of the clock itself, and the century among what is behind them.
const CLOCK_REGISTERS: u8 = 14;
const CENTURY: u8 = 0x32;

/// The register that the clock's driver has selected.
static SELECTED: AtomicU8 = AtomicU8::new(0);

impl Guard {
    /// What is written in the place of a value; `None`: nothing.
    pub fn passes(self, offset: u32, value: u8) -> Option<u8> {
        match (self, offset) {
            (Guard::Clock, 0) => {
                SELECTED.store(value & 0x7f, Relaxed);
                Some(value & 0x7f)
            }
            (Guard::Clock, _) => {
                let selected = SELECTED.load(Relaxed);
                (selected < CLOCK_REGISTERS || selected == CENTURY).then_some(value)
            }
            // The configuration byte, tests, both devices on and off, answers as if from them, and
            // bytes for the second one. Not the controller's output port and pulses of its lines,
            // which reset the machine and switch address line 20, nor its own memory.
            (Guard::Keyboard, _) => matches!(
                value,
                0x20 | 0x60 | 0xa7..=0xab | 0xad | 0xae | 0xd2..=0xd4
            )
            .then_some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_clocks_memory_only_the_clock_and_the_century_are_written() {
        for number in 0..=255 {
            assert_eq!(Guard::Clock.passes(0, number), Some(number & 0x7f));
            let written = matches!(number & 0x7f, 0..=0x0d | 0x32);
            assert_eq!(Guard::Clock.passes(1, 0xa5), written.then_some(0xa5));
        }
    }

    #[test]
    fn the_keyboards_controller_neither_resets_nor_moves_addresses() {
        // Its output port, its address line, pulses of its lines, its memory.
        for command in (0xd0..=0xd1)
            .chain(0xdd..=0xdf)
            .chain(0xf0..=0xff)
            .chain(0x21..=0x3f)
        {
            assert_eq!(Guard::Keyboard.passes(0, command), None, "{command:#x}");
        }
        // What a driver needs.
        for command in [0x20, 0x60, 0xa7, 0xaa, 0xab, 0xad, 0xae] {
            assert_eq!(Guard::Keyboard.passes(0, command), Some(command));
        }
    }
}
