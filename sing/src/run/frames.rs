//! The output of a system with one program: pieces of two streams, as the program wrote them.
//!
//! A piece is a frame: the stream's number (1 or 2), the piece's length in four bytes with the
//! least first, and the piece. `system/wasi/launcher` makes them.

use std::io::{self, Read, Write};

/// Bytes of a frame's head.
const HEAD: usize = 5;
/// Bytes that are passed on at a time.
const PIECE: usize = 64 << 10;

/// Shows what comes, until its end, on standard output and standard error.
pub fn show(input: impl Read) -> io::Result<()> {
    take_apart(input, io::stdout().lock(), io::stderr())
}

/// Takes frames apart until the input ends.
fn take_apart(mut input: impl Read, mut out: impl Write, mut err: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let mut head = [0; HEAD];
        match fill(&mut input, &mut head)? {
            0 => return Ok(()),
            HEAD => {}
            // The system ended in the middle of one.
            _ => return Ok(()),
        }
        let [stream, a, b, c, d] = head;
        let mut left = u32::from_le_bytes([a, b, c, d]) as usize;
        while left > 0 {
            let piece = &mut buffer[..left.min(PIECE)];
            let got = fill(&mut input, piece)?;
            let piece = &buffer[..got];
            match stream {
                1 => out.write_all(piece)?,
                // Without a reader of errors the program goes on, as elsewhere.
                2 => drop(err.write_all(piece)),
                _ => {
                    return Err(io::Error::other(
                        "the system's output is none of its launcher",
                    ));
                }
            }
            if got == 0 {
                break;
            }
            left -= got;
        }
        if stream == 1 {
            out.flush()?;
        }
    }
}

/// Reads until a buffer is full or the input ends: how many bytes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match input.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(input: &[u8]) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        take_apart(input, &mut out, &mut err)?;
        Ok((out, err))
    }

    #[test]
    fn pieces_go_to_their_streams() {
        let frames = b"\x01\x02\0\0\0hi\x02\x01\0\0\0!\x01\0\0\0\0\x01\x01\0\0\0.";
        assert_eq!(apart(frames).unwrap(), (b"hi.".to_vec(), b"!".to_vec()));
        // Cut anywhere, what came whole or in part is shown, and the end is found.
        for end in 0..frames.len() {
            let (out, _) = apart(&frames[..end]).unwrap();
            assert!(b"hi.".starts_with(out.as_slice()), "{end}");
        }
        let mut long = vec![1, 0, 0, 3, 0];
        long.extend([7; 3 << 16]);
        assert_eq!(apart(&long).unwrap().0.len(), 3 << 16);
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        assert!(apart(b"\x03\x01\0\0\0x").is_err());
    }
}
