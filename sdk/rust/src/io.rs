//! Bytes and text in and out: pipes, standard input and output, the debug log.
//!
//! Standard output and error go through pipes that the parent gave; without one, to the debug log.
//! Each `print!` is one block, which moves to the reader; at most one is under way on each pipe.

use crate::contracts::PipeContract;
use crate::rt::{Handle, Vector, Waitable};
use crate::sync::{self, Mutex};
use crate::time::Timeout;
use crate::{Error, process, sys};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The system's debug log, line by line.
///
/// Lines longer than the buffer are cut into several.
#[derive(Debug)]
pub struct DebugLog {
    line: [u8; 256],
    used: usize,
}

impl DebugLog {
    /// A writer to the log.
    #[must_use]
    pub const fn new() -> DebugLog {
        DebugLog {
            line: [0; 256],
            used: 0,
        }
    }

    /// Prints what has been written since the last line end.
    pub fn flush(&mut self) {
        if self.used > 0 {
            // SAFETY: the first `used` bytes of `line` are readable.
            unsafe { sys::debug_print(self.line.as_ptr(), self.used) };
            self.used = 0;
        }
    }

    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' || self.used == self.line.len() {
                self.flush();
            }
            if byte != b'\n' {
                self.line[self.used] = byte;
                self.used += 1;
            }
        }
    }
}

impl Default for DebugLog {
    fn default() -> Self {
        DebugLog::new()
    }
}

impl fmt::Write for DebugLog {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.write(s.as_bytes());
        Ok(())
    }
}

impl Drop for DebugLog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Exit code of a program that is ended because nobody reads what it prints.
pub const NOBODY_READS: i32 = sing_abi::exit::NOBODY_READS;

/// The largest block that a [`Writer`] sends, and the console takes: larger ones go in pieces. So
/// what is under way is little, and who prints very much lets others print between.
pub const LARGEST: usize = 64 << 10;

/// How far from its end a piece may be cut, to end with a line.
const NEAR: usize = 1 << 10;

/// How much of what is larger than [`LARGEST`] is its first piece; `read` reads from a place on.
fn piece_len(read: impl FnOnce(usize, &mut [u8])) -> usize {
    let mut end = [0; NEAR];
    read(LARGEST - NEAR, &mut end);
    match end.iter().rposition(|&b| b == b'\n') {
        Some(at) => LARGEST - NEAR + at + 1,
        None => LARGEST,
    }
}

/// The writing end of a pipe.
#[derive(Debug)]
pub struct Writer(Write);

#[derive(Debug)]
enum Write {
    Ready(PipeContract::Imp<PipeContract::Start>),
    /// The reader has not asked for more yet.
    Waiting(PipeContract::Imp<PipeContract::Written>),
    Closed,
}

impl Writer {
    /// Writes into this pipe.
    #[must_use]
    pub fn new(pipe: PipeContract::Imp<PipeContract::Start>) -> Writer {
        Writer(Write::Ready(pipe))
    }

    /// Moves a block to the reader, when that has taken the one before: in pieces if it is larger
    /// than [`LARGEST`], which end with a line where one ends near, so that what others print does
    /// not come in the middle of it.
    ///
    /// # Errors
    /// [`Error::Closed`] where nobody reads any more, [`Error::NoResources`] if handles are short.
    pub fn send(&mut self, mut data: Vector<u8>) -> Result<(), Error> {
        while data.len() > LARGEST {
            let mut piece = data.into_block();
            let len = piece_len(|at, end| piece.read(at, end));
            data = Vector::from_block(piece.split(len)?);
            self.send_piece(Vector::from_block(piece))?;
        }
        self.send_piece(data)
    }

    fn send_piece(&mut self, data: Vector<u8>) -> Result<(), Error> {
        self.settle()?;
        match core::mem::replace(&mut self.0, Write::Closed) {
            Write::Ready(pipe) => {
                self.0 = Write::Waiting(pipe.send_write(data));
                Ok(())
            }
            _ => Err(Error::Closed),
        }
    }

    /// Copies bytes to the reader.
    ///
    /// # Errors
    /// [`Error::Closed`] if nobody reads any more, [`Error::NoResources`] if memory is short.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        // A block of all of it would take as much memory again, and be cut up.
        while rest.len() > LARGEST {
            let len = piece_len(|at, end| end.copy_from_slice(&rest[at..at + end.len()]));
            let (piece, further) = rest.split_at(len);
            self.send_piece(Vector::from_bytes(piece)?)?;
            rest = further;
        }
        match rest {
            [] => Ok(()),
            _ => self.send_piece(Vector::from_bytes(rest)?),
        }
    }

    /// Whether somebody holds the reading end.
    #[must_use]
    pub fn is_read(&self) -> bool {
        match &self.0 {
            // The reader says nothing when nothing is sent, but that it has gone.
            Write::Ready(pipe) => !pipe.is_ready(),
            Write::Waiting(_) => true,
            Write::Closed => false,
        }
    }

    /// Waits until the reader has taken everything.
    ///
    /// # Errors
    /// [`Error::Closed`] if nobody reads any more.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.0 = match core::mem::replace(&mut self.0, Write::Closed) {
            Write::Waiting(pipe) => Write::Ready(pipe.recv_ack()?),
            settled => settled,
        };
        match self.0 {
            Write::Closed => Err(Error::Closed),
            _ => Ok(()),
        }
    }

    /// The same, but waits no longer than this.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the reader has not taken everything by then, [`Error::Closed`] if
    /// nobody reads any more.
    pub fn settle_within(&mut self, timeout: Timeout) -> Result<(), Error> {
        if let Write::Waiting(pipe) = &self.0 {
            sync::wait(pipe, timeout)?;
        }
        self.settle()
    }
}

