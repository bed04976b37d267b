//! What a server answers: its head, and the body as it comes.
//!
//! Invariants:
//! - Of the head and the frame of the body no more is kept than [`sing_http`] keeps, of the content one block.
//! - A body that ends before its time is an error, not a shorter body, if its length was said.

use sing_http::answer::{Answer, Heads};
use sing_http::body::Next;
use sing_http::{Fault, values};
use sing_sdk::io::Reader;
use sing_sdk::prelude::*;

/// Where the bytes of an answer come from.
pub trait Input {
    /// The next ones; `None` at the end, or when they take too long.
    fn receive(&mut self) -> Option<Vec<u8>>;
}

impl Input for Reader {
    fn receive(&mut self) -> Option<Vec<u8>> {
        Reader::receive(self).map(|block| block.to_vec())
    }
}

/// An answer to GET or POST, whose body comes piece by piece.
#[derive(Debug)]
pub struct Response<I> {
    /// Its status.
    pub status: u16,
    /// The words for it.
    pub reason: String,
    /// Where it sends to.
    pub location: Option<String>,
    answer: Answer,
    /// What has come and is not taken.
    rest: Vec<u8>,
    input: I,
}

impl<I: Input> Response<I> {
    /// Reads the head.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(mut input: I) -> Result<Self, Fault> {
        let mut heads = Heads::new("GET");
        loop {
            let mut bytes = input.receive().ok_or(Fault::Cut)?;
            let (used, answer) = heads.feed(&bytes)?;
            let Some(answer) = answer else {
                continue;
            };
            bytes.drain(..used);
            return Ok(Response {
                status: answer.status,
                reason: answer.reason.clone(),
                location: location(&answer)?,
                answer,
                rest: bytes,
                input,
            });
        }
    }

    /// The next bytes of the body; none at its end.
    ///
    /// # Errors
    /// Why it is not whole.
    #[allow(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let body = &mut self.answer.body;
        loop {
            let next = body.next();
            if next == Next::End {
                return Ok(None);
            }
            if self.rest.is_empty() {
                match self.input.receive() {
                    Some(bytes) => self.rest = bytes,
                    None => body.close()?,
                }
                continue;
            }
            match next {
                Next::Content(most) => {
                    let count = (self.rest.len() as u64).min(most) as usize;
                    let behind = self.rest.split_off(count);
                    body.take(count as u64);
                    return Ok(Some(core::mem::replace(&mut self.rest, behind)));
                }
                Next::Frame => {
                    let used = body.feed(&self.rest)?;
                    self.rest.drain(..used);
                }
                Next::End => return Ok(None),
            }
        }
    }
}

/// The only place that an answer sends to.
fn location(answer: &Answer) -> Result<Option<String>, Fault> {
    let mut all = values(&answer.fields, "location");
    let Some(first) = all.next() else {
        return Ok(None);
    };
    if all.any(|other| other != first) {
        return Err(Fault::Contradiction);
    }
    let text = core::str::from_utf8(first).map_err(|_| Fault::Damaged)?;
    Ok(Some(text.into()))
}
