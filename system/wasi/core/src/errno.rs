//! Reasons, with preview 1's numbers.

/// Why a call did not do what it was asked, by POSIX's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)] // POSIX's.
pub enum Errno {
    Again = 6,
    Badf = 8,
    Busy = 10,
    Connaborted = 13,
    Exist = 20,
    Fault = 21,
    Fbig = 22,
    Ilseq = 25,
    Inval = 28,
    Io = 29,
    Isdir = 31,
    Loop = 32,
    Mfile = 33,
    Mlink = 34,
    Nametoolong = 37,
    Netdown = 38,
    Nfile = 41,
    Nobufs = 42,
    Noent = 44,
    Nomem = 48,
    Nospc = 51,
    Notconn = 53,
    Notdir = 54,
    Notempty = 55,
    Notsock = 57,
    Notsup = 58,
    Overflow = 61,
    Perm = 63,
    Pipe = 64,
    Rofs = 69,
    Spipe = 70,
    Xdev = 75,
    /// The descriptor has no right to this.
    Notcapable = 76,
}

/// A call's answer.
pub type Result<T = ()> = core::result::Result<T, Errno>;

/// The number that a program gets: 0 for what has been done.
#[must_use]
pub fn number(answer: Result) -> i32 {
    answer.err().map_or(0, |errno| i32::from(errno as u16))
}
