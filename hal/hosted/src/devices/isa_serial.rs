//! A serial port (16550), at whose far end is a socket or a file of the host.
//!
//! Bytes move as quickly as both sides take them, whatever speed is set. What is received waits at
//! the host while the port has no room, so that none is lost. Two threads wait for the host: one
//! reads, one writes.
//!
//! Invariant: what waits in either direction is bounded ([`ROOM`]).

use super::isa::{Description, Platform};
use super::lines;
use crate::signals;
use crate::thread::{Kernel, quiet_thread};
use sing_kernel::device::{IoRange, Space};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Stack of a thread.
const STACK: usize = 64 << 10;
/// Bytes that wait, in each direction.
const ROOM: usize = 4096;
/// Bytes that the device says it takes when it can send.
const FIFO: usize = 16;

/// Registers.
const DATA: u32 = 0;
const INTERRUPTS: u32 = 1;
const WHICH: u32 = 2;
const FORMAT: u32 = 3;
const MODEM: u32 = 4;
const STATUS: u32 = 5;
const SIGNALS: u32 = 6;
/// Bit of the format: the first two registers are those of the speed.
const SPEED: u8 = 0x80;
/// Interrupts that are asked for.
const RECEIVED: u8 = 1;
const SENT: u8 = 2;
/// Which interrupt there is, with the FIFOs on: none; one for each of those.
const NONE: u8 = 0xc1;
const FOR_SENT: u8 = 0xc2;
const FOR_RECEIVED: u8 = 0xc4;
/// Bits of the status: a byte is there; there is room; all has gone.
const HAS_RECEIVED: u8 = 1;
const CAN_SEND: u8 = 0x20;
const ALL_SENT: u8 = 0x40;
/// Signals of the far end while it is there: it may be sent to, it is ready, it is connected.
const FAR_END: u8 = 0xb0;

/// The far end of a serial port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SerialLine {
    /// A file, which is made anew and gets what is sent. Nothing is received.
    File(PathBuf),
    /// A Unix socket, to which the machine connects.
    Socket(PathBuf),
}

impl SerialLine {
    /// Reads `FILE` or `unix:PATH`.
    #[must_use]
    pub fn named(text: OsString) -> SerialLine {
        match text.as_bytes().strip_prefix(b"unix:") {
            Some(path) => SerialLine::Socket(OsString::from_vec(path.to_vec()).into()),
            None => SerialLine::File(text.into()),
        }
    }
}

/// The reason for which there is no serial port.
#[derive(Debug)]
pub struct SerialError {
    line: SerialLine,
    error: io::Error,
}

impl fmt::Display for SerialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            SerialLine::File(path) => write!(f, "--serial {}: {}", path.display(), self.error),
            SerialLine::Socket(path) => write!(
                f,
                "--serial unix:{}: {}; the machine connects to a socket at which somebody listens",
                path.display(),
                self.error
            ),
        }
    }
}

impl std::error::Error for SerialError {}

/// How the kernel sees it.
pub(super) fn description() -> Description {
    Description {
        location: "/isa/02f8",
        signature: "/pnp/PNP0501",
        ranges: vec![IoRange {
            space: Space::Port,
            len: 8,
        }],
        interrupts: true,
    }
}

/// The two directions of what is at the far end.
type Ends = (Option<Box<dyn Read + Send>>, Box<dyn Write + Send>);

fn open(line: &SerialLine) -> io::Result<Ends> {
    Ok(match line {
        SerialLine::File(path) => (None, Box::new(File::create(path)?)),
        SerialLine::Socket(path) => {
            let socket = UnixStream::connect(path)?;
            (Some(Box::new(socket.try_clone()?)), Box::new(Far(socket)))
        }
    })
}

/// A socket that tells its peer of the end also while the other thread has it.
struct Far(UnixStream);

impl Write for Far {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

#[derive(Default)]
struct State {
    received: VecDeque<u8>,
    sent: VecDeque<u8>,
    interrupts: u8,
    format: u8,
    modem: u8,
    scratch: u8,
    speed: [u8; 2],
    /// Whether that there is room is to be told by an interrupt.
    tell_room: bool,
    /// Whether the far end has gone: what is sent is lost.
    gone: bool,
}

impl State {
    fn has_room(&self) -> bool {
        self.gone || self.sent.len() + FIFO <= ROOM
    }

