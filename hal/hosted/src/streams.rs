//! Two streams in the console's output: what a system with one program writes (`system/wasi/launcher`) is
//! taken apart again, into standard output and standard error.
//!
//! A piece is a frame: the stream's number (1 or 2), the piece's length in four bytes with the least
//! first, and the piece.

use crate::output;
use rustix::io::Errno;
use rustix::stdio::{stderr, stdout};

/// Bytes of a frame's head.
const HEAD: usize = 5;

/// Where in the frames the output is.
#[derive(Default)]
pub(crate) struct Streams {
    head: [u8; HEAD],
    /// How much of the head has come.
    got: usize,
    /// How many bytes of the piece are still to come.
    left: usize,
    /// Both are written to one file, so a line of either is continued by the other.
    is_one: bool,
    /// What was written last to standard error's file does not end a line.
    is_unfinished: bool,
}

/// The reason for which the output cannot be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// Linux refuses it.
    Refused(Errno),
    /// It is no frame.
    NoFrame(u8),
}

impl Streams {
    /// Two streams; whether both go to one file.
    pub(crate) fn new(is_one: bool) -> Streams {
        Streams {
            is_one,
            ..Streams::default()
        }
    }

    /// Ends the line that the program has begun where a line of the log is to be written next.
    pub(crate) fn end_line(&mut self) {
        if std::mem::take(&mut self.is_unfinished) {
            let _ = output::write_all(stderr(), b"\n");
        }
    }

    /// Writes the next bytes of the output to their streams.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.take_apart(bytes, |stream, piece| {
            match stream {
                1 => output::write_all(stdout(), piece)?,
                // Without a reader of errors the program goes on, as elsewhere.
                _ => {
                    let _ = output::write_all(stderr(), piece);
                }
            }
            Ok(piece.len())
        })
        .map(drop)
    }

    /// Writes as many of them as can be written without waiting; returns how many. [`Streams::write`] goes
    /// on with the rest.
    pub(crate) fn write_at_once(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.take_apart(bytes, |stream, piece| {
            let to = if stream == 1 { stdout() } else { stderr() };
            Ok(output::write_at_once(to, piece))
        })
    }

    /// Returns how many bytes were taken: all but those from the first on that was not written.
    fn take_apart(
        &mut self,
        mut bytes: &[u8],
        mut write: impl FnMut(u8, &[u8]) -> Result<usize, Errno>,
    ) -> Result<usize, Error> {
        let all = bytes.len();
        while !bytes.is_empty() {
            if self.got < HEAD {
                let (part, rest) = bytes.split_at(bytes.len().min(HEAD - self.got));
                self.head[self.got..self.got + part.len()].copy_from_slice(part);
                self.got += part.len();
                bytes = rest;
                if self.got == HEAD {
                    let [stream, a, b, c, d] = self.head;
                    if !matches!(stream, 1 | 2) {
                        return Err(Error::NoFrame(stream));
                    }
                    self.left = u32::from_le_bytes([a, b, c, d]) as usize;
                }
            } else {
                let piece = &bytes[..bytes.len().min(self.left)];
                let written = write(self.head[0], piece).map_err(Error::Refused)?;
                self.left -= written;
                if let Some(last) = piece[..written].last()
                    && (self.is_one || self.head[0] == 2)
                {
                    self.is_unfinished = *last != b'\n';
                }
                bytes = &bytes[written..];
                if written < piece.len() {
                    break;
                }
            }
            if self.got == HEAD && self.left == 0 {
                self.got = 0;
            }
        }
        Ok(all - bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out where the input comes in pieces of this length.
    fn apart(input: &[u8], step: usize) -> Result<[Vec<u8>; 2], Error> {
        let mut streams = Streams::default();
        let mut out = [Vec::new(), Vec::new()];
        for piece in input.chunks(step) {
            streams.take_apart(piece, |stream, bytes| {
                out[usize::from(stream) - 1].extend_from_slice(bytes);
                Ok(bytes.len())
            })?;
        }
        Ok(out)
    }

    #[test]
    fn pieces_go_to_their_streams() {
        let frames = b"\x01\x02\0\0\0hi\x02\x01\0\0\0!\x01\0\0\0\0\x01\x01\0\0\0.";
        for step in 1..=frames.len() {
            let out = apart(frames, step).unwrap();
            assert_eq!(out, [b"hi.".to_vec(), b"!".to_vec()], "{step}");
        }
        // Cut anywhere, what came whole or in part is shown.
        for end in 0..frames.len() {
            let [out, _] = apart(&frames[..end], 3).unwrap();
            assert!(b"hi.".starts_with(out.as_slice()), "{end}");
        }
        let mut long = vec![1, 0, 0, 3, 0];
        long.extend([7; 3 << 16]);
        assert_eq!(apart(&long, 1000).unwrap()[0].len(), 3 << 16);
    }

    #[test]
    fn what_is_not_taken_at_once_stays() {
        let frames = b"\x01\x02\0\0\0hi\x02\x01\0\0\0!\x01\0\0\0\0\x01\x01\0\0\0.";
        for room in 0..5 {
            let mut streams = Streams::default();
            let mut out = [Vec::new(), Vec::new()];
            let mut left = room;
            let some = |stream: u8, bytes: &[u8]| {
                let taken = bytes.len().min(left);
                left -= taken;
                out[usize::from(stream) - 1].extend_from_slice(&bytes[..taken]);
                Ok(taken)
            };
            let done = streams.take_apart(frames, some).unwrap();
            assert_eq!(out.concat().len(), room.min(4), "{done}");
            let rest = streams.take_apart(&frames[done..], |stream, bytes| {
                out[usize::from(stream) - 1].extend_from_slice(bytes);
                Ok(bytes.len())
            });
            assert_eq!(rest.unwrap(), frames.len() - done);
            assert_eq!(out, [b"hi.".to_vec(), b"!".to_vec()], "{room}");
        }
    }

    #[test]
    fn a_line_is_unfinished_that_the_log_would_continue() {
        const OUT: &[u8] = b"\x01\x01\0\0\0x";
        const ERROR: &[u8] = b"\x02\x01\0\0\0x";
        const END: &[u8] = b"\x02\x02\0\0\0x\n";
        const NOTHING: &[u8] = b"\x02\0\0\0\0";
        for (pieces, apart, one) in [
            (&[][..], false, false),
            (&[OUT], false, true),
            (&[ERROR], true, true),
            (&[ERROR, NOTHING], true, true),
            (&[ERROR, END], false, false),
            (&[END, OUT], false, true),
            (&[OUT, END], false, false),
            (&[ERROR, OUT], true, true),
        ] {
            for (is_one, expected) in [(false, apart), (true, one)] {
                let mut streams = Streams::new(is_one);
                let frames = pieces.concat();
                let done = streams.take_apart(&frames, |_, piece| Ok(piece.len()));
                assert_eq!(done, Ok(frames.len()));
                assert_eq!(streams.is_unfinished, expected, "{pieces:?} {is_one}");
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        assert_eq!(apart(b"\x03\x01\0\0\0x", 6), Err(Error::NoFrame(3)));
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let mut streams = Streams::default();
        let refused = |_: u8, _: &[u8]| Err(Errno::PIPE);
        let done = streams.take_apart(b"\x01\x01\0\0\0x", refused);
        assert_eq!(done, Err(Error::Refused(Errno::PIPE)));
    }
}
