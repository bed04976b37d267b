//! The console: a 16550 at COM1, by interrupt in both directions, or by polling with bounded steps.
//!
//! Output is queued and sent as the line accepts it, so that nobody waits for a slow line. Only the
//! HAL's own lines, before the kernel runs and after it has failed, are sent synchronously.
//!
//! At an emulator, bytes go out unchanged, as to a file; at real hardware there is a terminal,
//! which needs a carriage return before each line feed.

use crate::{clock, port, processor};
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_kernel::console::ConsoleDevice;
use sing_kernel::output::{Class, Queue};
use x86_64::instructions::interrupts::without_interrupts;

/// Port of the first serial port.
pub const COM1: u16 = 0x3f8;
/// Its line on the ISA bus.
pub const ISA_LINE: u8 = 4;
const DATA: u16 = COM1;
const INTERRUPT_ENABLE: u16 = COM1 + 1;
const FIFO_CONTROL: u16 = COM1 + 2;
const LINE_CONTROL: u16 = COM1 + 3;
/// The modem control register, which can also connect the device's output to its input.
pub const MODEM_CONTROL: u16 = COM1 + 4;
const LINE_STATUS: u16 = COM1 + 5;
const SCRATCH: u16 = COM1 + 7;

const RECEIVED: u8 = 1;
/// Bit of the interrupt enable register: the device can send.
const SENT: u8 = 2;
const CAN_SEND: u8 = 0x20;
const ALL_SENT: u8 = 0x40;
/// DTR, and OUT2, which enables the interrupt.
const MODEM: u8 = 0x09;
/// RTS: the peer may send.
const MAY_SEND: u8 = 2;

/// Bytes of the device's FIFO.
const FIFO: usize = 16;
/// The most bytes that are sent in one step.
const BURST: usize = 256;
/// The most bytes of queued output.
const ROOM: usize = 32 << 10;
/// How long the end of the system waits for the output to be sent, in nanoseconds.
const TIMEOUT: u64 = 10_000_000_000;

/// Received bytes that have not been read: a ring buffer. When it is full, further bytes stay in
/// the device, which holds the sender up if it can.
struct Typed {
    bytes: [u8; 4096],
    first: usize,
    count: usize,
    /// Whether the device's receive interrupt is off until there is room.
    full: bool,
    /// Whether the peer has been asked to stop sending.
    held: bool,
}

/// Output to be sent.
struct Out {
    queue: Queue<ROOM>,
    /// Whether the carriage return has been sent for the line feed that is next.
    returned: bool,
}

/// Only taken with interrupts off.
static TYPED: SpinLock<Typed> = SpinLock::new(Typed {
    bytes: [0; 4096],
    first: 0,
    count: 0,
    full: false,
    held: false,
});
/// Only taken with interrupts off.
static OUT: SpinLock<Out> = SpinLock::new(Out {
    queue: Queue::new(),
    returned: false,
});
/// Whether the kernel is to be told that there is room again ([`has_room_again`]).
static ROOM_AGAIN: AtomicBool = AtomicBool::new(false);
/// Whether the device's interrupt is connected.
static INTERRUPTS: AtomicBool = AtomicBool::new(false);
static RETURNS: AtomicBool = AtomicBool::new(false);
static PRESENT: AtomicBool = AtomicBool::new(false);
/// Columns and rows, 32 bits each; 0 if the far end is no terminal.
static TERMINAL: AtomicU64 = AtomicU64::new(0);

/// Sets the device to 115,200 baud, 8 bits, no parity, without interrupts.
pub fn init() {
    for (register, value) in [
        (INTERRUPT_ENABLE, 0),
        (LINE_CONTROL, 0x80),
        (DATA, 1),
        (INTERRUPT_ENABLE, 0),
        (LINE_CONTROL, 3),
        (FIFO_CONTROL, 0xc7),
        (MODEM_CONTROL, MODEM | MAY_SEND),
        (SCRATCH, 0xa5),
    ] {
        port::write8(register, value);
    }
    PRESENT.store(port::read8(SCRATCH) == 0xa5, Relaxed);
    RETURNS.store(!processor::is_virtual(), Relaxed);
}

