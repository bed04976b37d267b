//! Numbers and texts in messages: little-endian, a text with two bytes of length before it.

use crate::Qid;
use alloc::vec::Vec;
use core::fmt;

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a message of 9P2000.L")
    }
}

impl core::error::Error for Malformed {}

/// Reads a message from its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (now, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(now)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.bytes(N)?.try_into().map_err(|_| Malformed)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.u16()?;
        self.bytes(len.into())
    }

    /// Data with four bytes of length before it.
    pub(crate) fn data(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.u32()?;
        self.bytes(len as usize)
    }

    pub(crate) fn qid(&mut self) -> Result<Qid, Malformed> {
        Ok(Qid {
            kind: self.u8()?,
            version: self.u32()?,
            path: self.u64()?,
        })
    }
}

/// Reads the head; the type, the tag and the rest, if the length is that of the bytes.
pub(crate) fn open(message: &[u8]) -> Result<(u8, u16, Reader<'_>), Malformed> {
    let mut reader = Reader(message);
    if reader.u32()? as usize != message.len() {
        return Err(Malformed);
    }
    Ok((reader.u8()?, reader.u16()?, reader))
}

/// Writes a message.
pub(crate) struct Writer<'a>(pub(crate) &'a mut Vec<u8>);

impl Writer<'_> {
    /// Begins a message in place of what was there.
    pub(crate) fn begin(out: &mut Vec<u8>, kind: u8, tag: u16) -> Writer<'_> {
        out.clear();
        let mut writer = Writer(out);
        writer.u32(0).u8(kind).u16(tag);
        writer
    }

    /// Writes the length, now that it is known.
    pub(crate) fn end(self) {
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// A text; one too long for a message is cut.
    pub(crate) fn text(&mut self, text: &[u8]) -> &mut Self {
        let text = &text[..text.len().min(u16::MAX.into())];
        self.u16(text.len() as u16).bytes(text)
    }

    pub(crate) fn data(&mut self, data: &[u8]) -> &mut Self {
        self.u32(data.len() as u32).bytes(data)
    }

    pub(crate) fn qid(&mut self, qid: &Qid) -> &mut Self {
        self.u8(qid.kind).u32(qid.version).u64(qid.path)
    }
}