impl Writer {
    /// The pipe itself, when the reader has taken everything: for who passes it on.
    ///
    /// # Errors
    /// [`Error::Closed`] where nobody reads any more.
    pub fn into_pipe(mut self) -> Result<PipeContract::Imp<PipeContract::Start>, Error> {
        self.settle()?;
        match self.0 {
            Write::Ready(pipe) => Ok(pipe),
            _ => Err(Error::Closed),
        }
    }
}

/// There is something to wait for only while the reader has not asked for more.
impl Waitable for Writer {
    fn handle(&self) -> Handle {
        match &self.0 {
            Write::Waiting(pipe) => pipe.handle(),
            Write::Ready(_) | Write::Closed => Handle::NONE,
        }
    }
}

/// The reading end of a pipe.
#[derive(Debug)]
pub struct Reader(Option<PipeContract::Exp<PipeContract::Start>>);

impl Reader {
    /// Reads from this pipe.
    #[must_use]
    pub fn new(pipe: PipeContract::Exp<PipeContract::Start>) -> Reader {
        Reader(Some(pipe))
    }

    /// A pipe at its end.
    #[must_use]
    pub const fn empty() -> Reader {
        Reader(None)
    }

    /// Waits for the next block; `None` at the end.
    pub fn receive(&mut self) -> Option<Vector<u8>> {
        let (data, pipe) = self.0.take()?.recv_write().ok()?;
        self.0 = Some(pipe.send_ack());
        Some(data)
    }

    /// The pipe again; one at its end, if this is.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn into_pipe(self) -> Result<PipeContract::Exp<PipeContract::Start>, Error> {
        match self.0 {
            Some(pipe) => Ok(pipe),
            None => Ok(PipeContract::new_channel()?.1),
        }
    }

    /// Everything up to the end.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(data) = self.receive() {
            out.extend_from_slice(&data.to_vec());
        }
        out
    }

    /// Its lines, without their ends; bytes that are no UTF-8 are replaced.
    pub fn lines(&mut self) -> Lines<'_> {
        Lines {
            reader: self,
            buffer: Vec::new(),
            used: 0,
            ended: false,
        }
    }
}

impl Waitable for Reader {
    fn handle(&self) -> Handle {
        self.0.as_ref().map_or(Handle::NONE, Waitable::handle)
    }
}

/// Lines of a pipe.
#[derive(Debug)]
pub struct Lines<'a> {
    reader: &'a mut Reader,
    buffer: Vec<u8>,
    used: usize,
    ended: bool,
}

impl Iterator for Lines<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut searched = self.used;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|b| *b == b'\n') {
                let line = String::from_utf8_lossy(&self.buffer[self.used..searched + at]).into();
                self.used = searched + at + 1;
                return Some(line);
            }
            self.buffer.drain(..self.used);
            self.used = 0;
            searched = self.buffer.len();
            match if self.ended {
                None
            } else {
                self.reader.receive()
            } {
                Some(data) => self.buffer.extend_from_slice(&data.to_vec()),
                None => {
                    self.ended = true;
                    let rest = core::mem::take(&mut self.buffer);
                    return (!rest.is_empty()).then(|| crate::args::into_string(rest));
                }
            }
        }
    }
}

static STDIN: Mutex<Option<Reader>> = Mutex::new(None);
static STDOUT: Mutex<Option<Stream>> = Mutex::new(None);
static STDERR: Mutex<Option<Stream>> = Mutex::new(None);

/// A stream that is connected. Printing reaches it through here alone, so that a program which
/// prints but has no pipe imports nothing of the pipe's contract: what is imported must have been
/// granted.
struct Stream {
    writer: Writer,
    write: fn(&mut Writer, &[u8]) -> Result<(), Error>,
    settle: fn(&mut Writer) -> Result<(), Error>,
}

impl Stream {
    fn new(pipe: PipeContract::Imp<PipeContract::Start>) -> Stream {
        Stream {
            writer: Writer::new(pipe),
            write: Writer::write,
            settle: Writer::settle,
        }
    }
}

