//! Output: the device, and the pipes that jobs print into.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use console::editor::Editor;
use sing_sdk::Error;
use sing_sdk::contracts::PipeContract;
use sing_sdk::io::LARGEST;
use sing_sdk::rt::{Handle, Vector, Waitable};
use sing_sdk::set::WaitSet;

/// Bytes of a block that are made ready for the device at a time. Lines up to this length stay whole.
const PIECE: usize = 2048;
/// Bytes that wait, beside blocks, from which on nothing is echoed.
pub const FAR: usize = 16 << 10;
/// Bytes of a line that are remembered.
const TAIL: usize = 256;
/// Bytes of notices that wait at most; of more, some are lost.
const NOTICES: usize = 4 << 10;
/// Of a block whose writer goes on, the bytes that a mark waits for at most.
const AWAITED: usize = 8 << 10;
/// Blocks that are held at a time; further ones wait in their pipes, on the account of those who sent them.
pub const BLOCKS: usize = 64;
/// Pipes that are shown at a time.
pub const PIPES: usize = 4096;

/// What a program prints.
struct Block {
    data: Vector<u8>,
    /// Shown up to here.
    from: usize,
    /// What was marked reaches up to here.
    awaited: usize,
    /// Waits to hear that it was shown.
    writer: Taken,
}

impl Block {
    /// The next piece: whole lines, unless one is longer than a piece.
    fn piece<'a>(&mut self, buffer: &'a mut [u8; PIECE]) -> &'a [u8] {
        let len = (self.data.len() - self.from).min(PIECE);
        let piece = &mut buffer[..len];
        self.data.block().read(self.from, piece);
        let is_last = self.from + len == self.data.len();
        let end = match piece.iter().rposition(|b| *b == b'\n') {
            Some(at) if !is_last => at + 1,
            _ => len,
        };
        self.from += end;
        &piece[..end]
    }
}

/// The device's output: what it has not taken yet waits here. What is typed goes first; what programs print goes in pieces, from each
/// in its turn, so that no writer keeps another from being seen.
///
/// What waits is bounded by those who make it: a pipe has one block here at most, [`BLOCKS`] pipes have one, and what is typed is not
/// echoed while the screen is [far behind](Screen::is_far_behind).
pub struct Screen {
    terminal: bool,
    /// The text on the last line, if it is short and plain.
    tail: String,
    /// Whether the last thing shown ended a line.
    fresh: bool,
    /// The pipe whose last piece was what was shown last, and did not end a line.
    open: Option<u32>,
    /// Bytes on their way to the device, and how many of them it has taken.
    chunk: Vec<u8>,
    sent: usize,
    /// Bytes that the device has been given, and will have been with this chunk.
    given: u64,
    /// What comes after the chunk: prompts and what is typed, as it is.
    raw: Vec<u8>,
    /// What the console itself has to say.
    notices: String,
    blocks: VecDeque<Block>,
    /// Writers whose blocks were shown.
    shown: Vec<Taken>,
}

impl Screen {
    /// The screen of a terminal, or a plain stream.
    pub fn new(terminal: bool) -> Screen {
        Screen {
            terminal,
            tail: String::new(),
            fresh: true,
            open: None,
            chunk: Vec::new(),
            sent: 0,
            given: 0,
            raw: Vec::new(),
            notices: String::new(),
            blocks: VecDeque::new(),
            shown: Vec::new(),
        }
    }

    /// Whether so much waits that nothing more is to be echoed.
    pub fn is_far_behind(&self) -> bool {
        self.raw.len() > FAR
    }

    /// Whether one more block can be held.
    pub fn has_room(&self) -> bool {
        self.blocks.len() < BLOCKS
    }

    /// Marks what waits now. Of a writer that has gone that is all; of one that goes on, it is a little: it could have a new
    /// block here at any time.
    pub fn mark(&mut self) {
        for block in &mut self.blocks {
            let len = block.data.len();
            block.awaited = match block.writer.has_gone() {
                true => len,
                false => len.min(block.from + AWAITED),
            };
        }
    }

