//! Output: the device, and the pipes of jobs.

use crate::succession::Left;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use console::editor::Editor;
use sing_sdk::Error;
use sing_sdk::contracts::PipeContract;
use sing_sdk::io::LARGEST;
use sing_sdk::legacy;
use sing_sdk::rt::{Endpoint, Handle, Vector, Waitable};
use sing_sdk::set::WaitSet;

/// The bytes of a block that are prepared for the device at a time. Lines up to this length stay
/// whole.
const PIECE: usize = 2048;
/// From this many waiting bytes on, beside blocks, nothing is echoed.
pub const FAR: usize = 16 << 10;
/// The most bytes of a line that are remembered.
const TAIL: usize = 256;
/// The most bytes of waiting notices; further ones are lost.
const NOTICES: usize = 4 << 10;
/// The most bytes of a continuing writer's block that a mark waits for.
const AWAITED: usize = 8 << 10;
/// The most blocks held at a time; further ones wait in their pipes, on their senders' accounts.
pub const BLOCKS: usize = 64;
/// The most pipes shown at a time.
pub const PIPES: usize = 4096;

/// Output of a program.
struct Block {
    data: Vector<u8>,
    /// The bytes shown so far.
    from: usize,
    /// The end of the marked part.
    awaited: usize,
    /// The writer, which waits for the answer that its block was shown.
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

/// The device's output, with a queue for bytes that the device has not taken yet. Typed text goes
/// first; output of programs goes in pieces, from each program in turn, so that no writer hides
/// another.
///
/// The queue is bounded for each source: a pipe has one block here at most, [`BLOCKS`] pipes have
/// one, and typed text is not echoed while the screen is [far behind](Screen::is_far_behind).
pub struct Screen {
    terminal: bool,
    /// The text on the last line, if it is short and plain.
    tail: String,
    /// Whether the last output ended a line.
    fresh: bool,
    /// The pipe of the last output, if that did not end its line.
    open: Option<u32>,
    /// Bytes on their way to the device, and how many of them it has taken.
    chunk: Vec<u8>,
    sent: usize,
    /// The bytes given to the device so far, including this chunk.
    given: u64,
    /// Output after the chunk: prompts and typed text, unchanged.
    raw: Vec<u8>,
    /// The console's own notices.
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

    /// Whether so much is waiting that nothing more is to be echoed.
    pub fn is_far_behind(&self) -> bool {
        self.raw.len() > FAR
    }

    /// Whether one more block can be held.
    pub fn has_room(&self) -> bool {
        self.blocks.len() < BLOCKS
    }

    /// Marks the waiting output. For a writer that has ended this is all of its output; for one
    /// that continues only a little, as it could send a new block at any time.
    pub fn mark(&mut self) {
        for block in &mut self.blocks {
            let len = block.data.len();
            block.awaited = match block.writer.has_gone() {
                true => len,
                false => len.min(block.from + AWAITED),
            };
        }
    }

    /// Removes the mark.
    pub fn unmark(&mut self) {
        for block in &mut self.blocks {
            block.awaited = 0;
        }
    }

    /// Once all marked output is on its way to the device: the number of bytes up to its end, for
    /// [`Screen::is_written`].
    pub fn passed(&self) -> Option<u64> {
        let waits = |block: &Block| block.from < block.awaited;
        let passed =
            self.raw.is_empty() && self.notices.is_empty() && !self.blocks.iter().any(waits);
        passed.then_some(self.given)
    }

    /// Whether the device has written this many bytes.
    pub fn is_written(&self, bytes: u64) -> bool {
        let here = self.chunk.len() - self.sent;
        let unwritten = here + sing_sdk::console::unwritten();
        bytes + unwritten as u64 <= self.given
    }

    /// Gives the device as much as it takes, around the line that is being edited, if there is one,
    /// and `beside` the same; returns the writers to be told that their output was shown.
    pub fn advance(
        &mut self,
        edited: Option<&Editor>,
        mut beside: impl FnMut(&[u8]),
    ) -> Vec<Taken> {
        loop {
            while self.sent < self.chunk.len() {
                // A device that takes no more bytes is no writer's fault; the end of the input will
                // tell.
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
            beside(&self.chunk);
        }
    }

    /// Makes the next chunk; returns whether there is one.
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
        // Output of another pipe must not follow an unfinished line.
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

    /// Adds output of a program to the chunk: the edited line is removed, and drawn again on a line
    /// of its own.
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

    /// Shows bytes unchanged.
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

    /// Remembers the text on the last line.
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

    /// A program's text on the cursor's line: text that a person types there comes after it.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// Begins a new line, unless the cursor is at the beginning of one.
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

    /// Shows this pipe too. If it cannot be watched, the pipe is closed, as its writer finds out.
    /// Returns whether it is shown.
    pub fn add(&mut self, pipe: PipeContract::Exp<PipeContract::Start>) -> bool {
        self.last = self.last.wrapping_add(1) & i32::MAX.cast_unsigned();
        let known = self.all.iter().any(|(id, _)| *id == self.last);
        let shown = !known && self.all.len() < PIPES && self.set.add(&pipe, self.last).is_ok();
        if shown {
            legacy::keep(&pipe, Left::Output as u32);
            self.all.push((self.last, pipe));
        }
        shown
    }

    /// Shows a pipe that a predecessor has left. What that had taken and not shown is lost.
    pub fn take_over(&mut self, pipe: Endpoint) {
        let pipe = match pipe.cast::<PipeContract::Exp<PipeContract::Written>>() {
            Ok(taken) => Some(taken.send_ack()),
            Err(other) => other.cast().ok(),
        };
        pipe.map(|pipe| self.add(pipe));
    }

    /// The set to wait for: it names the number of a pipe.
    pub fn handle(&self) -> Handle {
        self.set.handle()
    }

    /// Shows the block that a pipe brings. The pipe is asked for [`more`](Outputs::more) when the
    /// block is shown, so the answer tells the writer that it was. A pipe that has ended is
    /// removed, and so is one whose writer sends more at once than its share.
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

    /// Shows the waiting output of all pipes now.
    pub fn drain(&mut self, screen: &mut Screen) {
        // Each pipe has at most one block under way until it is asked for more, so one round takes
        // the present output; a fast writer is not waited for.
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

/// A pipe whose writer waits to be told that its output was shown.
pub struct Taken(u32, PipeContract::Exp<PipeContract::Written>);

impl Taken {
    /// Whether the writer has ended, or closed the pipe.
    fn has_gone(&self) -> bool {
        // It may not send before the answer.
        self.1.is_ready()
    }
}
