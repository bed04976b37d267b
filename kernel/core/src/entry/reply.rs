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

impl Collect for Writer {
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

    fn piece(&mut self) -> (&mut [u8; PIECE], &mut usize) {
        (&mut self.piece, &mut self.filled)
    }
}

impl Flavor for Writer {
    /// The address behind the last byte.
    type Output = u32;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        push(self, byte)
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        extend(self, bytes)
    }

    fn finalize(mut self) -> postcard::Result<u32> {
        self.flush()?;
        Ok(self.at)
    }
}

/// What collects bytes in a piece.
trait Collect {
    /// Empties the piece.
    fn flush(&mut self) -> postcard::Result<()>;
    /// The piece, and how much of it is filled.
    fn piece(&mut self) -> (&mut [u8; PIECE], &mut usize);
}

/// Collects one byte.
fn push(to: &mut impl Collect, byte: u8) -> postcard::Result<()> {
    if *to.piece().1 == PIECE {
        to.flush()?;
    }
    let (piece, filled) = to.piece();
    piece[*filled] = byte;
    *filled += 1;
    Ok(())
}

/// Collects bytes, in runs.
fn extend(to: &mut impl Collect, mut bytes: &[u8]) -> postcard::Result<()> {
    while !bytes.is_empty() {
        if *to.piece().1 == PIECE {
            to.flush()?;
        }
        let (piece, filled) = to.piece();
        let (run, rest) = bytes.split_at(bytes.len().min(PIECE - *filled));
        piece[*filled..*filled + run.len()].copy_from_slice(run);
        *filled += run.len();
        bytes = rest;
    }
    Ok(())
}

/// Bytes of a list's count: a number in postcard form, padded to this length with leading zeros, as
/// it is known last.
const COUNT: usize = 5;
/// Records of a list between two looks at interrupts.
const RECORDS: u32 = 32;
/// Bytes of a list between two looks at interrupts, and one record more: a contract's names have at
/// most 128 KiB.
const BYTES: usize = 32 << 10;

/// Encodes a list of the results of `at` for each index: `Some(None)` if a record is not in use,
/// `None` behind the last one. `write` gets the pieces that lie within `max`, with their places,
/// and `look` is called between records. Returns the length.
pub(super) fn encode_list<T: Serialize>(
    max: usize,
    at: impl Fn(u32) -> Option<Option<T>>,
    mut write: impl FnMut(usize, &[u8]) -> Result<(), Trap>,
    look: impl Fn(),
) -> Result<usize, Trap> {
    let (mut index, mut count, mut looked) = (0, 0u32, 0);
    let mut len = COUNT;
    while let Some(record) = at(index) {
        if let Some(record) = record {
            count += 1;
            let mut trap = None;
            let pieces = Pieces {
                write: &mut write,
                trap: &mut trap,
                max,
                len,
                piece: [0; PIECE],
                filled: 0,
            };
            let encoded = postcard::serialize_with_flavor(&record, pieces);
            if let Some(trap) = trap {
                return Err(trap);
            }
            // No other error can come: the values have lengths, and there is room for any number of
            // bytes.
            len = encoded.unwrap_or(usize::MAX);
        }
        index += 1;
        if index.is_multiple_of(RECORDS) || len.saturating_sub(looked) >= BYTES {
            looked = len;
            look();
        }
    }
    if max > 0 && len <= max {
        let mut digits = [0x80; COUNT];
        digits[COUNT - 1] = 0;
        for (i, digit) in digits.iter_mut().enumerate() {
            *digit |= (count >> (7 * i)) as u8 & 0x7f;
        }
        write(0, &digits)?;
    }
    Ok(len)
}

/// Writes a record's encoding piece by piece, as far as there is room.
struct Pieces<'a, W> {
    write: &'a mut W,
    /// Why a piece could not be written.
    trap: &'a mut Option<Trap>,
    max: usize,
    /// Bytes of the answer before the piece.
    len: usize,
    piece: [u8; PIECE],
    filled: usize,
}

impl<W: FnMut(usize, &[u8]) -> Result<(), Trap>> Collect for Pieces<'_, W> {
    fn flush(&mut self) -> postcard::Result<()> {
        let piece = &self.piece[..self.filled];
        let end = self.len.saturating_add(piece.len());
        if end <= self.max
            && let Err(trap) = (self.write)(self.len, piece)
        {
            *self.trap = Some(trap);
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.len = end;
        self.filled = 0;
        Ok(())
    }

    fn piece(&mut self) -> (&mut [u8; PIECE], &mut usize) {
        (&mut self.piece, &mut self.filled)
    }
}

impl<W: FnMut(usize, &[u8]) -> Result<(), Trap>> Flavor for Pieces<'_, W> {
    /// Bytes of the answer up to there.
    type Output = usize;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        push(self, byte)
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        extend(self, bytes)
    }

    fn finalize(mut self) -> postcard::Result<usize> {
        self.flush()?;
        Ok(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cell::Cell;

    /// Makes records with names of these lengths, some of them not in use.
    fn records(lengths: &[usize]) -> Vec<Option<(u32, Vec<String>)>> {
        let name = |len: usize| {
            (0..len)
                .map(|i| char::from(b'a' + (i % 26) as u8))
                .collect()
        };
        let record = |(i, &len): (usize, &usize)| {
            (len % 3 != 1).then(|| (i as u32 * 1000, vec![name(len), name(len / 2)]))
        };
        lengths.iter().enumerate().map(record).collect()
    }

    /// Encodes them into room for `max` bytes; the length, what was written, and the number of
    /// looks.
    fn encoded(records: &[Option<(u32, Vec<String>)>], max: usize) -> (usize, Vec<u8>, u32) {
        let (mut written, looks) = (vec![0; max], Cell::new(0));
        let len = encode_list(
            max,
            |i| records.get(i as usize).map(Option::as_ref),
            |at, bytes| {
                written[at..at + bytes.len()].copy_from_slice(bytes);
                Ok(())
            },
            || looks.set(looks.get() + 1),
        );
        (len.unwrap(), written, looks.get())
    }

    #[test]
    fn a_list_in_pieces_reads_like_one_that_was_encoded_whole() {
        let all = records(&[0, 3, 17, 255, 256, 257, 300, 5000, 8]);
        let used: Vec<_> = all.iter().flatten().collect();
        let (len, written, _) = encoded(&all, 20_000);
        let read: Vec<(u32, Vec<String>)> = postcard::from_bytes(&written[..len]).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), used);
        // Its length is the same without room.
        assert_eq!(encoded(&all, 0).0, len);
        assert_eq!(encoded(&all, len - 1).0, len);
        assert_eq!(encoded(&all, len).0, len);
    }

    #[test]
    fn looks_at_interrupts_come_after_many_records_and_after_many_bytes() {
        assert_eq!(encoded(&records(&[0; 31]), 0).2, 0);
        assert_eq!(encoded(&records(&[0; 64]), 0).2, 2);
        assert_eq!(encoded(&records(&[1; 64]), 0).2, 2, "none is in use");
        assert_eq!(encoded(&records(&[99_999; 9]), 0).2, 9);
        assert_eq!(encoded(&records(&[12_000; 6]), 0).2, 3);
    }

    #[test]
    fn a_place_outside_ends_it() {
        let all = records(&[0, 300]);
        let at = |i: u32| all.get(i as usize).map(Option::as_ref);
        let refused = |_: usize, _: &[u8]| Err(Trap::MemoryOutOfBounds);
        let result = encode_list(10_000, at, refused, || ());
        assert_eq!(result, Err(Trap::MemoryOutOfBounds));
    }
}
