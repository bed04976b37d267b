//! Why a call of the kernel did not do what it was asked.

use crate::contracts::{FileFault, Refusal, TcpFault};
use core::fmt;
use sing_abi::status;

/// A reason; programs match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The other side has closed the channel, and no message is left to receive.
    Closed,
    /// The time-out passed first.
    Timeout,
    /// Memory, handles or another budget is spent.
    NoResources,
    /// No such name, image or object.
    NotFound,
    /// The buffer is too small.
    TooSmall,
    /// The object is not in a state that allows the call.
    BadState,
    /// An argument is out of its range.
    BadArgument,
    /// Nothing there now.
    WouldBlock,
    /// The SIP has no privilege for this.
    NotPermitted,
    /// As many processes are above this one as may be: it can make none.
    TooDeep,
    /// Another process holds the thing, which has one holder at a time.
    Held,
    /// A file system does not do it, for this reason. What other services say too has its own
    /// error:
    /// [`Error::NotFound`], [`Error::NoResources`].
    File(FileFault),
    /// There is no connection, or it has ended before its time, for this reason.
    Network(TcpFault),
    /// Refused by a name server, for a reason that no call of the kernel has.
    Refused(Refusal),
    /// The service's contract has this name, and another text than the one with which this program
    /// was built. Build both from the same text; `sing diff` says how the texts differ.
    OtherVersion(&'static str),
    /// A status that this version of the SDK does not know.
    Unknown(i32),
}

impl Error {
    /// The error that a negative status means.
    #[must_use]
    pub fn from_status(code: i32) -> Error {
        match code {
            status::CLOSED => Error::Closed,
            status::TIMEOUT => Error::Timeout,
            status::NO_RESOURCES => Error::NoResources,
            status::NOT_FOUND => Error::NotFound,
            status::TOO_SMALL => Error::TooSmall,
            status::BAD_STATE => Error::BadState,
            status::BAD_ARGUMENT => Error::BadArgument,
            status::WOULD_BLOCK => Error::WouldBlock,
            status::NOT_PERMITTED => Error::NotPermitted,
            status::TOO_DEEP => Error::TooDeep,
            status::HELD => Error::Held,
            other => Error::Unknown(other),
        }
    }

    /// The status that means this error, or comes nearest to it.
    #[must_use]
    pub fn status(self) -> i32 {
        match self {
            Error::Closed => status::CLOSED,
            Error::Timeout => status::TIMEOUT,
            Error::NoResources => status::NO_RESOURCES,
            Error::NotFound => status::NOT_FOUND,
            Error::TooSmall => status::TOO_SMALL,
            Error::BadState => status::BAD_STATE,
            Error::BadArgument => status::BAD_ARGUMENT,
            Error::WouldBlock => status::WOULD_BLOCK,
            Error::NotPermitted => status::NOT_PERMITTED,
            Error::TooDeep => status::TOO_DEEP,
            Error::Held => status::HELD,
            Error::File(_) | Error::Network(_) => status::BAD_STATE,
            Error::Refused(Refusal::TooLong | Refusal::BadPath) => status::BAD_ARGUMENT,
            Error::Refused(_) | Error::OtherVersion(_) => status::NOT_FOUND,
            Error::Unknown(code) => code,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(reason) => f.write_str(describe(*reason)),
            Error::OtherVersion(contract) => write!(f, "speaks another version of {contract}"),
            Error::Unknown(code) => write!(f, "unknown status {code}"),
            Error::File(fault) => fault.fmt(f),
            Error::Network(fault) => fault.fmt(f),
            known => f.write_str(status::describe(known.status())),
        }
    }
}

impl core::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(reason: Refusal) -> Error {
        match reason {
            Refusal::NotFound => Error::NotFound,
            Refusal::NoResources => Error::NoResources,
            Refusal::Held => Error::Held,
            other => Error::Refused(other),
        }
    }
}

/// A name server's reason in words.
fn describe(reason: Refusal) -> &'static str {
    match reason {
        Refusal::NotFound => status::describe(status::NOT_FOUND),
        Refusal::NoResources => status::describe(status::NO_RESOURCES),
        Refusal::Held => status::describe(status::HELD),
        Refusal::NotADirectory => "not a directory",
        Refusal::OtherContract => "a service of another contract",
        Refusal::TooLong => "longer than a path or pattern may be",
        Refusal::Loop => "leads through too many links",
        Refusal::BadPath => "not a path; one begins with / and has no part . or ..",
        Refusal::Again => "the name server has just been started again",
        Refusal::Silent => "the server of that part of the name space does not answer",
        Refusal::IsLink => "leads through a link of another name server",
    }
}

/// The value of a status that is zero or more, else its error.
pub(crate) fn check(code: i32) -> Result<u32, Error> {
    u32::try_from(code).map_err(|_| Error::from_status(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_round_trips() {
        for code in -12..0 {
            assert_eq!(Error::from_status(code).status(), code);
        }
        assert_eq!(check(7), Ok(7));
        assert_eq!(check(status::CLOSED), Err(Error::Closed));
    }
}
