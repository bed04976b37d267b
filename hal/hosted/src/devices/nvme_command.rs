//! Commands of an NVMe controller, as they lie in a queue ([NVM Express] 1.2, 4.2), and where their
//! data is (4.3).
//!
//! Invariant: the parts of a command's data are as many as its length has pages, and one more;
//! looking for them reads two lists at the most.
//!
//! [NVM Express]: https://nvmexpress.org/specifications/

use super::window::Reach;
use sing_abi::PAGE;

/// Bytes of a command.
pub(super) const BYTES: u64 = 64;

/// Kinds of admin commands.
pub(super) mod admin {
    pub(crate) const DELETE_SUBMISSION: u8 = 0x00;
    pub(crate) const CREATE_SUBMISSION: u8 = 0x01;
    pub(crate) const GET_LOG: u8 = 0x02;
    pub(crate) const DELETE_COMPLETION: u8 = 0x04;
    pub(crate) const CREATE_COMPLETION: u8 = 0x05;
    pub(crate) const IDENTIFY: u8 = 0x06;
    pub(crate) const ABORT: u8 = 0x08;
    pub(crate) const SET_FEATURES: u8 = 0x09;
    pub(crate) const GET_FEATURES: u8 = 0x0a;
}

/// Kinds of commands to the namespace.
pub(super) mod io {
    pub(crate) const FLUSH: u8 = 0x00;
    pub(crate) const WRITE: u8 = 0x01;
    pub(crate) const READ: u8 = 0x02;
    pub(crate) const MANAGE: u8 = 0x09;
}

/// Why a command was not done: the kind of status, and the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault(pub(super) u16);

impl Fault {
    pub(super) const KIND: Fault = Fault(0x001);
    pub(super) const FIELD: Fault = Fault(0x002);
    /// Memory was not reached.
    pub(super) const TRANSFER: Fault = Fault(0x004);
    pub(super) const INTERNAL: Fault = Fault(0x006);
    pub(super) const NAMESPACE: Fault = Fault(0x00b);
    pub(super) const OFFSET: Fault = Fault(0x013);
    /// Sectors behind the last one.
    pub(super) const RANGE: Fault = Fault(0x080);
    pub(super) const COMPLETION_QUEUE: Fault = Fault(0x100);
    pub(super) const QUEUE: Fault = Fault(0x101);
    pub(super) const QUEUE_SIZE: Fault = Fault(0x102);
    pub(super) const VECTOR: Fault = Fault(0x108);
    pub(super) const LOG: Fault = Fault(0x109);
    pub(super) const DELETION: Fault = Fault(0x10c);
    pub(super) const READ_ONLY: Fault = Fault(0x182);
    pub(super) const WRITING: Fault = Fault(0x280);
    pub(super) const READING: Fault = Fault(0x281);
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) kind: u8,
    /// What is beside the kind: commands that belong together, and lists of other forms. Neither is
    /// understood.
    flags: u8,
    pub(super) number: u16,
    pub(super) namespace: u32,
    pub(super) data: [u64; 2],
    /// The words from the tenth on.
    pub(super) words: [u32; 6],
}

/// A part of a command's data: a device's address, and bytes.
pub(super) type Part = (u64, usize);

impl Command {
    /// Reads one.
    pub(super) fn of(bytes: &[u8; BYTES as usize]) -> Command {
        let word = |i: usize| {
            let [a, b, c, d] = [0, 1, 2, 3].map(|j| bytes[4 * i + j]);
            u32::from_le_bytes([a, b, c, d])
        };
        let long = |i: usize| u64::from(word(i)) | u64::from(word(i + 1)) << 32;
        Command {
            kind: bytes[0],
            flags: bytes[1],
            number: (word(0) >> 16) as u16,
            namespace: word(1),
            data: [long(6), long(8)],
            words: [10, 11, 12, 13, 14, 15].map(word),
        }
    }

    /// Whether it is of the form that is understood.
    pub(super) fn is_plain(&self) -> bool {
        self.flags == 0
    }

    /// Where its data is, of so many bytes.
    pub(super) fn parts(&self, reach: &mut Reach<'_>, len: usize) -> Result<Vec<Part>, Fault> {
        let page = PAGE as usize;
        let [first, second] = self.data;
        if !first.is_multiple_of(4) {
            return Err(Fault::OFFSET);
        }
        let now = len.min(page - (first % PAGE) as usize);
        let mut parts = vec![(first, now)];
        let mut left = len - now;
        if left == 0 {
            return Ok(parts);
        }
        let mut whole = |at: u64, left: &mut usize| {
            let now = (*left).min(page);
            parts.push((at, now));
            *left -= now;
            at.is_multiple_of(PAGE).then_some(()).ok_or(Fault::OFFSET)
        };
        if left <= page {
            whole(second, &mut left)?;
            return Ok(parts);
        }
        if !second.is_multiple_of(8) {
            return Err(Fault::OFFSET);
        }
        // A list; its last entry leads to the next one if it does not suffice, at a page's
        // beginning.
        let mut at = second;
        while left > 0 {
            let mut entry = [0; 8];
            reach.read(at, &mut entry).map_err(|_| Fault::TRANSFER)?;
            let entry = u64::from_le_bytes(entry);
            let last = at % PAGE == PAGE - 8;
            if last && left > page {
                if !entry.is_multiple_of(PAGE) {
                    return Err(Fault::OFFSET);
                }
                at = entry;
                continue;
            }
            whole(entry, &mut left)?;
            at = at.wrapping_add(8);
        }
        Ok(parts)
    }

    /// Puts these bytes where its data is to be.
    pub(super) fn answer(&self, reach: &mut Reach<'_>, bytes: &[u8]) -> Result<(), Fault> {
        let parts = self.parts(reach, bytes.len())?;
        put(reach, &parts, bytes)
    }
}

/// Puts bytes into parts.
pub(super) fn put(reach: &mut Reach<'_>, parts: &[Part], mut bytes: &[u8]) -> Result<(), Fault> {
    for &(at, len) in parts {
        let (now, rest) = bytes.split_at(len.min(bytes.len()));
        reach.write(at, now).map_err(|_| Fault::TRANSFER)?;
        bytes = rest;
    }
    Ok(())
}
