//! Why a command could not do something.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;
use sing_sdk::Error;
use sing_sdk::contracts::FileFault;

/// The reason for a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A service says so.
    Error(Error),
    /// The command itself.
    Text(Cow<'static, str>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Error(error) => error.fmt(f),
            Reason::Text(text) => f.write_str(text),
        }
    }
}

/// A path, and the reason why a command could not do something there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The path.
    pub path: String,
    /// The reason.
    pub reason: Reason,
}

impl Failure {
    /// A service's error about a path.
    pub fn of(path: impl Into<String>) -> impl FnOnce(Error) -> Failure {
        let path = path.into();
        |error| Failure {
            path,
            reason: Reason::Error(error),
        }
    }

    /// A reason of the command's own.
    pub fn because(path: impl Into<String>, text: impl Into<Cow<'static, str>>) -> Failure {
        Failure {
            path: path.into(),
            reason: Reason::Text(text.into()),
        }
    }

    /// Whether the service there has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.reason == Reason::Error(Error::Closed)
    }

    /// Whether the path leads to nothing.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.reason == Reason::Error(Error::NotFound)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// Whether an error is this fault of a file system.
#[must_use]
pub fn is(error: Error, fault: FileFault) -> bool {
    error == Error::from(fault)
}