/// Sets columns and rows of the terminal at the far end; `None` if there is none.
pub fn set_terminal(size: Option<(u32, u32)>) {
    let (columns, rows) = size.unwrap_or((0, 0));
    TERMINAL.store(u64::from(columns) << 32 | u64::from(rows), Relaxed);
}

/// Enables the device's interrupts.
pub fn enable_interrupt() {
    INTERRUPTS.store(true, Relaxed);
    // Bytes received before have raised no interrupt, and while they are in the device, later ones
    // raise none.
    without_interrupts(receive);
}

/// Enables the interrupts that are needed now. They are edge-triggered; disabling them first makes
/// a pending condition raise a new edge.
fn listen(typed: &Typed, out: &Out) {
    if INTERRUPTS.load(Relaxed) {
        let received = if typed.full { 0 } else { RECEIVED };
        let sent = if out.queue.is_empty() { 0 } else { SENT };
        port::write8(INTERRUPT_ENABLE, 0);
        port::write8(INTERRUPT_ENABLE, received | sent);
    }
}

/// Asks the peer to stop sending, or to go on.
fn hold(typed: &mut Typed, held: bool) {
    if typed.held != held {
        typed.held = held;
        let modem = port::read8(MODEM_CONTROL) & !MAY_SEND;
        port::write8(MODEM_CONTROL, modem | if held { 0 } else { MAY_SEND });
    }
}

/// Takes bytes from the device and sends queued output; whether it had received anything. With
/// interrupts off.
pub fn receive() -> bool {
    if !PRESENT.load(Relaxed) {
        return false;
    }
    let mut typed = TYPED.lock();
    let before = typed.count;
    while port::read8(LINE_STATUS) & RECEIVED != 0 {
        if typed.count == typed.bytes.len() {
            typed.full = true;
            break;
        }
        let at = (typed.first + typed.count) % typed.bytes.len();
        typed.bytes[at] = port::read8(DATA);
        typed.count += 1;
    }
    if typed.count >= typed.bytes.len() / 4 * 3 {
        hold(&mut typed, true);
    }
    let mut out = OUT.lock();
    transmit(&mut out);
    listen(&typed, &out);
    typed.count > before
}

/// Sends as much as the device accepts now, at most [`BURST`] bytes.
fn transmit(out: &mut Out) {
    for load in 0..BURST / FIFO {
        if out.queue.is_empty() {
            break;
        }
        let status = port::read8(LINE_STATUS);
        // Input is taken before more is sent, as the device's buffer is small.
        if status & CAN_SEND == 0 || load > 0 && status & RECEIVED != 0 {
            break;
        }
        // If it can send, its whole FIFO is free.
        for _ in 0..FIFO {
            let Some(&byte) = out.queue.next().1.first() else {
                break;
            };
            out.returned = byte == b'\n' && RETURNS.load(Relaxed) && !out.returned;
            if out.returned {
                port::write8(DATA, b'\r');
                continue;
            }
            port::write8(DATA, byte);
            if out.queue.take(1) {
                ROOM_AGAIN.store(true, Relaxed);
            }
        }
    }
}

/// Whether there is room for output again, or all is sent; true once for each such event.
pub fn has_room_again() -> bool {
    ROOM_AGAIN.swap(false, Relaxed)
}

/// Whether output is queued.
pub fn is_sending() -> bool {
    !OUT.lock().queue.is_empty()
}

/// Adds to the output queue through `add`, and starts sending.
fn add<R>(add: impl FnOnce(&mut Queue<ROOM>) -> R) -> R {
    without_interrupts(|| {
        let typed = TYPED.lock();
        let mut out = OUT.lock();
        let idle = out.queue.is_empty();
        let done = add(&mut out.queue);
        // If output was queued already, an interrupt or poll sends this with it.
        if idle {
            transmit(&mut out);
            listen(&typed, &out);
        }
        done
    })
}

