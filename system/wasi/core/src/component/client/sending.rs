//! What goes to the server: the head, and the body as the program writes it, in the form that its length asks for.
//!
//! The head waits until it is known how long the body is, or the program waits: a short body that is written at once
//! goes with its length and in one block with its head, and any other in chunks.

use super::short;
use crate::PIECE;
use crate::component::why::{Case, Why};
use crate::host::Host;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sing_http::Field;
use sing_http::request::{BEHIND_CHUNK, Length, Request, before_chunk, last_chunk};

/// Bytes of the body that are kept, before there is no room for more; a block may come in addition.
pub const ROOM: usize = PIECE / 2;
/// The largest block that is copied behind what was written before it.
const SMALL: usize = 8 << 10;
/// The most bytes of a head, and of the fields behind a body.
pub const HEAD: usize = 64 << 10;
/// The methods of which a request without content says that it has none (RFC 9110, 8.6).
const WITH_CONTENT: [&str; 3] = ["POST", "PUT", "PATCH"];

enum Piece<B> {
    Bytes(Vec<u8>),
    Block(B, usize),
}

/// How far the program is with the body.
enum Writing {
    /// It has not asked for it.
    Nothing,
    Open,
    /// It is whole; what comes behind it.
    Whole(Vec<Field>),
    /// All of it has been framed.
    Framed,
    /// Nothing more goes out, for this reason.
    Stopped(Why),
}

pub(super) struct Sending<B> {
    /// What the program has said of the body's length, and how much of that has not been written.
    said: Option<u64>,
    left: u64,
    writing: Writing,
    queue: VecDeque<Piece<B>>,
    /// Bytes in the queue.
    queued: usize,
    /// The request, until its head has been made.
    request: Option<Request>,
    /// The head is not to wait for the body.
    hastens: bool,
    begun: bool,
    chunked: bool,
    /// What goes next: bytes, and then perhaps a block.
    wire: Vec<u8>,
    held: Option<B>,
}

impl<B> Sending<B> {
    pub const fn new(said: Option<u64>) -> Sending<B> {
        Sending {
            said,
            left: match said {
                Some(bytes) => bytes,
                None => 0,
            },
            writing: Writing::Nothing,
            queue: VecDeque::new(),
            queued: 0,
            request: None,
            hastens: false,
            begun: false,
            chunked: false,
            wire: Vec::new(),
            held: None,
        }
    }

    pub fn give(&mut self) {
        self.writing = Writing::Open;
    }

    pub fn begin(&mut self, request: Request) {
        self.request = Some(request);
    }

    pub const fn hasten(&mut self, hastens: bool) {
        self.hastens |= hastens;
    }

    /// Nothing more goes out.
    pub fn stop(&mut self, why: &Why) {
        if !matches!(self.writing, Writing::Stopped(_)) {
            self.writing = Writing::Stopped(why.clone());
        }
        self.request = None;
        self.queue.clear();
        (self.queued, self.held) = (0, None);
        self.wire.clear();
    }

    /// Whether there is a block for the network.
    pub fn is_ready(&self) -> bool {
        match (&self.writing, self.begun) {
            (Writing::Stopped(_), _) => false,
            (Writing::Nothing | Writing::Whole(_), false) => self.request.is_some(),
            (_, false) => self.request.is_some() && (self.hastens || self.queued >= ROOM),
            (Writing::Whole(_), true) => true,
            (_, true) => !self.wire.is_empty() || self.held.is_some() || !self.queue.is_empty(),
        }
    }

    /// Whether nothing more will go out.
    pub fn has_ended(&self) -> bool {
        match self.writing {
            Writing::Stopped(_) => true,
            Writing::Nothing | Writing::Framed => self.begun && !self.is_ready(),
            Writing::Open | Writing::Whole(_) => false,
        }
    }

    pub fn is_flushed(&self) -> bool {
        let nothing = self.wire.is_empty() && self.held.is_none() && self.queue.is_empty();
        nothing || matches!(self.writing, Writing::Stopped(_))
    }

