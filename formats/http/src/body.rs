//! The body of an answer: so many bytes, chunks (RFC 9112, 7.1), or all until the connection ends.
//!
//! [`Body::next`] says what the next bytes are. Content is the caller's, who says with [`Body::take`] how much of it
//! has been passed on; the frame around it goes to [`Body::feed`].

use crate::{Fault, Field, fields};
use alloc::vec::Vec;

/// The most bytes of the line with a chunk's length; an extension in it is passed over.
pub const LINE: usize = 1 << 10;
/// The most bytes of all fields behind the last chunk.
pub const TRAILERS: usize = 16 << 10;
/// The most of these fields.
pub const TRAILER_FIELDS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// So many bytes of content are left.
    Content(u64),
    /// Content, until the connection ends.
    Open,
    /// In the line with a chunk's length.
    Size,
    /// So many bytes of a chunk are left.
    Chunk(u64),
    /// In the end of the line behind a chunk.
    Behind,
    /// In the fields behind the last chunk.
    Trailers,
    End,
}

/// The kind of a body's next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Content: so many bytes at most.
    Content(u64),
    /// The frame around it.
    Frame,
    /// Nothing: all of it has come.
    End,
}

/// Finds the content of a body.
#[derive(Debug)]
pub struct Body {
    at: At,
    /// The bytes of the frame that have come, up to the line's end or, of trailers, their end.
    frame: Vec<u8>,
    /// Bytes of a line of trailers, without its end.
    line: usize,
    trailers: Vec<Field>,
}

impl Body {
    const fn at(at: At) -> Body {
        Body {
            at,
            frame: Vec::new(),
            line: 0,
            trailers: Vec::new(),
        }
    }

    /// None.
    #[must_use]
    pub const fn nothing() -> Body {
        Body::at(At::End)
    }

    /// So many bytes.
    #[must_use]
    pub const fn of(bytes: u64) -> Body {
        match bytes {
            0 => Body::nothing(),
            bytes => Body::at(At::Content(bytes)),
        }
    }

    /// In chunks.
    #[must_use]
    pub const fn chunked() -> Body {
        Body::at(At::Size)
    }

    /// All that comes before the connection ends.
    #[must_use]
    pub const fn until_closed() -> Body {
        Body::at(At::Open)
    }

    /// Whether the connection's end is the body's, and has not come.
    #[must_use]
    pub const fn is_until_closed(&self) -> bool {
        matches!(self.at, At::Open)
    }

    /// The kind of the next bytes.
    #[must_use]
    pub const fn next(&self) -> Next {
        match self.at {
            At::Content(left) | At::Chunk(left) => Next::Content(left),
            At::Open => Next::Content(u64::MAX),
            At::Size | At::Behind | At::Trailers => Next::Frame,
            At::End => Next::End,
        }
    }

    /// So many bytes of content have been passed on, at most as many as [`Body::next`] has said.
    pub const fn take(&mut self, bytes: u64) {
        self.at = match self.at {
            At::Content(left) if bytes < left => At::Content(left - bytes),
            At::Content(_) => At::End,
            At::Chunk(left) if bytes < left => At::Chunk(left - bytes),
            At::Chunk(_) => At::Behind,
            at => at,
        };
    }

    /// Takes bytes of the frame: how many of these it has. It has none when content comes next, or the end.
    ///
    /// # Errors
    /// Why they are no frame.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        for (at, &byte) in bytes.iter().enumerate() {
            let (most, fault) = match self.at {
                At::Size | At::Behind => (LINE, Fault::Damaged),
                At::Trailers => (TRAILERS, Fault::TrailersTooLong),
                _ => return Ok(at),
            };
            if self.frame.len() == most {
                return Err(fault);
            }
            self.frame.push(byte);
            match byte {
                b'\n' => self.end_of_line()?,
                b'\r' => {}
                _ => self.line += 1,
            }
        }
        Ok(bytes.len())
    }

    fn end_of_line(&mut self) -> Result<(), Fault> {
        let empty = core::mem::take(&mut self.line) == 0;
        self.at = match self.at {
            At::Size => match size(&self.frame)? {
                0 => At::Trailers,
                size => At::Chunk(size),
            },
            At::Behind if self.frame == b"\r\n" => At::Size,
            At::Behind => return Err(Fault::Damaged),
            At::Trailers if !empty => return Ok(()),
            At::Trailers => {
                self.trailers = trailers(&self.frame)?;
                At::End
            }
            at => at,
        };
        self.frame.clear();
        Ok(())
    }

    /// The connection has ended.
    ///
    /// # Errors
    /// [`Fault::Cut`] if more was to come.
    pub fn close(&mut self) -> Result<(), Fault> {
        match self.at {
            At::End | At::Open => {
                self.at = At::End;
                Ok(())
            }
            _ => Err(Fault::Cut),
        }
    }

    /// Takes the fields that have come behind the last chunk.
    pub fn take_trailers(&mut self) -> Vec<Field> {
        core::mem::take(&mut self.trailers)
    }
}

/// The length that the line before a chunk says.
fn size(line: &[u8]) -> Result<u64, Fault> {
    // httparse takes no digits for 0.
    if !line.first().is_some_and(u8::is_ascii_hexdigit) {
        return Err(Fault::Damaged);
    }
    match httparse::parse_chunk_size(line) {
        Ok(httparse::Status::Complete((used, size))) if used == line.len() => Ok(size),
        _ => Err(Fault::Damaged),
    }
}

fn trailers(bytes: &[u8]) -> Result<Vec<Field>, Fault> {
    let mut room = [httparse::EMPTY_HEADER; TRAILER_FIELDS];
    match httparse::parse_headers(bytes, &mut room) {
        Ok(httparse::Status::Complete((used, found))) if used == bytes.len() => Ok(fields(found)),
        Err(httparse::Error::TooManyHeaders) => Err(Fault::TrailersTooLong),
        _ => Err(Fault::Damaged),
    }
}
