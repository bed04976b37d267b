//! What can go wrong with a system and with a call: each error names the program, the reason and,
//! where there is one, the way out.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no system, or no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no system image.
    Image(String),
    /// There is no machine: one in this process runs already, or Linux refuses something.
    Machine(sing_hosted::Error),
    /// The system has ended with this status: what its log says last.
    Ended(i32, String),
    /// A call of no bytes. Blocks have one at least, and so have answers.
    Empty,
    /// A name or a call that has more bytes than there may be.
    TooLong {
        /// What is too long.
        what: String,
        /// How many bytes it has.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// A directory of the host cannot be given to a process. None was made.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// An argument or a variable of the environment cannot be given to a process. None was made.
    Words {
        /// The program.
        program: String,
        /// Why not.
        reason: String,
    },
    /// No process was asked: none could be made of the program, the kept one has ended, the call
    /// has no room in its memory, or as many calls as there may be are under way.
    NotMade(String),
    /// The program has answered that it cannot, for this reason.
    Refused {
        /// The program.
        program: String,
        /// Its reason.
        reason: String,
    },
    /// The program has crashed.
    Crashed {
        /// The program.
        program: String,
        /// The first line of the crash report.
        report: String,
    },
    /// The program has ended without an answer.
    Gone {
        /// The program.
        program: String,
        /// How.
        how: String,
    },
    /// The program has ended without an answer after it was refused memory: it needs more than it
    /// may have.
    OutOfMemory {
        /// The program.
        program: String,
        /// How it has ended.
        report: String,
    },
    /// A message breaks the contract, for this reason. What the host would have sent was not sent;
    /// the process has been ended.
    Broken {
        /// The program.
        program: String,
        /// Whose message, and what is wrong with it.
        reason: String,
    },
    /// The call has used up its time of the processor, and its process has been ended.
    OutOfTime {
        /// The program.
        program: String,
        /// The time that it had.
        time: Duration,
    },
    /// The call's deadline has passed, and its process has been ended.
    TimedOut {
        /// The program.
        program: String,
        /// The time that it had.
        time: Duration,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(reason) => write!(f, "no system image: {reason}; `sing image` builds one"),
            Self::Machine(error) => error.fmt(f),
            Self::Ended(status, last) => {
                write!(f, "the system has ended with status {status}: {last}")
            }
            Self::Empty => f.write_str("a call of no bytes; a call has one at least"),
            Self::TooLong { what, bytes, most } => {
                write!(f, "{what} has {bytes} bytes; {most} are the most")
            }
            Self::Directory { path, reason } => {
                write!(f, "the directory {}: {reason}", path.display())
            }
            Self::Words { program, reason } => write!(f, "{program}: {reason}"),
            Self::NotMade(reason) => f.write_str(reason),
            Self::Refused { program, reason } => write!(f, "{program} refuses: {reason}"),
            Self::Crashed { program, report } => write!(f, "{program} has crashed: {report}"),
            Self::Gone { program, how } => write!(f, "{program} has not answered: {how}"),
            Self::OutOfMemory { program, report } => write!(
                f,
                "{program} has ended for lack of memory, of which it may have no more: {report}"
            ),
            Self::Broken { program, reason } => {
                write!(f, "the contract with {program} is broken: {reason}")
            }
            Self::OutOfTime { program, time } => write!(
                f,
                "{program} has used the processor for {time:?}, and was ended"
            ),
            Self::TimedOut { program, time } => write!(
                f,
                "{program} has not answered within {time:?}, and was ended"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Machine(error) => Some(error),
            _ => None,
        }
    }
}
