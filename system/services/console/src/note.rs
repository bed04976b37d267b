//! What the next console must know of this one: text that was read from the device and that no reader
//! has taken, and the prompt. Typed text is nowhere else, so it is noted before anything is done that
//! may not be done twice: what is killed in between loses a line and repeats none.
//!
//! A note is a message to itself, in a channel both of whose ends are left to the successor. There
//! are two, written in turn, each with a number: so one of them is always whole.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::contracts::PipeContract;
use sing_sdk::legacy;
use sing_sdk::rt::{Endpoint, Vector};

/// The numbers under which the ends of a note are left: this one and, for the second note, the next.
const READER: u32 = 16;
const SECOND_READER: u32 = READER + 1;
const WRITER: u32 = 18;

/// What is noted.
#[derive(Default)]
pub struct Noted {
    pub prompt: String,
    pub typed: Vec<u8>,
}

impl Noted {
    fn read(bytes: &[u8]) -> Option<(u64, Noted)> {
        let (number, rest) = bytes.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (prompt, typed) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let prompt = String::from_utf8_lossy(prompt).into_owned();
        let typed = typed.to_vec();
        Some((u64::from_le_bytes(*number), Noted { prompt, typed }))
    }
}

/// One of the two.
enum Page {
    Empty(
        PipeContract::Imp<PipeContract::Start>,
        PipeContract::Exp<PipeContract::Start>,
    ),
    Full(
        PipeContract::Imp<PipeContract::Written>,
        PipeContract::Exp<PipeContract::Start>,
    ),
}

impl Page {
    fn new(at: u32) -> Result<Page, Error> {
        let (imp, exp) = PipeContract::new_channel()?;
        legacy::keep(&imp, WRITER + at);
        legacy::keep(&exp, READER + at);
        Ok(Page::Empty(imp, exp))
    }

    /// Takes what stands there.
    fn clear(self) -> Option<(Page, Option<Vector<u8>>)> {
        match self {
            Page::Empty(..) => Some((self, None)),
            Page::Full(imp, exp) => {
                let (data, exp) = exp.recv_write().ok()?;
                let exp = exp.send_ack();
                let imp = imp.recv_ack().ok()?;
                Some((Page::Empty(imp, exp), Some(data)))
            }
        }
    }
}

/// The notes.
pub struct Note {
    pages: [Option<Page>; 2],
    /// The number of the last one.
    number: u64,
    /// Whether that says nothing.
    blank: bool,
}

impl Note {
    /// None yet.
    ///
    /// # Errors
    /// If memory is short.
    pub fn new() -> Result<Note, Error> {
        Ok(Note {
            pages: [Some(Page::new(0)?), Some(Page::new(1)?)],
            number: 0,
            blank: true,
        })
    }

    /// Notes this in place of what was noted before. If memory is short, that stays.
    pub fn write(&mut self, prompt: &str, lines: &[&[u8]], typed: &VecDeque<u8>) {
        let blank = lines.is_empty() && typed.is_empty() && prompt.is_empty();
        if blank && self.blank {
            return;
        }
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&(self.number + 1).to_le_bytes());
        bytes.extend_from_slice(&(prompt.len() as u32).to_le_bytes());
        bytes.extend_from_slice(prompt.as_bytes());
        lines.iter().for_each(|line| bytes.extend_from_slice(line));
        bytes.extend(typed);
        let Ok(block) = Vector::from_bytes(&bytes) else {
            return;
        };
        let page = &mut self.pages[((self.number + 1) % 2) as usize];
        let Some((Page::Empty(imp, exp), _)) = page.take().and_then(Page::clear) else {
            return;
        };
        *page = Some(Page::Full(imp.send_write(block), exp));
        self.number += 1;
        self.blank = blank;
    }
}

/// Ends of a predecessor's notes, as they come.
#[derive(Default)]
pub struct Found([Option<PipeContract::Exp<PipeContract::Start>>; 2]);

impl Found {
    /// Takes an end of a note; gives back what is none.
    pub fn take(&mut self, tag: u32, endpoint: Endpoint) -> Option<Endpoint> {
        match tag {
            READER..=SECOND_READER => {
                // One whose reading was under way says nothing any more.
                self.0[(tag - READER) as usize] = endpoint.cast().ok();
                None
            }
            // The message stays in the channel if its writer is closed.
            WRITER.. => None,
            _ => Some(endpoint),
        }
    }

    /// What was noted last.
    pub fn last(self) -> Noted {
        let written = |exp: PipeContract::Exp<PipeContract::Start>| {
            let (data, _) = exp.is_ready().then(|| exp.recv_write().ok())??;
            let mut bytes = alloc::vec![0; data.len()];
            data.block().read(0, &mut bytes);
            Noted::read(&bytes)
        };
        let all = self.0.into_iter().flatten().filter_map(written);
        let last = all.max_by_key(|(number, _)| *number);
        last.map(|(_, noted)| noted).unwrap_or_default()
    }
}