    pub fn room(&self) -> Result<u64, Why> {
        match &self.writing {
            Writing::Stopped(why) => Err(why.clone()),
            _ if self.queued > ROOM => Ok(0),
            _ => Ok((PIECE - self.queued) as u64),
        }
    }

    pub fn write<H: Host<Block = B>>(
        &mut self,
        host: &mut H,
        block: B,
        len: usize,
    ) -> Result<(), Why> {
        if let Writing::Stopped(why) = &self.writing {
            return Err(why.clone());
        }
        if let Some(said) = self.said {
            let left = self.left.checked_sub(len as u64);
            self.left = left.ok_or_else(|| Why::bytes(Case::RequestBodySize, said))?;
        }
        self.queued += len;
        if len > SMALL {
            self.queue.push_back(Piece::Block(block, len));
            return Ok(());
        }
        let mut copy = alloc::vec![0; len];
        host.peek(&block, 0, &mut copy);
        match self.queue.back_mut() {
            Some(Piece::Bytes(bytes)) => bytes.extend(copy),
            _ => self.queue.push_back(Piece::Bytes(copy)),
        }
        Ok(())
    }

    pub fn finish(&mut self, trailers: Vec<Field>) -> Result<(), Why> {
        match (&self.writing, self.said) {
            // The server may have answered all the same.
            (Writing::Stopped(_), _) => Ok(()),
            (_, Some(said)) if self.left > 0 => {
                Err(Why::bytes(Case::RequestBodySize, said - self.left))
            }
            _ if last_chunk(&trailers).len() > HEAD => {
                Err(Why::size(Case::RequestTrailerSectionSize, HEAD))
            }
            _ => {
                self.writing = Writing::Whole(trailers);
                Ok(())
            }
        }
    }

    /// How the server finds the end of the body.
    fn length(&self, method: &str) -> Length {
        let nothing = match WITH_CONTENT.contains(&method) {
            true => Length::Known(0),
            false => Length::Nothing,
        };
        match &self.writing {
            _ if self.said.is_some() => Length::Said,
            Writing::Nothing => nothing,
            Writing::Whole(trailers) if trailers.is_empty() => match self.queued {
                0 => nothing,
                bytes => Length::Known(bytes as u64),
            },
            _ => Length::Chunked,
        }
    }

    /// The next block for the network, if there is one.
    pub fn next<H: Host<Block = B>>(&mut self, host: &mut H) -> Result<Option<B>, Why> {
        if let Some(request) = self.request.take() {
            let length = self.length(&request.method);
            self.chunked = length == Length::Chunked;
            self.wire = request.head(length).ok_or(Case::ProtocolError)?;
            self.begun = true;
        }
        self.frame();
        if self.wire.is_empty() {
            let block = self.held.take();
            if self.chunked && block.is_some() {
                self.wire.extend(BEHIND_CHUNK);
            }
            return Ok(block);
        }
        let len = self.wire.len().min(PIECE);
        let mut block = host.block(len).map_err(short)?;
        host.fill(&mut block, &self.wire[..len]);
        self.wire.drain(..len);
        Ok(Some(block))
    }

    /// Puts what was written behind what goes next.
    fn frame(&mut self) {
        while self.held.is_none() && self.wire.len() < ROOM {
            let Some(piece) = self.queue.pop_front() else {
                if let Writing::Whole(trailers) = &self.writing {
                    if self.chunked {
                        self.wire.extend(last_chunk(trailers));
                    }
                    self.writing = Writing::Framed;
                }
                return;
            };
            let len = match &piece {
                Piece::Bytes(bytes) => bytes.len(),
                Piece::Block(_, len) => *len,
            };
            self.queued -= len;
            if self.chunked {
                self.wire.extend(before_chunk(len));
            }
            match piece {
                Piece::Block(block, _) => self.held = Some(block),
                Piece::Bytes(bytes) => {
                    self.wire.extend(bytes);
                    if self.chunked {
                        self.wire.extend(BEHIND_CHUNK);
                    }
                }
            }
        }
    }
}
