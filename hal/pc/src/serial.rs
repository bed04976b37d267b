//! The console: a 16550 at COM1. Output is polled, input comes by interrupt.
//!
//! Where the far end is an emulator's stream, bytes go out as they are, as to a file; on real hardware it is
//! a terminal, which wants a carriage return before each line feed.

use crate::{clock, port, processor};
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use x86_64::instructions::interrupts::without_interrupts;

const COM1: u16 = 0x3f8;
const DATA: u16 = COM1;
const INTERRUPT_ENABLE: u16 = COM1 + 1;
const FIFO_CONTROL: u16 = COM1 + 2;
const LINE_CONTROL: u16 = COM1 + 3;
const MODEM_CONTROL: u16 = COM1 + 4;
const LINE_STATUS: u16 = COM1 + 5;
const SCRATCH: u16 = COM1 + 7;

const RECEIVED: u8 = 1;
const CAN_SEND: u8 = 0x20;
/// DTR, RTS, OUT2 (which lets the interrupt out).
const MODEM: u8 = 0x0b;

/// What has been typed and not read. Full, it leaves the rest in the device, which holds the sender up if it can.
struct Typed {
    bytes: [u8; 4096],
    first: usize,
    count: usize,
    /// Whether the device's interrupt is off until there is room.
    full: bool,
}

/// Only taken with interrupts off.
static TYPED: SpinLock<Typed> = SpinLock::new(Typed {
    bytes: [0; 4096],
    first: 0,
    count: 0,
    full: false,
});
static RETURNS: AtomicBool = AtomicBool::new(false);
static PRESENT: AtomicBool = AtomicBool::new(false);

/// 115,200 baud, 8 bits, no parity; no interrupts yet.
pub fn init() {
    for (register, value) in [
        (INTERRUPT_ENABLE, 0),
        (LINE_CONTROL, 0x80),
        (DATA, 1),
        (INTERRUPT_ENABLE, 0),
        (LINE_CONTROL, 3),
        (FIFO_CONTROL, 0xc7),
        (MODEM_CONTROL, MODEM),
        (SCRATCH, 0xa5),
    ] {
        port::write8(register, value);
    }
    PRESENT.store(port::read8(SCRATCH) == 0xa5, Relaxed);
    RETURNS.store(!processor::is_virtual(), Relaxed);
}

/// Raises an interrupt for each byte received from now on.
pub fn enable_interrupt() {
    port::write8(INTERRUPT_ENABLE, RECEIVED);
    // What came before made no edge; until it is taken, what follows makes none either.
    without_interrupts(receive);
}

/// Takes what the device has received; whether there was anything. With interrupts off.
pub fn receive() -> bool {
    if !PRESENT.load(Relaxed) {
        return false;
    }
    let mut typed = TYPED.lock();
    let before = typed.count;
    while port::read8(LINE_STATUS) & RECEIVED != 0 {
        if typed.count == typed.bytes.len() {
            typed.full = true;
            port::write8(INTERRUPT_ENABLE, 0);
            break;
        }
        let at = (typed.first + typed.count) % typed.bytes.len();
        typed.bytes[at] = port::read8(DATA);
        typed.count += 1;
    }
    typed.count > before
}

/// Moves what has been typed to `out`.
pub fn read(out: &mut [u8]) -> usize {
    without_interrupts(|| {
        let mut typed = TYPED.lock();
        let n = typed.count.min(out.len());
        for byte in &mut out[..n] {
            *byte = typed.bytes[typed.first];
            typed.first = (typed.first + 1) % typed.bytes.len();
        }
        typed.count -= n;
        if n > 0 && core::mem::take(&mut typed.full) {
            // With something waiting in the device, this makes an edge.
            port::write8(INTERRUPT_ENABLE, RECEIVED);
        }
        n
    })
}

/// Writes all of it, waiting for the device.
pub fn write(bytes: &[u8]) {
    if !PRESENT.load(Relaxed) {
        return;
    }
    for &byte in bytes {
        if byte == b'\n' && RETURNS.load(Relaxed) {
            send(b'\r');
        }
        send(byte);
    }
}

fn send(byte: u8) {
    // A line that never becomes free (a broken device) must not stop the system: give up after 100 ms.
    let start = sing_arch::cycles();
    while port::read8(LINE_STATUS) & CAN_SEND == 0 {
        if clock::ticks_to_nanoseconds(sing_arch::cycles().wrapping_sub(start)) > 100_000_000 {
            return;
        }
        sing_arch::pause();
    }
    port::write8(DATA, byte);
}

/// Connects the device's output to its own input, for a test; or undoes it.
pub fn set_loop(on: bool) {
    port::write8(MODEM_CONTROL, if on { MODEM | 0x10 } else { MODEM });
}

/// The console as a place to format to, for the HAL's own lines.
pub struct Output;

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write(text.as_bytes());
        Ok(())
    }
}

/// Prints a line to the console.
macro_rules! line {
    ($($argument:tt)*) => {{
        use core::fmt::Write;
        // The console takes everything: there is no error to answer.
        let _ = writeln!($crate::serial::Output, $($argument)*);
    }};
}
pub(crate) use line;