/// The serial port as the console.
pub struct Serial;

impl ConsoleDevice for Serial {
    fn write(&self, bytes: &[u8]) -> usize {
        if !PRESENT.load(Relaxed) {
            return bytes.len();
        }
        add(|queue| queue.put(Class::Console, bytes))
    }

    fn unwritten(&self) -> usize {
        without_interrupts(|| OUT.lock().queue.unsettled())
    }

    fn read(&self, out: &mut [u8]) -> Option<usize> {
        Some(take(out))
    }

    fn size(&self) -> Option<(u32, u32)> {
        match TERMINAL.load(Relaxed) {
            0 => None,
            size => Some(((size >> 32) as u32, size as u32)),
        }
    }
}

/// Queues a line of the log. False if there is no room.
pub fn log(class: Class, line: &[u8]) -> bool {
    !PRESENT.load(Relaxed) || add(|queue| queue.put_line(class, line))
}

/// Sends all queued output, for at most [`TIMEOUT`]. A machine check or panic can come anywhere,
/// even while the queue is locked: then the queued output is lost, so that the final messages are
/// not.
pub fn flush() {
    if !PRESENT.load(Relaxed) {
        return;
    }
    without_interrupts(|| {
        let start = sing_arch::cycles();
        let late =
            || clock::ticks_to_nanoseconds(sing_arch::cycles().wrapping_sub(start)) > TIMEOUT;
        if let Some(mut out) = OUT.try_lock() {
            while !out.queue.is_empty() && !late() {
                transmit(&mut out);
                sing_arch::pause();
            }
        }
        while port::read8(LINE_STATUS) & ALL_SENT == 0 && !late() {
            sing_arch::pause();
        }
    });
}

/// Moves received bytes to `out`: how many.
fn take(out: &mut [u8]) -> usize {
    without_interrupts(|| {
        let mut typed = TYPED.lock();
        let n = typed.count.min(out.len());
        for byte in &mut out[..n] {
            *byte = typed.bytes[typed.first];
            typed.first = (typed.first + 1) % typed.bytes.len();
        }
        typed.count -= n;
        if typed.count <= typed.bytes.len() / 4 {
            hold(&mut typed, false);
        }
        if n > 0 && core::mem::take(&mut typed.full) {
            listen(&typed, &OUT.lock());
        }
        n
    })
}

/// Writes bytes synchronously, after the queued output.
fn write_now(bytes: &[u8]) {
    if !PRESENT.load(Relaxed) {
        return;
    }
    flush();
    for &byte in bytes {
        if byte == b'\n' && RETURNS.load(Relaxed) {
            send(b'\r');
        }
        send(byte);
    }
}

fn send(byte: u8) {
    // A line that never becomes free (a broken device) must not stop the system, so this gives up
    // after 100 ms.
    let start = sing_arch::cycles();
    while port::read8(LINE_STATUS) & CAN_SEND == 0 {
        if clock::ticks_to_nanoseconds(sing_arch::cycles().wrapping_sub(start)) > 100_000_000 {
            return;
        }
        sing_arch::pause();
    }
    port::write8(DATA, byte);
}

/// The console as a formatter's output, for the HAL's own lines.
pub struct Output;

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_now(text.as_bytes());
        Ok(())
    }
}

/// Prints a line to the console.
macro_rules! line {
    ($($argument:tt)*) => {{
        use core::fmt::Write;
        // Writing to the console cannot fail.
        let _ = writeln!($crate::serial::Output, $($argument)*);
    }};
}
pub(crate) use line;

/// Prints a line to the console synchronously.
pub fn say(text: fmt::Arguments<'_>) {
    line!("{text}");
}
