//! The body of a request: bytes in the number that was said, or in chunks (RFC 9112, 7.1).

use crate::head::{Fault, Framing};

/// The most bytes of a line with a chunk's length; what it says beside that is passed over.
const MOST_LINE: usize = 256;
/// The most bytes of all headers behind the last chunk, which are passed over.
const MOST_TRAILERS: usize = 4 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// So many bytes of content follow.
    Content(u64),
    /// In the line with a chunk's length.
    Size(Line),
    /// So many bytes of a chunk follow.
    Chunk(u64),
    /// Behind a chunk; whether its CR has come.
    Behind(bool),
    /// In the headers behind the last chunk.
    Trailers(Trailer),
    End,
}

/// What has come of the line with a chunk's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Line {
    size: u64,
    digits: u8,
    bytes: usize,
    /// Whether spaces have come behind the digits, which only an extension may follow.
    spaced: bool,
    /// Whether an extension has begun.
    beyond: bool,
    returned: bool,
}

/// What has come of the headers behind the last chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Trailer {
    bytes: usize,
    /// Bytes of the line.
    line: usize,
    returned: bool,
}

/// Finds the content of a body, piece by piece.
#[derive(Clone, Debug)]
pub struct Decoder {
    at: At,
    /// Bytes of content that may still come.
    room: u64,
}

/// What a step has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many bytes are content.
    Content(usize),
    /// So many bytes are of the framing.
    Framing(usize),
    /// The body is over.
    End,
}

const TOO_LARGE: Fault = Fault::new(413, "the body is larger than this server takes");

impl Decoder {
    /// The body of a request, of at most so many bytes.
    ///
    /// # Errors
    /// It is said to be larger.
    pub fn new(framing: Framing, most: u64) -> Result<Decoder, Fault> {
        let at = match framing {
            Framing::Length(0) => At::End,
            Framing::Length(bytes) if bytes > most => return Err(TOO_LARGE),
            Framing::Length(bytes) => At::Content(bytes),
            Framing::Chunked => At::Size(Line::default()),
        };
        Ok(Decoder { at, room: most })
    }

    /// Whether all of it has come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.at == At::End
    }

    /// Looks at bytes that have come: what the first of them are. Nothing is found in none, unless
    /// the body is over.
    ///
    /// # Errors
    /// They are no chunks, or there are more than may be.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Found, Fault> {
        match self.at {
            At::End => Ok(Found::End),
            At::Content(left) => {
                let count = (bytes.len() as u64).min(left);
                self.at = match left - count {
                    0 => At::End,
                    left => At::Content(left),
                };
                Ok(Found::Content(count as usize))
            }
            At::Chunk(left) => {
                let count = (bytes.len() as u64).min(left);
                self.at = match left - count {
                    0 => At::Behind(false),
                    left => At::Chunk(left),
                };
                Ok(Found::Content(count as usize))
            }
            _ => {
                let mut count = 0;
                for &byte in bytes {
                    if matches!(self.at, At::Chunk(_) | At::End) {
                        break;
                    }
                    self.framing(byte)?;
                    count += 1;
                }
                Ok(Found::Framing(count))
            }
        }
    }

    fn framing(&mut self, byte: u8) -> Result<(), Fault> {
        const BROKEN: Fault = Fault::bad("the body is not in chunks");
        self.at = match (self.at, byte) {
            (At::Size(line), _) => self.size(line, byte)?,
            (At::Behind(false), b'\r') => At::Behind(true),
            (At::Behind(true), b'\n') => At::Size(Line::default()),
            (At::Behind(_), _) => return Err(BROKEN),
            (At::Trailers(t), _) if t.bytes >= MOST_TRAILERS => {
                return Err(Fault::new(431, "the headers behind the body are too long"));
            }
            (At::Trailers(t), b'\n') if t.returned && t.line == 0 => At::End,
            (At::Trailers(t), b'\n') if t.returned => At::Trailers(Trailer {
                bytes: t.bytes + 1,
                ..Trailer::default()
            }),
            (At::Trailers(t), _) if t.returned || byte == b'\n' => return Err(BROKEN),
            (At::Trailers(t), b'\r') => At::Trailers(Trailer {
                bytes: t.bytes + 1,
                returned: true,
                ..t
            }),
            (At::Trailers(t), _) => At::Trailers(Trailer {
                bytes: t.bytes + 1,
                line: t.line + 1,
                returned: false,
            }),
            (at, _) => at,
        };
        Ok(())
    }

    /// The next byte of the line with a chunk's length.
    fn size(&mut self, mut line: Line, byte: u8) -> Result<At, Fault> {
        const BAD: Fault = Fault::bad("the length of a chunk is none");
        line.bytes += 1;
        if line.bytes > MOST_LINE {
            return Err(BAD);
        }
        if line.returned {
            if byte != b'\n' || line.digits == 0 {
                return Err(BAD);
            }
            if line.size > self.room {
                return Err(TOO_LARGE);
            }
            self.room -= line.size;
            return Ok(match line.size {
                0 => At::Trailers(Trailer::default()),
                size => At::Chunk(size),
            });
        }
        match (byte, char::from(byte).to_digit(16)) {
            (b'\r', _) if line.beyond || !line.spaced => line.returned = true,
            (b'\n' | b'\r', _) => return Err(BAD),
            (_, Some(digit)) if !line.beyond && !line.spaced => {
                line.digits += 1;
                if line.digits > 16 {
                    return Err(BAD);
                }
                line.size = line.size << 4 | u64::from(digit);
            }
            // An extension, before which a sender may have put spaces (RFC 9112, 7.1.1).
            (b';', _) if line.digits > 0 => line.beyond = true,
            (b' ' | b'\t', _) if line.digits > 0 && !line.beyond => line.spaced = true,
            (_, _) if line.beyond && (byte == b'\t' || (0x20..0x7f).contains(&byte)) => {}
            _ => return Err(BAD),
        }
        Ok(At::Size(line))
    }
}
