//! What a server answers: its head, and the body as it comes.
//!
//! Invariants:
//! - Of the head at most [`HEAD`] bytes are kept, of the body one block.
//! - A body that ends before its time is an error, not a shorter body, if its length was said.

use sing_sdk::io::Reader;
use sing_sdk::prelude::*;

/// The most bytes of a head, and its lines.
const HEAD: usize = 16 << 10;
const LINES: usize = 64;
/// Answers before the real one (1xx).
const BEFORE: usize = 8;

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// After so many bytes more.
    Known(u64),
    /// In chunks: so many bytes of this one are left.
    Chunks(u64),
    /// With the connection.
    Open,
    Done,
}

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

/// An answer, whose body comes piece by piece.
#[derive(Debug)]
pub struct Response<I> {
    /// Its status.
    pub status: u16,
    /// The words for it.
    pub reason: String,
    /// Where it sends to.
    pub location: Option<String>,
    length: Length,
    /// What has come and is not taken.
    rest: Vec<u8>,
    input: I,
}

impl<I: Input> Response<I> {
    /// Reads the head.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(mut input: I) -> Result<Self, &'static str> {
        let mut rest = Vec::new();
        for _ in 0..BEFORE {
            let response = head(&mut rest, &mut input)?;
            if !(100..200).contains(&response.0) {
                let (status, reason, location, length) = response;
                let nothing = matches!(status, 204 | 304);
                return Ok(Response {
                    status,
                    reason,
                    location,
                    length: if nothing { Length::Done } else { length },
                    rest,
                    input,
                });
            }
        }
        Err("the server does not come to its answer")
    }

    /// The next bytes of the body; none at its end.
    ///
    /// # Errors
    /// Why it is not whole.
    #[allow(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, &'static str> {
        loop {
            let most = match self.length {
                Length::Done | Length::Known(0) => return Ok(None),
                Length::Chunks(0) => {
                    self.chunk()?;
                    continue;
                }
                Length::Known(left) | Length::Chunks(left) => left,
                Length::Open => u64::MAX,
            };
            if self.rest.is_empty() && !more(&mut self.rest, &mut self.input) {
                return match self.length {
                    Length::Open => Ok(None),
                    _ => Err("the connection has ended before the file has"),
                };
            }
            let count = (self.rest.len() as u64).min(most) as usize;
            let behind = self.rest.split_off(count);
            let bytes = core::mem::replace(&mut self.rest, behind);
            match &mut self.length {
                Length::Known(left) => *left -= count as u64,
                Length::Chunks(left) => {
                    *left -= count as u64;
                    if *left == 0 {
                        self.end_of_line()?;
                    }
                }
                Length::Open | Length::Done => {}
            }
            return Ok(Some(bytes));
        }
    }

    /// Reads the beginning of a chunk. What may come behind the last one is not read.
    fn chunk(&mut self) -> Result<(), &'static str> {
        loop {
            match httparse::parse_chunk_size(&self.rest) {
                Ok(httparse::Status::Complete((used, size))) => {
                    self.rest.drain(..used);
                    self.length = if size == 0 {
                        Length::Done
                    } else {
                        Length::Chunks(size)
                    };
                    return Ok(());
                }
                Ok(httparse::Status::Partial) if self.rest.len() < HEAD => {
                    if !more(&mut self.rest, &mut self.input) {
                        return Err("the connection has ended before the file has");
                    }
                }
                _ => return Err("the server's answer is damaged"),
            }
        }
    }

    /// Takes the end of the line behind a chunk.
    fn end_of_line(&mut self) -> Result<(), &'static str> {
        while self.rest.len() < 2 {
            if !more(&mut self.rest, &mut self.input) {
                return Err("the connection has ended before the file has");
            }
        }
        match self.rest.drain(..2).eq(*b"\r\n") {
            true => Ok(()),
            false => Err("the server's answer is damaged"),
        }
    }
}

/// Appends what comes next; whether anything does.
fn more(rest: &mut Vec<u8>, input: &mut impl Input) -> bool {
    match input.receive() {
        Some(bytes) => {
            rest.extend(bytes);
            true
        }
        None => false,
    }
}

type Head = (u16, String, Option<String>, Length);

/// Reads a head, and takes it from what has come.
fn head(rest: &mut Vec<u8>, input: &mut impl Input) -> Result<Head, &'static str> {
    loop {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut response = httparse::Response::new(&mut lines);
        match response.parse(rest) {
            Ok(httparse::Status::Complete(used)) => {
                let status = response.code.unwrap_or_default();
                let reason = response.reason.unwrap_or_default().into();
                let location = text(response.headers, "location")?;
                let length = length(response.headers)?;
                rest.drain(..used);
                return Ok((status, reason, location, length));
            }
            Ok(httparse::Status::Partial) if rest.len() < HEAD => {
                if !more(rest, input) {
                    return Err("the connection has ended before an answer came");
                }
            }
            Ok(httparse::Status::Partial) => return Err("the head of the answer has no end"),
            Err(_) => return Err("the answer is not one of HTTP"),
        }
    }
}

/// The only line of a name.
fn text(lines: &[httparse::Header], name: &str) -> Result<Option<String>, &'static str> {
    let mut all = lines
        .iter()
        .filter(|line| line.name.eq_ignore_ascii_case(name));
    let (first, second) = (all.next(), all.next());
    if second.is_some_and(|second| first.is_some_and(|first| first.value != second.value)) {
        return Err("the answer contradicts itself");
    }
    let text = first.map(|line| core::str::from_utf8(line.value).map(ToOwned::to_owned));
    text.transpose()
        .map_err(|_| "the answer is not one of HTTP")
}

fn length(lines: &[httparse::Header]) -> Result<Length, &'static str> {
    if let Some(coding) = text(lines, "transfer-encoding")? {
        return match coding.eq_ignore_ascii_case("chunked") {
            true => Ok(Length::Chunks(0)),
            false => Err("the file comes in a form that was not asked for"),
        };
    }
    match text(lines, "content-length")? {
        None => Ok(Length::Open),
        Some(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            let length = text.parse().map_err(|_| "the file is too long")?;
            Ok(Length::Known(length))
        }
        Some(_) => Err("the answer is not one of HTTP"),
    }
}
