//! Answers of any length, written to where the caller wants them. The kernel keeps no copy: what is encoded goes into the
//! caller's memory piece by piece.

use super::caller;
use postcard::ser_flavors::{Flavor, Size};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::SipMemory;

/// What an entry comes to whose answer has `len` bytes, and whose caller has room for `max`.
pub(super) fn answer(len: usize, max: u32) -> i32 {
    match i32::try_from(len) {
        Err(_) => status::NO_RESOURCES,
        Ok(_) if max > 0 && len > max as usize => status::TOO_SMALL,
        Ok(len) => len,
    }
}

/// Where an answer of `len` bytes goes: `out`, which has room for `max`. None where it goes nowhere: there is no room, or
/// the caller asks for the length alone (`max` is 0).
pub(super) fn room_for(len: usize, out: u32, max: u32) -> Result<Option<SipMemory>, Trap> {
    if max == 0 || answer(len, max) < 0 {
        return Ok(None);
    }
    caller().memory(out, len as u64).map(Some)
}

/// Copies `data` to `out`: its length, or `TOO_SMALL`.
pub(super) fn put(data: &[u8], out: u32, max: u32) -> Result<i32, Trap> {
    if let Some(memory) = room_for(data.len(), out, max)? {
        memory.write(out, data)?;
    }
    Ok(answer(data.len(), max))
}

/// Encodes a value to `out`: its length, or `TOO_SMALL`.
pub(super) fn put_encoded(value: &impl Serialize, out: u32, max: u32) -> Result<i32, Trap> {
    let Ok(len) = postcard::serialize_with_flavor(value, Size::default()) else {
        return Ok(status::NO_RESOURCES);
    };
    // What the caller's memory gets to hold this can itself be something that is told.
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

/// Bytes that are collected before they are written.
const PIECE: usize = 256;
/// Bytes by which an answer can differ from what it was when it was measured.
const SLACK: usize = 64;

/// Writes what is encoded to a SIP's memory.
struct Writer {
    memory: SipMemory,
    at: u32,
    /// Bytes that there is room for from there on.
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
