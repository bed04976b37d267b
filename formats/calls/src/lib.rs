//! Calls of a host program into the system that it has inside itself: the words that the kernel, the
//! machine and the crate for such programs share.
//!
//! | request | what it brings | answer |
//! |---|---|---|
//! | `Call`: make a process of the image, ask it, end it | the name, the bytes | one, when it is over |
//! | `Open`: make a process of the image and keep it | the name | `Done`, or why not |
//! | `Serve`: make a process that serves a directory, and keep it | the name | `Done`, or why not |
//! | `Ask`: ask the kept process that `process` names | the bytes | one, when it is over |
//! | `Close`: end the kept process that `process` names | nothing | none |
//! | `Cancel`: nobody waits for the answer to `id` any more | nothing | none |
//!
//! The host gives each request a number, and uses none twice. The number of an `Open` is the kept
//! process's name from then on, and that of a `Serve` the directory's: the process of one later `Call` or
//! `Open` is given the directory.
#![no_std]
#![forbid(unsafe_code)]

/// The contract that a program serves which is called.
pub const CONTRACT: &str = "CallContract";
/// The name of its start-up endpoint.
pub const ENDPOINT: &str = "calls";
/// The contract of directories.
pub const DIRECTORY: &str = "DirectoryContract";
/// The name of the start-up endpoint at which a process serves a directory.
pub const SERVED: &str = "directory";
/// The state of a channel of a directory, or of random bytes, at both ends when a process starts with it: it need
/// not be opened.
pub const READY: &str = "Ready";
/// The contract of sources of random bytes.
pub const ENTROPY: &str = "EntropyContract";
/// The name of the start-up endpoint of a process that asks the host for random bytes, in the state [`READY`].
pub const RANDOM: &str = "random";
/// The image of the processes that serve directories of the host.
pub const SERVER: &str = "host-directory";
/// The first call of such a process: whether its directory may be changed.
pub const CHANGES: &[u8] = b"w";
/// The same of one that is only read.
pub const READS: &[u8] = b"r";
/// The most bytes of an image's name.
pub const NAME: usize = 64;
/// The most bytes of a call.
pub const MOST: usize = 64 << 10;
/// The most bytes of an answer. They are copied in one go, which holds the system meanwhile.
pub const ANSWER: usize = (1 << 20) - 64;
/// The most calls that may be under way at a time, and the most processes that are kept: what is
/// beyond that is answered with [`Outcome::NotMade`].
pub const OPEN: usize = 256;
/// The most words of a process behind its name.
pub const WORDS: usize = 1024;
/// The most bytes of them, with the length of each.
pub const WORD_BYTES: usize = 64 << 10;
/// The most directories that a process is given.
pub const DIRECTORIES: usize = 8;
/// The most processes that serve directories at a time. They are none of [`OPEN`].
pub const SERVING: usize = 64;

/// What the host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above says it")]
pub enum Op {
    Call,
    Open,
    Serve,
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
    /// The kept process, of [`Op::Ask`] and [`Op::Close`]: the number of its [`Op::Open`] or
    /// [`Op::Serve`].
    pub process: u64,
    /// What it may use.
    pub limits: Limits,
    /// The name of an image.
    pub name: &'r str,
    /// The directories that the process of [`Op::Call`] and [`Op::Open`] is given, in their order:
    /// the numbers of their [`Op::Serve`]; [`DIRECTORIES`] at the most.
    pub directories: &'r [u64],
    /// The arguments of that process behind its name: each a little-endian `u32` length and bytes; [`WORDS`] in
    /// [`WORD_BYTES`] at the most.
    pub arguments: &'r [u8],
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
