//! Calls of a host program into the system that it has inside itself: the words that the kernel, the
//! machine and the crate for such programs share.
//!
//! | request | what it brings | answer |
//! |---|---|---|
//! | `Call`: make a process of the image, ask it, end it | the name, the bytes | one, when it is over |
//! | `Open`: make a process of the image and keep it | the name | `Done`, or why not |
//! | `Serve`: make a process that serves a directory, and keep it | the name | `Done`, or why not |
//! | `Ask`: ask the kept process that `process` names | the bytes | one, when it is over |
//! | `Talk`: make a process of the image, keep it, and hold an endpoint to it | the name, the endpoint | `Done`, or why not |
//! | `Send`: send a message at that endpoint of `process` | the message | `Done`, or why not |
//! | `Receive`: the next message there | nothing | the message, when it has come |
//! | `Exchange`: a `Send` and the `Receive` after it | the message | the message that comes |
//! | `Free`: the block that `process` names, of a message that was received, is not read any more | nothing | none |
//! | `Close`: end the kept process that `process` names | nothing | none |
//! | `Cancel`: nobody waits for the answer to `id` any more | nothing | none |
//!
//! The host gives each request a number, and uses none twice. The number of an `Open` or `Talk` is the kept
//! process's name from then on, and that of a `Serve` the directory's: the process of one later `Call`,
//! `Open` or `Talk` is given the directory.
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
/// The most words of a message.
pub const MESSAGE: usize = 12;
/// The most bytes of the blocks of messages that the host has received and not given back, with what the
/// kernel keeps for each.
pub const HELD: u64 = 64 << 20;
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
    Talk,
    Send,
    Receive,
    Exchange,
    Free,
    Ask,
    Close,
    Cancel,
}

/// The endpoint of a process that the host holds the other end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint<'r> {
    /// The name of the process's start-up endpoint.
    pub name: &'r str,
    /// The name of its contract.
    pub contract: &'r str,
    /// That contract's identity, as `sing_image` has it.
    pub identity: &'r [u8; 32],
    /// The state in which both ends are when the process starts.
    pub state: &'r str,
    /// Whether the process has the exporting end, and the host the importing one.
    pub exports: bool,
}

/// A message that the host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'r> {
    /// Its index in the contract.
    pub index: u32,
    /// Its words: numbers as they are; for a block its length in bytes, 0 for none. The bytes of all blocks
    /// are those of the request, in the same order.
    pub words: &'r [u64],
}

/// A word of a message that the host receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A number.
    Number(u64),
    /// No block, where one may be.
    Nothing,
    /// A block. Its bytes are not changed, and stay where they are, until the host frees it or the system is taken
    /// down.
    Block {
        /// Its name, for [`Op::Free`].
        number: u32,
        /// Where it lies.
        address: u64,
        /// Its bytes.
        len: u32,
    },
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
    /// The kept process, of [`Op::Ask`], [`Op::Close`] and all that is done at an endpoint: the number of its
    /// [`Op::Open`], [`Op::Serve`] or [`Op::Talk`]. Of [`Op::Free`] the block.
    pub process: u64,
    /// What it may use.
    pub limits: Limits,
    /// The name of an image.
    pub name: &'r str,
    /// Of [`Op::Talk`]: the endpoint.
    pub endpoint: Option<Endpoint<'r>>,
    /// Of [`Op::Send`] and [`Op::Exchange`]: the message.
    pub message: Option<Message<'r>>,
    /// The directories that the process of [`Op::Call`], [`Op::Open`] and [`Op::Talk`] is given, in their order:
    /// the numbers of their [`Op::Serve`]; [`DIRECTORIES`] at the most.
    pub directories: &'r [u64],
    /// The arguments of that process behind its name: each a little-endian `u32` length and bytes; [`WORDS`] in
    /// [`WORD_BYTES`] at the most.
    pub arguments: &'r [u8],
    /// The bytes of a call, [`MOST`] at the most, or of the blocks of a message, [`ANSWER`] together at the most: one
    /// at least in each.
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
    /// The message was not sent, as it breaks the contract, for this reason. The process stays.
    Broken,
}
