//! Calls of a host program into the system, between the hosted machine's device for them and its
//! driver. Both share this crate, so that neither has a reader of its own.
//!
//! The device has two queues. It fills a block of [`RECEIVE`] with one request: a [`Request`] in
//! [`HEAD`] bytes, the name of an image, and the bytes of a call. The driver answers by one request
//! of [`SEND`]: an [`Answer`] in [`HEAD`] bytes, and behind it bytes of any block of its own, which
//! the host reads where they are.
//!
//! | request | what is behind its head | answer |
//! |---|---|---|
//! | `Call`: make a process of the image, ask it, end it | the name, the bytes | one, when it is over |
//! | `Open`: make a process of the image and keep it | the name | `Done`, or why not |
//! | `Ask`: ask the kept process that `process` names | the bytes | one, when it is over |
//! | `Close`: end the kept process that `process` names | nothing | none |
//! | `Cancel`: nobody waits for the answer to `id` any more | nothing | none |
//!
//! The host gives each request a number, and uses none twice while one of this number is open. The
//! number of an `Open` is the kept process's name from then on.
//!
//! Invariant: any bytes become a request or an answer, or [`Malformed`]; nothing is read beyond
//! them.
#![no_std]
#![forbid(unsafe_code)]

/// The number of the kind of device. Virtio's own end far below.
pub const DEVICE: u32 = 0x5e8;
/// Its queues: blocks that the device fills, and answers for it to read.
pub const RECEIVE: u32 = 0;
/// See [`RECEIVE`].
pub const SEND: u32 = 1;
/// The bytes of a head.
pub const HEAD: usize = 64;
/// The most bytes of an image's name.
pub const NAME: usize = 64;
/// The most bytes of a call.
pub const MOST: usize = 64 << 10;
/// The bytes of a block that the device is to fill.
pub const BLOCK: usize = HEAD + NAME + MOST;
/// The most bytes of an answer: with its head, what a request of a queue may have. The host reads
/// them in one go, which holds the system meanwhile; so of answers that are handed in together it
/// takes but the first, and others of few bytes.
pub const ANSWER: usize = (1 << 20) - HEAD;
/// The most calls that may be open at a time, and the most processes that are kept: what is beyond
/// that is answered with [`Outcome::NotMade`].
pub const OPEN: usize = 256;
/// No deadline.
pub const NEVER: u64 = u64::MAX;

/// What the host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above says it")]
pub enum Op {
    Call,
    Open,
    Ask,
    Close,
    Cancel,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The process has answered: with the bytes behind the head.
    Done,
    /// The process has refused: the bytes are its reason.
    Refused,
    /// The process has crashed: the bytes are the crash's report.
    Crashed,
    /// The process has ended without an answer: the bytes say how.
    Ended,
    /// The time was over, and the process has been ended.
    TimedOut,
    /// No process could be made, or there is none: the bytes say why.
    NotMade,
}

/// A request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is wanted.
    pub op: Op,
    /// The request's number.
    pub id: u64,
    /// The kept process, of [`Op::Ask`] and [`Op::Close`]: the number of its [`Op::Open`].
    pub process: u64,
    /// Nanoseconds until the process is ended, from when the driver takes the request; [`NEVER`].
    pub time: u64,
    /// Bytes of the image's name.
    pub name: usize,
    /// Bytes of the call.
    pub bytes: usize,
}

/// An answer's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What became of the call.
    pub outcome: Outcome,
    /// The request's number.
    pub id: u64,
    /// Bytes behind the head that are the answer.
    pub bytes: usize,
}

/// These bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

fn word(bytes: &[u8], index: usize) -> Result<u64, Malformed> {
    let at = bytes.get(index * 8..index * 8 + 8);
    let at = at.and_then(|at| at.try_into().ok()).ok_or(Malformed)?;
    Ok(u64::from_le_bytes(at))
}

fn length(bytes: &[u8], index: usize, most: usize) -> Result<usize, Malformed> {
    let length = usize::try_from(word(bytes, index)?).map_err(|_| Malformed)?;
    (length <= most).then_some(length).ok_or(Malformed)
}

fn head(words: [u64; HEAD / 8]) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl Request {
    /// The head's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD] {
        let (name, bytes) = (self.name as u64, self.bytes as u64);
        head([
            self.op as u64,
            self.id,
            self.process,
            self.time,
            name,
            bytes,
            0,
            0,
        ])
    }

    /// Reads the head at the beginning of `bytes`.
    ///
    /// # Errors
    /// If they are no request.
    pub fn decode(bytes: &[u8]) -> Result<Request, Malformed> {
        let op = match word(bytes, 0)? {
            0 => Op::Call,
            1 => Op::Open,
            2 => Op::Ask,
            3 => Op::Close,
            4 => Op::Cancel,
            _ => return Err(Malformed),
        };
        Ok(Request {
            op,
            id: word(bytes, 1)?,
            process: word(bytes, 2)?,
            time: word(bytes, 3)?,
            name: length(bytes, 4, NAME)?,
            bytes: length(bytes, 5, MOST)?,
        })
    }
}

impl Answer {
    /// The head's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD] {
        let bytes = self.bytes as u64;
        head([self.outcome as u64, self.id, bytes, 0, 0, 0, 0, 0])
    }

    /// Reads the head at the beginning of `bytes`.
    ///
    /// # Errors
    /// If they are no answer.
    pub fn decode(bytes: &[u8]) -> Result<Answer, Malformed> {
        let outcome = match word(bytes, 0)? {
            0 => Outcome::Done,
            1 => Outcome::Refused,
            2 => Outcome::Crashed,
            3 => Outcome::Ended,
            4 => Outcome::TimedOut,
            5 => Outcome::NotMade,
            _ => return Err(Malformed),
        };
        Ok(Answer {
            outcome,
            id: word(bytes, 1)?,
            bytes: length(bytes, 2, ANSWER)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        for op in [Op::Call, Op::Open, Op::Ask, Op::Close, Op::Cancel] {
            let request = Request {
                op,
                id: 7,
                process: 9,
                time: NEVER,
                name: NAME,
                bytes: MOST,
            };
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        use Outcome::{Crashed, Done, Ended, NotMade, Refused, TimedOut};
        for outcome in [Done, Refused, Crashed, Ended, TimedOut, NotMade] {
            let answer = Answer {
                outcome,
                id: u64::MAX,
                bytes: ANSWER,
            };
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(Request::decode(&[0; HEAD - 17]), Err(Malformed));
        assert_eq!(Request::decode(&[0xff; HEAD]), Err(Malformed));
        assert_eq!(Answer::decode(&[]), Err(Malformed));
        let long = Answer {
            outcome: Outcome::Done,
            id: 1,
            bytes: ANSWER + 1,
        };
        assert_eq!(Answer::decode(&long.encode()), Err(Malformed));
    }
}
