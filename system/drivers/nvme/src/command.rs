//! Commands and their answers, as they lie in the queues ([NVM Express], 4.1 and 4.6).
//!
//! [NVM Express]: https://nvmexpress.org/specifications/

/// Bytes of a page of the device's, and of ours.
pub const PAGE: u32 = 4096;

/// Kinds of admin command.
pub const CREATE_SUBMISSION: u8 = 0x01;
pub const CREATE_COMPLETION: u8 = 0x05;
pub const IDENTIFY: u8 = 0x06;
/// Kinds of command to a namespace.
pub const FLUSH: u8 = 0x00;
pub const WRITE: u8 = 0x01;
pub const READ: u8 = 0x02;
pub const MANAGE: u8 = 0x09;

/// A command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Command {
    pub kind: u8,
    pub number: u16,
    pub namespace: u32,
    /// Where the data is: the first page, and the second or a list of those behind the first.
    pub data: [u64; 2],
    /// What depends on the kind.
    pub words: [u32; 3],
}

impl Command {
    /// Bytes of one.
    pub const BYTES: u32 = 64;

    /// As it lies in a queue.
    pub fn encode(&self) -> [u8; Command::BYTES as usize] {
        let mut bytes = [0; Command::BYTES as usize];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &[self.kind]);
        put(2, &self.number.to_le_bytes());
        put(4, &self.namespace.to_le_bytes());
        put(24, &self.data[0].to_le_bytes());
        put(32, &self.data[1].to_le_bytes());
        for (i, word) in self.words.iter().enumerate() {
            put(40 + 4 * i, &word.to_le_bytes());
        }
        bytes
    }
}

/// What the device says of a command that it has done with.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The command's number.
    pub number: u16,
    /// 0 if it was done.
    pub status: u16,
}

impl Completion {
    /// Bytes of one.
    pub const BYTES: u32 = 16;
    /// Where its last word is: number, phase and status.
    pub const LAST: u32 = 12;

    /// Reads the last word; `None` if it is not of this phase, so that nothing new lies there.
    pub fn of(last: u32, phase: bool) -> Option<Completion> {
        (last >> 16 & 1 == u32::from(phase)).then_some(Completion {
            number: last as u16,
            status: (last >> 17) as u16,
        })
    }
}
