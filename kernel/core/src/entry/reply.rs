//! Answers of any length, written to an address that the caller gives. The kernel keeps no copy: it
//! encodes the answer piece by piece into the caller's memory.

use super::caller;
use postcard::ser_flavors::{Flavor, Size};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::SipMemory;

/// Returns the result of an entry whose answer has `len` bytes, for a caller with room for `max`.
pub(super) fn answer(len: usize, max: u32) -> i32 {
    match i32::try_from(len) {
        Err(_) => status::NO_RESOURCES,
        Ok(_) if max > 0 && len > max as usize => status::TOO_SMALL,
        Ok(len) => len,
    }
}

/// Returns the window for an answer of `len` bytes at `out`, which has room for `max`. `None` if
/// nothing is to be written: there is no room, or the caller asks for the length alone (`max` is
/// 0).
pub(super) fn room_for(len: usize, out: u32, max: u32) -> Result<Option<SipMemory>, Trap> {
    if max == 0 || answer(len, max) < 0 {
        return Ok(None);
    }
    caller().memory(out, len as u64).map(Some)
}

/// Copies `data` to `out`; returns its length, or `TOO_SMALL`.
pub(super) fn put(data: &[u8], out: u32, max: u32) -> Result<i32, Trap> {
    if let Some(memory) = room_for(data.len(), out, max)? {
        memory.write(out, data)?;
    }
    Ok(answer(data.len(), max))
}

/// Encodes a value to `out`; returns its length, or `TOO_SMALL`.
pub(super) fn put_encoded(value: &impl Serialize, out: u32, max: u32) -> Result<i32, Trap> {
    let Ok(len) = postcard::serialize_with_flavor(value, Size::default()) else {
        return Ok(status::NO_RESOURCES);
    };
    // Committing the caller's memory for this can itself change the numbers that are reported.
    let room = (len + SLACK).min(max.max(len as u32) as usize);
    let Some(memory) = room_for(room, out, max)? else {
        return Ok(answer(len, max));
    };
    let writer = Writer {
        memory,
        at: out,
        left: room,
        piece: [0; PIECE],
        filled: 0,
    };
    Ok(match postcard::serialize_with_flavor(value, writer) {
        Ok(end) => (end - out) as i32,
        Err(_) => status::TOO_SMALL,
    })
}

/// A list that is encoded item by item, as often as needed.
pub(super) struct List<F>(pub(super) F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some((self.0)().count()))?;
        for item in (self.0)() {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}

/// Bytes collected before they are written.
const PIECE: usize = 256;
/// Bytes by which an answer can differ from its length when measured.
const SLACK: usize = 64;

/// Writes an encoding to a SIP's memory.
struct Writer {
    memory: SipMemory,
    at: u32,
    /// Bytes of room from there on.
    left: usize,
    piece: [u8; PIECE],
    filled: usize,
}

impl Writer {
    fn flush(&mut self) -> postcard::Result<()> {
        let piece = &self.piece[..self.filled];
        if piece.len() > self.left || self.memory.write(self.at, piece).is_err() {
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.at += piece.len() as u32;
        self.left -= piece.len();
        self.filled = 0;
        Ok(())
    }
}

impl Flavor for Writer {
    /// The address behind the last byte.
    type Output = u32;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        if self.filled == PIECE {
            self.flush()?;
        }
        self.piece[self.filled] = byte;
        self.filled += 1;
        Ok(())
    }

    fn finalize(mut self) -> postcard::Result<u32> {
        self.flush()?;
        Ok(self.at)
    }
}
