//! The requests of a connection, found in its bytes as they come, however they were cut.

use crate::body::{Decoder, Found};
use crate::head::{Fault, Head, MOST_BYTES, MOST_EMPTY, MOST_LINE};
use alloc::vec::Vec;

/// What comes over a connection, in this order for each request: its head, pieces of its body, the
/// end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request begins.
    Head(Head),
    /// Bytes of its body.
    Content(Vec<u8>),
    /// All of it has come.
    End,
}

#[derive(Debug)]
enum State {
    Head,
    Body(Decoder),
    /// What comes after a fault cannot be understood.
    Broken(Fault),
}

/// Finds requests in bytes.
#[derive(Debug)]
pub struct Requests {
    bytes: Vec<u8>,
    /// Where in `bytes` what has not been used begins.
    used: usize,
    /// How much of the head that is coming has been searched for its end.
    searched: usize,
    /// Bytes of empty lines before it.
    empty: usize,
    state: State,
    most: u64,
}

impl Requests {
    /// Nothing yet; bodies may have so many bytes.
    #[must_use]
    pub fn new(most: u64) -> Requests {
        Requests {
            bytes: Vec::new(),
            used: 0,
            searched: 0,
            empty: 0,
            state: State::Head,
            most,
        }
    }

    /// Takes bytes that have come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.feed_with(bytes.len(), |room| room.copy_from_slice(bytes));
    }

    /// Takes so many bytes that have come, which are copied to where they are kept.
    pub fn feed_with(&mut self, count: usize, copy: impl FnOnce(&mut [u8])) {
        if self.used > 0 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        let at = self.bytes.len();
        self.bytes.resize(at + count, 0);
        copy(&mut self.bytes[at..]);
    }

    /// Bytes that have come and belong to no event yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.used
    }

    /// Whether the head that is coming, or was refused, is of a request for a head alone.
    #[must_use]
    pub fn wants_no_content(&self) -> bool {
        self.rest().starts_with(b"HEAD ")
    }

    /// Whether bytes have come behind the head.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.waiting() > 0
    }

    /// What comes next, if enough bytes have come.
    ///
    /// # Errors
    /// Why the request is refused. Nothing more is found after that.
    pub fn event(&mut self) -> Result<Option<Event>, Fault> {
        let found = match &mut self.state {
            State::Broken(fault) => return Err(*fault),
            State::Head => self.head(),
            State::Body(_) => self.body(),
        };
        if let Err(fault) = found {
            self.state = State::Broken(fault);
        }
        found
    }

    fn head(&mut self) -> Result<Option<Event>, Fault> {
        // Some clients send an empty line behind a body.
        while let [b'\r', b'\n', ..] = self.rest() {
            self.used += 2;
            self.empty += 2;
            if self.empty > MOST_EMPTY {
                return Err(Fault::bad("there are empty lines instead of a request"));
            }
        }
        let rest = &self.bytes[self.used..];
        let Some(len) = end_of_head(rest, self.searched) else {
            self.searched = rest.len().saturating_sub(3);
            if rest.len() > MOST_LINE && !rest[..MOST_LINE].contains(&b'\n') {
                return Err(Fault::new(414, "the target is too long"));
            }
            if rest.len() > MOST_BYTES {
                return Err(Fault::new(431, "the headers are too long"));
            }
            return Ok(None);
        };
        if len > MOST_BYTES {
            // The same, however the bytes were cut.
            return Err(match rest[..MOST_LINE].contains(&b'\n') {
                true => Fault::new(431, "the headers are too long"),
                false => Fault::new(414, "the target is too long"),
            });
        }
        if len > MOST_LINE && !rest[..MOST_LINE].contains(&b'\n') {
            return Err(Fault::new(414, "the target is too long"));
        }
        let head = Head::read(&rest[..len])?;
        let body = Decoder::new(head.framing, self.most)?;
        self.used += len;
        (self.searched, self.empty) = (0, 0);
        self.state = State::Body(body);
        Ok(Some(Event::Head(head)))
    }

    fn body(&mut self) -> Result<Option<Event>, Fault> {
        while let State::Body(decoder) = &mut self.state {
            let rest = &self.bytes[self.used..];
            match decoder.step(rest)? {
                Found::End => {
                    self.state = State::Head;
                    return Ok(Some(Event::End));
                }
                _ if rest.is_empty() => break,
                Found::Framing(count) => self.used += count,
                Found::Content(count) => {
                    let content = rest[..count].into();
                    self.used += count;
                    return Ok(Some(Event::Content(content)));
                }
            }
        }
        Ok(None)
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }
}

/// The length of a head, the empty line included. A line that ends with a mere line feed counts as
/// one, so that it is refused at once and not waited for.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    let from = searched.min(bytes.len());
    let ends = |at: &usize| {
        let rest = &bytes[*at..];
        rest.starts_with(b"\n\n") || rest.starts_with(b"\n\r\n")
    };
    let at = (from..bytes.len()).find(ends)?;
    Some(at + if bytes[at + 1] == b'\n' { 2 } else { 3 })
}

#[cfg(test)]
mod tests;
