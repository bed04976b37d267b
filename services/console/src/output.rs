//! What is shown: the device, and the pipes that jobs print into.

use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::contracts::PipeContract;
use sing_sdk::rt::{Handle, Vector, Waitable};
use sing_sdk::set::WaitSet;

/// The device's output.
pub struct Screen {
    terminal: bool,
    /// What stands on the last line already, where that is short and plain.
    tail: String,
    /// Whether the last thing shown ended a line.
    fresh: bool,
}

impl Screen {
    /// The screen of a terminal, or a plain stream.
    pub fn new(terminal: bool) -> Screen {
        Screen {
            terminal,
            tail: String::new(),
            fresh: true,
        }
    }

    /// Shows bytes as they are.
    pub fn raw(&self, text: &str) {
        // A device that takes nothing any more is nobody's fault here; the input's end will tell.
        let _ = sing_sdk::console::write(text.as_bytes());
    }

    /// Shows output of a program: at a terminal, a line feed also goes to the first column.
    pub fn show(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.fresh = *last == b'\n';
        self.follow(bytes);
        if !self.terminal {
            let _ = sing_sdk::console::write(bytes);
            return;
        }
        let mut out = Vec::with_capacity(bytes.len() + 32);
        for &byte in bytes {
            if byte == b'\n' {
                out.push(b'\r');
            }
            out.push(byte);
        }
        let _ = sing_sdk::console::write(&out);
    }

    /// Remembers what stands on the last line.
    fn follow(&mut self, bytes: &[u8]) {
        let last = match bytes.iter().rposition(|b| *b == b'\n') {
            Some(at) => {
                self.tail.clear();
                &bytes[at + 1..]
            }
            None => bytes,
        };
        self.tail.push_str(&String::from_utf8_lossy(last));
        if self.tail.len() > 256 || self.tail.contains(char::is_control) {
            self.tail.clear();
        }
    }

    /// What a program has printed on the line where the cursor stands: what a person types there comes behind
    /// it.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// Shows a block piece by piece: it may be of any size.
    pub fn show_block(&mut self, data: &Vector<u8>) {
        let mut piece = [0; 4096];
        let len = data.len();
        for start in (0..len).step_by(piece.len()) {
            let piece = &mut piece[..(len - start).min(4096)];
            data.block().read(start, piece);
            self.show(piece);
        }
    }

    /// Begins a new line, unless the cursor stands at the beginning of one.
    pub fn freshen(&mut self) {
        if !self.fresh {
            self.show(b"\n");
        }
    }

    /// What is typed is shown by the editor; when it has ended a line, the cursor is at the first column.
    pub fn edited(&mut self, text: &str) {
        self.raw(text);
        self.fresh = text.ends_with('\n');
        if self.fresh {
            self.tail.clear();
        }
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
    /// Where handles are short.
    pub fn new() -> Result<Outputs, Error> {
        Ok(Outputs {
            set: WaitSet::new()?,
            all: Vec::new(),
            last: 0,
        })
    }

    /// Shows this pipe too. One that cannot be watched is closed, and whoever writes sees that.
    pub fn add(&mut self, pipe: PipeContract::Exp<PipeContract::Start>) {
        self.last += 1;
        if self.set.add(&pipe, self.last).is_ok() {
            self.all.push((self.last, pipe));
        }
    }

    /// What is waited for: names the number of a pipe.
    pub fn handle(&self) -> Handle {
        self.set.handle()
    }

    /// Takes what a pipe brings. It has to be asked for [`more`](Outputs::more) when that is shown: a writer that has its
    /// answer knows that it was. An ended pipe goes.
    pub fn take(&mut self, id: u32) -> Option<(Vector<u8>, Taken)> {
        let index = self.all.iter().position(|(i, _)| *i == id)?;
        let (_, pipe) = self.all.swap_remove(index);
        let (data, pipe) = pipe.recv_write().ok()?;
        Some((data, Taken(id, pipe)))
    }

    /// Asks for more.
    pub fn more(&mut self, Taken(id, pipe): Taken) {
        self.all.push((id, pipe.send_ack()));
    }

    /// Takes what waits in all pipes now.
    pub fn drain(&mut self, mut show: impl FnMut(Vector<u8>)) {
        // Each pipe has at most one block under way until it is asked for more, so one round takes what was
        // there; a pipe whose writer is fast is not waited for.
        let ready: Vec<u32> = self
            .all
            .iter()
            .filter(|(_, p)| p.is_ready())
            .map(|(id, _)| *id)
            .collect();
        for id in ready {
            if let Some((data, taken)) = self.take(id) {
                show(data);
                self.more(taken);
            }
        }
    }
}

/// A pipe whose writer waits to hear that what it wrote was shown.
pub struct Taken(u32, PipeContract::Exp<PipeContract::Written>);
