//! The console: what the kernel asks of the device that a person sits at, or a script talks to.
//!
//! The kernel knows no more of it than this trait, and has none of its own: the machine says which
//! device it is ([`crate::hal::Hal::console`]). A serial port and a process's standard streams are
//! there; a screen with a keyboard, or a virtual console, takes their place by another
//! implementation.
//!
//! The kernel neither edits nor interprets: bytes go to one SIP, which has the privilege, and come
//! from it.

use crate::ground::machine::hal;

/// A console.
///
/// What a device owes the kernel:
/// - *No call waits*: not for the device, nor for whoever reads or types. All are made on the
///   kernel's thread, outside of interrupts, and may be interrupted by the device's own.
/// - *Order*: bytes are written in the order in which they were taken, and read in that in which
///   they were typed. None is lost where the device can hold the sender up.
/// - *Input is announced*: [`LINE_CONSOLE`](crate::hal::LINE_CONSOLE) is raised (by
///   [`interrupt::arrive`](crate::interrupt::arrive)) when there is something to read, or input has
///   ended, also where that was so from the start. After a read it is raised again for what comes
///   later; before, it need not be.
/// - *Room is announced*: where a write was not taken whole,
///   [`LINE_OUTPUT`](crate::hal::LINE_OUTPUT) is raised when a good part of the room is free; where
///   [`ConsoleDevice::unwritten`] was asked for and not 0, when all is written.
///   [`Queue`](crate::output::Queue) knows when.
/// - *The end*: [`Hal::exit`](crate::hal::Hal::exit) writes what was taken first, as far as it is
///   read within a bounded time.
///
/// The numbers of the lines are known to programs (`sing_sdk::console`), so every console raises
/// these two, whatever its own interrupt is. Memory safety does not rest on a console: a number
/// that cannot be is cut to what can.
pub trait ConsoleDevice: Sync {
    /// Takes bytes to be written, as many as there is room for now; how many.
    fn write(&self, bytes: &[u8]) -> usize;

    /// Bytes that were taken and are not yet written.
    fn unwritten(&self) -> usize;

    /// Takes what has been typed; 0 where nothing has, `None` at the end of input, from then on.
    fn read(&self, out: &mut [u8]) -> Option<usize>;

    /// Columns and rows, where somebody sits at a terminal; `None` where bytes are a stream.
    fn size(&self) -> Option<(u32, u32)>;
}

/// Writes to the machine's console; how many bytes it takes.
pub(crate) fn write(bytes: &[u8]) -> usize {
    write_to(hal().console(), bytes)
}

fn write_to(device: &dyn ConsoleDevice, bytes: &[u8]) -> usize {
    device.write(bytes).min(bytes.len())
}

/// Reads from the machine's console; how many bytes, `None` at the end of input.
pub(crate) fn read(out: &mut [u8]) -> Option<usize> {
    read_from(hal().console(), out)
}

fn read_from(device: &dyn ConsoleDevice, out: &mut [u8]) -> Option<usize> {
    device.read(out).map(|n| n.min(out.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says that it has done more than it was asked to.
    struct Boaster;

    impl ConsoleDevice for Boaster {
        fn write(&self, bytes: &[u8]) -> usize {
            bytes.len() + 1
        }
        fn unwritten(&self) -> usize {
            usize::MAX
        }
        fn read(&self, out: &mut [u8]) -> Option<usize> {
            Some(out.len() + 1)
        }
        fn size(&self) -> Option<(u32, u32)> {
            None
        }
    }

    #[test]
    fn a_device_is_not_believed_more_than_can_be() {
        assert_eq!(write_to(&Boaster, b"abc"), 3);
        assert_eq!(write_to(&Boaster, b""), 0);
        assert_eq!(read_from(&Boaster, &mut [0; 4]), Some(4));
        assert_eq!(read_from(&Boaster, &mut []), Some(0));
    }
}
