//! Calls of a host program into the system that it has inside itself: the words that the kernel, the
//! machine and the crate for such programs share.
//!
//! | request | what it brings | answer |
//! |---|---|---|
//! | `Call`: make a process of the image, ask it, end it | the name, the bytes | one, when it is over |
//! | `Open`: make a process of the image and keep it | the name | `Done`, or why not |
//! | `Ask`: ask the kept process that `process` names | the bytes | one, when it is over |
//! | `Close`: end the kept process that `process` names | nothing | none |
//! | `Cancel`: nobody waits for the answer to `id` any more | nothing | none |
//!
//! The host gives each request a number, and uses none twice. The number of an `Open` is the kept
//! process's name from then on.
#![no_std]
#![forbid(unsafe_code)]

/// The contract that a program serves which is called.
pub const CONTRACT: &str = "CallContract";
/// The name of its start-up endpoint.
pub const ENDPOINT: &str = "calls";
/// The most bytes of an image's name.
pub const NAME: usize = 64;
/// The most bytes of a call.
pub const MOST: usize = 64 << 10;
/// The most bytes of an answer. They are copied in one go, which holds the system meanwhile.
pub const ANSWER: usize = (1 << 20) - 64;
/// The most calls that may be under way at a time, and the most processes that are kept: what is
/// beyond that is answered with [`Outcome::NotMade`].
pub const OPEN: usize = 256;

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

/// What a call may use, at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory of its process, within what the image's manifest grants. Of `Ask`: as it was
    /// at the process's making.
    pub memory: u64,
    /// Nanoseconds of the processor for the call.
    pub time: u64,
    /// Nanoseconds until it is to be over, from when the system takes it.
    pub deadline: u64,
}

impl Limits {
    /// None but those of the manifest.
    pub const NONE: Limits = Limits {
        memory: u64::MAX,
        time: u64::MAX,
        deadline: u64::MAX,
    };
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// What is wanted.
    pub op: Op,
    /// The request's number.
    pub id: u64,
    /// The kept process, of [`Op::Ask`] and [`Op::Close`]: the number of its [`Op::Open`].
    pub process: u64,
    /// What it may use.
    pub limits: Limits,
    /// The name of an image.
    pub name: &'r str,
    /// The bytes of a call: one at least, and [`MOST`] at the most.
    pub bytes: &'r [u8],
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The process has answered.
    Done,
    /// The process has refused, for this reason.
    Refused,
    /// The process has crashed: the crash's report.
    Crashed,
    /// The process has ended without an answer: how.
    Ended,
    /// The deadline has passed, and the process has been ended.
    TimedOut,
    /// Its time of the processor is used up, and the process has been ended.
    OutOfTime,
    /// The process has ended without an answer after it was refused memory: how.
    OutOfMemory,
    /// No process was asked, for this reason. A kept one that is there stays.
    NotMade,
}