    /// Takes the mark away.
    pub fn unmark(&mut self) {
        for block in &mut self.blocks {
            block.awaited = 0;
        }
    }

    /// Where all that was marked is on its way to the device: the number of bytes up to its end, for [`Screen::is_written`].
    pub fn passed(&self) -> Option<u64> {
        let waits = |block: &Block| block.from < block.awaited;
        let passed =
            self.raw.is_empty() && self.notices.is_empty() && !self.blocks.iter().any(waits);
        passed.then_some(self.given)
    }

    /// Whether the device has written so many bytes.
    pub fn is_written(&self, bytes: u64) -> bool {
        let here = self.chunk.len() - self.sent;
        let unwritten = here + sing_sdk::console::unwritten();
        bytes + unwritten as u64 <= self.given
    }

    /// Gives the device as much as it takes, around the line that is being edited, if one is; who is to hear that what they wrote
    /// was shown.
    pub fn advance(&mut self, edited: Option<&Editor>) -> Vec<Taken> {
        loop {
            while self.sent < self.chunk.len() {
                // A device that takes nothing any more is no writer's fault; the input's end will tell.
                match sing_sdk::console::write(&self.chunk[self.sent..]).unwrap_or(0) {
                    0 => return core::mem::take(&mut self.shown),
                    taken => self.sent += taken,
                }
            }
            self.chunk.clear();
            self.sent = 0;
            if !self.fill(edited) {
                return core::mem::take(&mut self.shown);
            }
            self.given += self.chunk.len() as u64;
        }
    }

    /// Makes the next chunk; whether there is one.
    fn fill(&mut self, edited: Option<&Editor>) -> bool {
        if !self.raw.is_empty() {
            core::mem::swap(&mut self.raw, &mut self.chunk);
            return true;
        }
        if !self.notices.is_empty() {
            let notices = core::mem::take(&mut self.notices);
            self.print(notices.as_bytes(), edited);
            return true;
        }
        let Some(mut block) = self.blocks.pop_front() else {
            return false;
        };
        let writer = block.writer.0;
        // What another prints does not stand behind the beginning of a line.
        if self.terminal && edited.is_none() && self.open.is_some_and(|open| open != writer) {
            self.print(b"\n", None);
        }
        let mut buffer = [0; PIECE];
        self.print(block.piece(&mut buffer), edited);
        self.open = (!self.fresh && edited.is_none()).then_some(writer);
        if block.from < block.data.len() {
            self.blocks.push_back(block);
        } else {
            self.shown.push(block.writer);
        }
        true
    }

    /// Adds to the chunk what a program prints: the line that is being edited is taken away, and drawn again on a line of its own.
    fn print(&mut self, bytes: &[u8], edited: Option<&Editor>) {
        let mut text = String::new();
        if let Some(editor) = edited {
            editor.hide(&mut text);
        }
        self.chunk.extend_from_slice(text.as_bytes());
        self.follow(bytes);
        translate(self.terminal, bytes, &mut self.chunk);
        if let Some(editor) = edited {
            if !self.fresh {
                self.follow(b"\n");
                translate(self.terminal, b"\n", &mut self.chunk);
            }
            text.clear();
            editor.draw(&mut text);
            self.chunk.extend_from_slice(text.as_bytes());
        }
    }

    /// Shows bytes as they are.
    pub fn raw(&mut self, text: &str) {
        self.raw.extend_from_slice(text.as_bytes());
    }

    /// Shows a line that a person has typed before.
    pub fn show(&mut self, bytes: &[u8]) {
        self.follow(bytes);
        translate(self.terminal, bytes, &mut self.raw);
    }

    /// Shows a block.
    pub fn show_block(&mut self, data: Vector<u8>, writer: Taken) {
        self.blocks.push_back(Block {
            data,
            from: 0,
            awaited: 0,
            writer,
        });
    }

    /// Shows a line of the console's own.
    pub fn notice(&mut self, text: &str) {
        if self.notices.len() + text.len() < NOTICES {
            self.notices.push_str(text);
            self.notices.push('\n');
        }
    }