/// Connects standard input; the generated start of a program does this with its start-up endpoint.
pub fn set_stdin(pipe: PipeContract::Exp<PipeContract::Start>) {
    *STDIN.lock() = Some(Reader::new(pipe));
}

/// Connects standard output; the generated start of a program does this with its start-up endpoint.
pub fn set_stdout(pipe: PipeContract::Imp<PipeContract::Start>) {
    *STDOUT.lock() = Some(Stream::new(pipe));
}

/// Connects standard error; the generated start of a program does this with its start-up endpoint.
pub fn set_stderr(pipe: PipeContract::Imp<PipeContract::Start>) {
    *STDERR.lock() = Some(Stream::new(pipe));
}

/// Takes standard input; at its end if there is none, or somebody has taken it.
#[must_use]
pub fn stdin() -> Reader {
    STDIN.lock().take().unwrap_or_else(Reader::empty)
}

/// Takes standard output, so that blocks can be moved to it. Later prints go to the debug log.
#[must_use]
pub fn take_stdout() -> Option<Writer> {
    STDOUT.lock().take().map(|stream| stream.writer)
}

/// Takes standard error, as [`take_stdout`] does standard output.
#[must_use]
pub fn take_stderr() -> Option<Writer> {
    STDERR.lock().take().map(|stream| stream.writer)
}

/// Prints to standard output.
#[macro_export]
macro_rules! print {
    ($($t:tt)*) => { $crate::io::print(::core::format_args!($($t)*)) };
}

/// Prints a line to standard output.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($t:tt)*) => { $crate::io::print(::core::format_args!("{}\n", ::core::format_args!($($t)*))) };
}

/// Prints a line to the system's debug log, also if standard output and error are connected.
#[macro_export]
macro_rules! log {
    ($($t:tt)*) => { $crate::io::log(::core::format_args!($($t)*)) };
}

/// Prints a line to standard error.
#[macro_export]
macro_rules! eprintln {
    ($($t:tt)*) => { $crate::io::print_error(::core::format_args!("{}\n", ::core::format_args!($($t)*))) };
}

/// Prints to standard output. If nobody reads it any more, the program ends, as in a pipe whose
/// later stage has seen enough.
pub fn print(text: fmt::Arguments<'_>) {
    match print_to(&STDOUT, text) {
        Ok(()) => {}
        Err(Error::Closed) => process::exit(NOBODY_READS),
        Err(e) => {
            log(format_args!("cannot print: {e}; the process ends"));
            process::exit(1)
        }
    }
}

/// Prints a line to the debug log. Takes no memory.
pub fn log(text: fmt::Arguments<'_>) {
    // Writing to the log does not fail.
    let _ = fmt::write(&mut DebugLog::new(), text);
}

/// Waits until the reader of standard output has taken all that was printed: before something that
/// shows elsewhere, such as the crash of a child.
pub fn flush() {
    if let Some(stream) = STDOUT.lock().as_mut() {
        // If nobody reads, there is nothing to wait for.
        let _ = (stream.settle)(&mut stream.writer);
    }
}

/// Prints to standard error. If nobody reads it, the text is lost.
pub fn print_error(text: fmt::Arguments<'_>) {
    let _ = print_to(&STDERR, text);
}

fn print_to(stream: &Mutex<Option<Stream>>, text: fmt::Arguments<'_>) -> Result<(), Error> {
    // A value may print while it is made into text; the stream is free meanwhile.
    if stream.lock().is_none() {
        // Writing to the log does not fail.
        let _ = fmt::write(&mut DebugLog::new(), text);
        return Ok(());
    }
    let mut line = Line {
        bytes: [0; 256],
        used: 0,
        long: String::new(),
    };
    let text = match text.as_str() {
        Some(text) => text.as_bytes(),
        None => {
            // Writing to memory does not fail.
            let _ = fmt::write(&mut line, text);
            line.text()
        }
    };
    match stream.lock().as_mut() {
        Some(stream) => (stream.write)(&mut stream.writer, text),
        // It has been taken meanwhile.
        None => {
            DebugLog::new().write(text);
            Ok(())
        }
    }
}

/// Text on the stack while it is short: a program that prints a line needs no heap.
struct Line {
    bytes: [u8; 256],
    used: usize,
    long: String,
}

impl Line {
    fn text(&self) -> &[u8] {
        if self.long.is_empty() {
            &self.bytes[..self.used]
        } else {
            self.long.as_bytes()
        }
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.used + s.len();
        match self.bytes.get_mut(self.used..end) {
            Some(room) if self.long.is_empty() => {
                room.copy_from_slice(s.as_bytes());
                self.used = end;
            }
            _ => {
                if self.long.is_empty() {
                    self.long
                        .push_str(&String::from_utf8_lossy(&self.bytes[..self.used]));
                }
                self.long.push_str(s);
            }
        }
        Ok(())
    }
}
