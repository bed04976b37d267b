//! Exit statuses: one number for how a process or the whole system ended, without collisions.
//!
//! Kernel, shell and machines take their numbers from here, so that a status means the same
//! wherever it shows:
//!
//! | status      | meaning                                                                             |
//! |-------------|-------------------------------------------------------------------------------------|
//! | 0 to 123    | the exit code that the process ended itself with                                    |
//! | 124         | it ended itself with an exit code outside 0 to 123                                  |
//! | 126, 127    | the shell: the program could not be started; there is no such program               |
//! | 128 to 159  | another stopped it, for one of the reasons in [`stop`]; 159 for any other code      |
//! | 160 to 191  | the machine: there was no system to run, or it could not go on ([`machine`])        |
//! | 192 to 254  | it trapped: 192 and the trap's code                                                 |
//!
//! The system's own status is the exit code of its main process as it is: the shell's is the status
//! of its last command.

use crate::trap::Trap;
use core::fmt;

/// The largest exit code that is a status of its own.
pub const LARGEST_CODE: i32 = 123;
/// Status of a process that ended itself with a code that is no status.
pub const OTHER_CODE: i32 = 124;
/// Exit code of a program that was used wrongly: arguments that it does not understand.
pub const USAGE: i32 = 2;
/// Exit code of a program that ends because its output has no reader.
pub const NOBODY_READS: i32 = 123;
/// The shell's status for a program that could not be started.
pub const NOT_STARTED: i32 = 126;
/// The shell's status for a program that is not there.
pub const NO_PROGRAM: i32 = 127;
/// Base of the statuses of trapped processes: the trap's code is added to it.
pub const TRAPS: i32 = 192;

/// Why one process stops another: codes for `process_stop` and `sys_stop`, which are statuses too.
pub mod stop {
    /// The process's parent, or a further ancestor, has ended.
    pub const PARENT_ENDED: i32 = 129;
    /// Ctrl-C.
    pub const INTERRUPTED: i32 = 130;
    /// `kill`.
    pub const KILLED: i32 = 137;
    /// Any other code of a stop.
    pub const OTHER: i32 = 159;
}

/// Statuses of the machine: no process ended with them.
pub mod machine {
    /// A fault or panic in the kernel itself.
    pub const BROKEN: i32 = 160;
    /// The system image cannot be read, or there is none.
    pub const NO_IMAGE: i32 = 161;
    /// The file is no system image, or its parts are inconsistent.
    pub const BAD_IMAGE: i32 = 162;
    /// The machine lacks, or its host refuses, something that the system needs.
    pub const REFUSED: i32 = 163;
    /// The command line of the machine is wrong.
    pub const USAGE: i32 = 164;
    /// Memory or addresses do not suffice to start the system.
    pub const NO_MEMORY: i32 = 165;
    /// An essential process has ended.
    pub const ESSENTIAL: i32 = 166;
    /// The machine's output has no reader any more.
    pub const NOBODY_READS: i32 = 167;
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The process ended itself with this exit code.
    Exit(i32),
    /// Another process stopped it, with this code.
    Stop(i32),
    /// Its code trapped.
    Trap(Trap),
}

impl End {
    /// Returns the kind of end and its code as numbers (`process_exit_status`).
    #[must_use]
    pub fn to_numbers(self) -> (u32, i32) {
        match self {
            End::Exit(code) => (0, code),
            End::Stop(code) => (1, code),
            End::Trap(trap) => (2, i32::from(trap.code())),
        }
    }

    /// Returns the end that these numbers mean; a trap unknown to this version reads as unreachable
    /// code.
    #[must_use]
    pub fn from_numbers(how: u32, code: i32) -> End {
        match how {
            0 => End::Exit(code),
            1 => End::Stop(code),
            _ => {
                let trap = u8::try_from(code).ok().and_then(Trap::from_code);
                End::Trap(trap.unwrap_or(Trap::Unreachable))
            }
        }
    }

    /// Returns the exit status: see the table above.
    #[must_use]
    pub fn status(self) -> i32 {
        match self {
            End::Exit(code) if (0..=LARGEST_CODE).contains(&code) => code,
            End::Exit(_) => OTHER_CODE,
            End::Stop(code) if (128..stop::OTHER).contains(&code) => code,
            End::Stop(_) => stop::OTHER,
            End::Trap(trap) => TRAPS + i32::from(trap.code()),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            End::Exit(code) => write!(f, "exit {code}"),
            End::Stop(stop::PARENT_ENDED) => f.write_str("stopped with its parent"),
            End::Stop(stop::INTERRUPTED) => f.write_str("stopped by Ctrl-C"),
            End::Stop(stop::KILLED) => f.write_str("killed"),
            End::Stop(code) => write!(f, "stopped ({code})"),
            End::Trap(trap) => write!(f, "trap: {trap}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every end that has a status of its own.
    fn ends() -> impl Iterator<Item = End> {
        let exits = (0..=LARGEST_CODE).map(End::Exit);
        let stops = [stop::PARENT_ENDED, stop::INTERRUPTED, stop::KILLED].map(End::Stop);
        exits.chain(stops).chain(Trap::ALL.map(End::Trap))
    }

    #[test]
    fn no_two_ends_share_a_status() {
        let shell = [NOT_STARTED, NO_PROGRAM, OTHER_CODE, stop::OTHER];
        let all: [i32; 8] = core::array::from_fn(|i| machine::BROKEN + i as i32);
        assert_eq!(*all.last().unwrap(), machine::NOBODY_READS);
        let mut seen = [false; 256];
        for status in ends().map(End::status).chain(shell).chain(all) {
            let seen = &mut seen[usize::try_from(status).unwrap()];
            assert!(!*seen, "{status} twice");
            *seen = true;
        }
    }

    #[test]
    fn codes_that_are_no_status_are_told_apart_from_those_that_are() {
        for code in [-1, 124, 130, 137, 198, 255, 256, 300, i32::MIN, i32::MAX] {
            assert_eq!(End::Exit(code).status(), OTHER_CODE);
        }
        for code in [-1, 0, 7, 127, 159, 198, 300] {
            assert_eq!(End::Stop(code).status(), stop::OTHER);
        }
    }

    #[test]
    fn numbers_round_trip() {
        for end in ends() {
            let (how, code) = end.to_numbers();
            assert_eq!(End::from_numbers(how, code), end);
        }
    }
}