    /// Remembers what stands on the last line.
    fn follow(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.fresh = *last == b'\n';
        self.open = None;
        let last = match bytes.iter().rposition(|b| *b == b'\n') {
            Some(at) => {
                self.tail.clear();
                &bytes[at + 1..]
            }
            None => bytes,
        };
        self.tail.push_str(&String::from_utf8_lossy(last));
        if self.tail.len() > TAIL || self.tail.contains(char::is_control) {
            self.tail.clear();
        }
    }

    /// A program's text on the line of the cursor: text that a person types there comes behind
    /// it.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// Begins a new line, unless the cursor stands at the beginning of one.
    pub fn freshen(&mut self) {
        if !self.fresh {
            self.show(b"\n");
        }
    }

    /// The editor shows typed text; when it has ended a line, the cursor is at the first column.
    pub fn edited(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.raw(text);
        self.open = None;
        self.fresh = text.ends_with('\n');
        if self.fresh {
            self.tail.clear();
        }
    }
}

/// Output of a program: at a terminal, a line feed also goes to the first column.
fn translate(terminal: bool, bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if terminal && byte == b'\n' {
            out.push(b'\r');
        }
        out.push(byte);
    }
}

/// The pipes that are shown.
pub struct Outputs {
    /// Watched under their numbers.
    set: WaitSet,
    all: Vec<(u32, PipeContract::Exp<PipeContract::Start>)>,
    last: u32,
}

impl Outputs {
    /// None yet.
    ///
    /// # Errors
    /// If handles are short.
    pub fn new() -> Result<Outputs, Error> {
        Ok(Outputs {
            set: WaitSet::new()?,
            all: Vec::new(),
            last: 0,
        })
    }

    /// Shows this pipe too. One that cannot be watched is closed, which its writer sees.
    pub fn add(&mut self, pipe: PipeContract::Exp<PipeContract::Start>) {
        self.last = self.last.wrapping_add(1) & i32::MAX.cast_unsigned();
        let known = self.all.iter().any(|(id, _)| *id == self.last);
        if !known && self.all.len() < PIPES && self.set.add(&pipe, self.last).is_ok() {
            self.all.push((self.last, pipe));
        }
    }

    /// The set to wait for: it names the number of a pipe.
    pub fn handle(&self) -> Handle {
        self.set.handle()
    }

    /// Shows what a pipe brings. It is asked for [`more`](Outputs::more) when that is shown: a writer that has its answer knows
    /// that it was. An ended pipe goes, and so does one whose writer sends more at once than is its part.
    pub fn take(&mut self, id: u32, screen: &mut Screen) {
        let Some(index) = self.all.iter().position(|(i, _)| *i == id) else {
            return;
        };
        let (_, pipe) = self.all.swap_remove(index);
        let Ok((data, pipe)) = pipe.recv_write() else {
            return;
        };
        match data.len() {
            0..=LARGEST => screen.show_block(data, Taken(id, pipe)),
            len => screen.notice(&format!(
                "console: an output is closed: its writer sent {len} bytes at once, and {LARGEST} are taken; send less at a time"
            )),
        }
    }

    /// Asks for more.
    pub fn more(&mut self, Taken(id, pipe): Taken) {
        self.all.push((id, pipe.send_ack()));
    }

    /// Shows what waits in all pipes now.
    pub fn drain(&mut self, screen: &mut Screen) {
        // Each pipe has at most one block under way until it is asked for more, so one round takes what was
        // there; a pipe whose writer is fast is not waited for.
        let ready: Vec<u32> = self
            .all
            .iter()
            .filter(|(_, p)| p.is_ready())
            .map(|(id, _)| *id)
            .collect();
        for id in ready {
            if screen.has_room() {
                self.take(id, screen);
            }
        }
    }
}

/// A pipe whose writer waits to hear that what it wrote was shown.
pub struct Taken(u32, PipeContract::Exp<PipeContract::Written>);

impl Taken {
    /// Whether the writer has ended, or closed the pipe.
    fn has_gone(&self) -> bool {
        // It has nothing to say before the answer.
        self.1.is_ready()
    }
}