    fn which(&self) -> u8 {
        if self.interrupts & RECEIVED != 0 && !self.received.is_empty() {
            FOR_RECEIVED
        } else if self.interrupts & SENT != 0 && self.tell_room {
            FOR_SENT
        } else {
            NONE
        }
    }
}

/// The port.
pub(super) struct Serial {
    line: u32,
    state: Mutex<State>,
    /// There is room for what is received; there is something to be sent.
    room: Condvar,
    more: Condvar,
}

impl Serial {
    fn new(line: u32) -> Serial {
        Serial {
            line,
            state: Mutex::default(),
            room: Condvar::new(),
            more: Condvar::new(),
        }
    }

    /// Opens what is at the far end, and starts the threads.
    pub(super) fn start(line: u32, far: &SerialLine) -> Result<Arc<Serial>, SerialError> {
        let failed = |error| SerialError {
            line: far.clone(),
            error,
        };
        let (from, mut to) = open(far).map_err(failed)?;
        let serial = Arc::new(Serial::new(line));
        if let Some(mut from) = from {
            let port = Arc::clone(&serial);
            quiet_thread("serial in", STACK, move |kernel| {
                port.read_all(&mut from, kernel);
            })
            .map_err(failed)?;
        }
        let port = Arc::clone(&serial);
        quiet_thread("serial out", STACK, move |kernel| {
            port.write_all(&mut to, kernel);
        })
        .map_err(failed)?;
        Ok(serial)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_all(&self, from: &mut dyn Read, kernel: Kernel) {
        let mut bytes = [0; ROOM];
        loop {
            let mut state = self.lock();
            while state.received.len() == ROOM {
                state = self
                    .room
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let room = ROOM - state.received.len();
            drop(state);
            let count = match from.read(&mut bytes[..room]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            let mut state = self.lock();
            state.received.extend(&bytes[..count]);
            if self.update(&state) {
                kernel.signal(signals::DEVICE);
            }
        }
    }

    fn write_all(&self, to: &mut dyn Write, kernel: Kernel) {
        loop {
            let mut state = self.lock();
            while state.sent.is_empty() {
                state = self
                    .more
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let bytes: Vec<u8> = state.sent.iter().copied().collect();
            drop(state);
            let written = to.write_all(&bytes);
            let mut state = self.lock();
            // A reset takes nothing back that is being sent.
            let had_room = state.has_room();
            state.sent.drain(..bytes.len());
            state.gone = written.is_err();
            if state.gone {
                state.sent.clear();
            }
            state.tell_room |= !had_room;
            if self.update(&state) {
                kernel.signal(signals::DEVICE);
            }
            if state.gone {
                break;
            }
        }
    }

    /// Makes the line what it should be. Returns whether an interrupt is now to be delivered.
    fn update(&self, state: &State) -> bool {
        if state.which() == NONE {
            lines::lower(self.line);
            false
        } else {
            lines::raise(self.line)
        }
    }
}

impl Platform for Serial {
    fn read(&self, _: usize, offset: u32, width: u32) -> u64 {
        if width != 1 {
            return u64::MAX;
        }
        let mut state = self.lock();
        let of_speed = state.format & SPEED != 0;
        let value = match offset {
            DATA | INTERRUPTS if of_speed => state.speed[offset as usize],
            DATA => {
                let byte = state.received.pop_front().unwrap_or(0);
                self.room.notify_one();
                byte
            }
            INTERRUPTS => state.interrupts,
            WHICH => {
                let which = state.which();
                if which == FOR_SENT {
                    state.tell_room = false;
                }
                which
            }
            FORMAT => state.format,
            MODEM => state.modem,
            STATUS => {
                let received = if state.received.is_empty() {
                    0
                } else {
                    HAS_RECEIVED
                };
                let room = if state.has_room() { CAN_SEND } else { 0 };
                let all = if state.sent.is_empty() { ALL_SENT } else { 0 };
                received | room | all
            }
            SIGNALS if state.gone => 0,
            SIGNALS => FAR_END,
            _ => state.scratch,
        };
        if state.which() == NONE {
            lines::lower(self.line);
        }
        value.into()
    }

    fn write(&self, _: usize, offset: u32, width: u32, value: u64) -> bool {
        if width != 1 {
            return false;
        }
        let value = value as u8;
        let mut state = self.lock();
        let of_speed = state.format & SPEED != 0;
        match offset {
            DATA | INTERRUPTS if of_speed => state.speed[offset as usize] = value,
            DATA => {
                // A byte that is sent though there is no room is lost, as on a wire.
                if !state.gone && state.sent.len() < ROOM {
                    state.sent.push_back(value);
                    self.more.notify_one();
                }
                state.tell_room = state.has_room();
            }
            INTERRUPTS => {
                // That there is room is told also to who asks only now.
                state.tell_room |= value & SENT != 0 && state.has_room();
                state.interrupts = value & 15;
            }
            // The FIFO for what is received is emptied.
            WHICH if value & 2 != 0 => {
                state.received.clear();
                self.room.notify_one();
            }
            FORMAT => state.format = value,
            MODEM => state.modem = value,
            7 => state.scratch = value,
            _ => {}
        }
        self.update(&state)
    }

    fn reset(&self) {
        let mut state = self.lock();
        let (sent, gone) = (std::mem::take(&mut state.sent), state.gone);
        *state = State {
            sent,
            gone,
            ..State::default()
        };
        self.room.notify_one();
        lines::lower(self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that no other test has.
    const LINE: u32 = 28;

    fn get(serial: &Serial, register: u32) -> u8 {
        serial.read(0, register, 1) as u8
    }

    fn set(serial: &Serial, register: u32, value: u8) {
        serial.write(0, register, 1, value.into());
    }

    #[test]
    fn interrupts_are_for_what_is_asked_and_end_when_it_is_served() {
        let serial = Serial::new(LINE);
        assert_eq!(get(&serial, WHICH), NONE);
        serial.lock().received.extend([1, 2]);
        assert_eq!(get(&serial, WHICH), NONE, "nobody has asked");
        set(&serial, INTERRUPTS, RECEIVED | SENT);
        assert_eq!(get(&serial, WHICH), FOR_RECEIVED);
        assert_eq!((get(&serial, DATA), get(&serial, DATA)), (1, 2));
        assert_eq!(get(&serial, WHICH), FOR_SENT, "there is room");
        assert_eq!(get(&serial, WHICH), NONE, "it was told");
        set(&serial, DATA, 7);
        assert_eq!(get(&serial, WHICH), FOR_SENT);
        assert_eq!(get(&serial, STATUS), CAN_SEND, "not all has gone");
    }

    #[test]
    fn what_waits_is_bounded() {
        let serial = Serial::new(LINE);
        for n in 0..2 * ROOM {
            set(&serial, DATA, n as u8);
        }
        assert_eq!(serial.lock().sent.len(), ROOM);
        assert_eq!(get(&serial, STATUS) & CAN_SEND, 0);
    }

    #[test]
    fn a_reset_keeps_what_was_sent_and_nothing_else() {
        let serial = Serial::new(LINE);
        set(&serial, DATA, 1);
        set(&serial, INTERRUPTS, SENT);
        set(&serial, 7, 0x5a);
        serial.lock().received.push_back(2);
        serial.reset();
        let state = serial.lock();
        assert_eq!((state.sent.len(), state.received.len()), (1, 0));
        assert_eq!((state.interrupts, state.scratch), (0, 0));
    }

    #[test]
    fn a_far_end_is_a_file_or_a_socket() {
        let named = |text: &str| SerialLine::named(text.into());
        assert_eq!(named("unix:/a:b"), SerialLine::Socket("/a:b".into()));
        assert_eq!(named("unix"), SerialLine::File("unix".into()));
        let missing = SerialLine::named("unix:/nowhere/at/all".into());
        let error = Serial::start(LINE, &missing).map(drop).unwrap_err();
        assert!(
            error.to_string().contains("unix:/nowhere/at/all"),
            "{error}"
        );
    }
}
