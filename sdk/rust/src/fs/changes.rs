//! Whether a file system is still as it was, without a question for each use.

use crate::Error;
use crate::contracts::FileChangesContract;
use FileChangesContract::{Imp, Ready, Ready_Watch, Start, Watched};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

enum State {
    Idle(Imp<Ready>),
    /// The file system has been asked to tell of the next change, and has not said that it will.
    Asked(Imp<Ready_Watch>),
    Watched(Imp<Watched>),
    Gone,
}

/// Moments that this program has had, over all channels.
static MOMENTS: AtomicU64 = AtomicU64::new(0);

/// A state of a file system, below a directory: between two equal ones nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

impl Moment {
    /// One that no other is, for who knows of changes by other ways.
    #[must_use]
    pub fn unique() -> Moment {
        Moment(MOMENTS.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Knows whether anything in a file system has changed. No call of it waits.
///
/// A program that keeps copies asks for the [`Moment`] *before* it looks whether a copy is right, and may use the copy as
/// long as the moment is the same:
///
/// ```
/// use sing_sdk::fs::{Changes, Directory, Moment};
/// use sing_sdk::prelude::*;
///
/// struct Kept {
///     modified: u64,
///     sure: Option<Moment>,
/// }
///
/// /// Whether the file `a` is as it was when it was read.
/// fn is_right(kept: &mut Kept, root: &mut Directory, changes: &mut Changes) -> Result<bool, Error> {
///     let moment = changes.moment();
///     if moment.is_some() && kept.sure == moment {
///         return Ok(true);
///     }
///     // From now on it is told of changes again.
///     changes.watch();
///     let right = root.attributes("a")?.modified == kept.modified;
///     kept.sure = moment.filter(|_| right);
///     Ok(right)
/// }
/// ```
pub struct Changes {
    of: (u64, u64),
    moment: Moment,
    state: State,
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({:?}, {:?})", self.of, self.moment)
    }
}

impl Changes {
    pub(super) fn new(channel: Imp<Start>) -> Result<Changes, Error> {
        let (volume, directory, ready) = channel.recv_success()?.recv_of()?;
        Ok(Changes {
            of: (volume, directory),
            moment: Moment(0),
            state: State::Idle(ready),
        })
    }

    /// The numbers of the file system and of the directory in it: no other file system has them in this
    /// start of the system.
    #[must_use]
    pub fn of(&self) -> (u64, u64) {
        self.of
    }

    /// The moment of which this is sure, if it is of any: what was found out since it was first given is
    /// right until another is.
    pub fn moment(&mut self) -> Option<Moment> {
        if let State::Asked(asked) = &self.state
            && asked.is_ready()
        {
            self.advance();
        }
        match &self.state {
            State::Watched(watched) if !watched.is_ready() => Some(self.moment),
            State::Watched(_) => {
                self.advance();
                None
            }
            _ => None,
        }
    }

    /// Has the file system tell of the next change, if it is not to do so already. There is a moment when
    /// it has answered.
    pub fn watch(&mut self) {
        self.state = match core::mem::replace(&mut self.state, State::Gone) {
            State::Idle(ready) => State::Asked(ready.send_watch()),
            other => other,
        };
    }

    /// Whether the file system has gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.state, State::Gone)
    }

    /// Takes the message that waits.
    fn advance(&mut self) {
        self.state = match core::mem::replace(&mut self.state, State::Gone) {
            State::Asked(asked) => match asked.recv_watching() {
                Ok(watched) => {
                    self.moment = Moment::unique();
                    State::Watched(watched)
                }
                Err(_) => State::Gone,
            },
            State::Watched(watched) => watched.recv_changed().map_or(State::Gone, State::Idle),
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin() -> (Changes, FileChangesContract::Exp<Ready>) {
        let (imp, exp) = FileChangesContract::new_channel().unwrap();
        let exp = exp.send_success().send_of(7, 9);
        (Changes::new(imp).unwrap(), exp)
    }

    #[test]
    fn a_moment_lasts_from_the_answer_to_the_next_change() {
        let (mut changes, files) = begin();
        assert_eq!(changes.of(), (7, 9));
        // Nobody watches yet, and a question alone is no promise.
        assert_eq!(changes.moment(), None);
        changes.watch();
        assert_eq!(changes.moment(), None);
        let files = files.recv_watch().unwrap().send_watching();
        let first = changes.moment();
        assert!(first.is_some() && changes.moment() == first);
        // A second question would be none of the contract.
        changes.watch();
        assert_eq!(changes.moment(), first);
        let files = files.send_changed();
        assert_eq!(changes.moment(), None);
        assert_eq!(changes.moment(), None);
        changes.watch();
        drop(files.recv_watch().unwrap().send_watching());
        // It has answered, and gone.
        assert_eq!(changes.moment(), None);
        assert!(changes.moment().is_none() && changes.is_gone());
    }

    #[test]
    fn no_two_moments_are_the_same() {
        let (mut changes, mut files) = begin();
        let mut seen = alloc::vec::Vec::new();
        for _ in 0..3 {
            changes.watch();
            let watched = files.recv_watch().unwrap().send_watching();
            let moment = changes.moment().unwrap();
            assert!(!seen.contains(&moment));
            seen.push(moment);
            files = watched.send_changed();
            // Told behind the last look: the next moment is another one all the same.
            assert_eq!(changes.moment(), None);
        }
        // Over another channel to the same directory.
        let (mut other, files) = begin();
        other.watch();
        let _files = files.recv_watch().unwrap().send_watching();
        assert!(!seen.contains(&other.moment().unwrap()));
    }

    #[test]
    fn a_server_that_goes_makes_nothing_sure() {
        let (mut changes, files) = begin();
        changes.watch();
        drop(files);
        assert_eq!(changes.moment(), None);
        assert!(changes.is_gone());
        changes.watch();
        assert_eq!(changes.moment(), None);
    }
}
