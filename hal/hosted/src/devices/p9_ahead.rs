//! How far the host's page cache is ahead of its disk with what the system has written.
//!
//! A sync waits for all of it, and the driver waits for a sync no longer than for anything else: so
//! that a slow disk is not taken for a host that has gone, no file is ahead by much more than
//! [`MOST`].
//!
//! Invariants:
//! - A file is counted by what it is, not by its fid: closing and opening it changes nothing.
//! - [`FILES`] are counted at most. Only files that are ahead by less than [`LITTLE`] are forgotten;
//!   if there are none, each further one is to be made safe with each write.

use std::collections::HashMap;

/// Bytes of a file beyond which it is made safe before the write is answered.
pub(super) const MOST: u64 = 64 << 20;
/// Bytes that are forgotten if there are too many files.
const LITTLE: u64 = 1 << 20;
/// Files that are counted.
const FILES: usize = 4096;

/// A file of the host: its device and inode.
pub(super) type Which = (u64, u64);

#[derive(Default)]
pub(super) struct Ahead {
    files: HashMap<Which, u64>,
}

impl Ahead {
    /// Counts what was written to a file; whether it is to be made safe now.
    pub(super) fn wrote(&mut self, file: Which, bytes: u64) -> bool {
        if let Some(count) = self.files.get_mut(&file) {
            *count = count.saturating_add(bytes);
            return *count >= MOST;
        }
        if self.files.len() >= FILES {
            self.files.retain(|_, count| *count >= LITTLE);
        }
        if self.files.len() >= FILES {
            return true;
        }
        self.files.insert(file, bytes);
        bytes >= MOST
    }

    /// All that was written to a file is safe.
    pub(super) fn is_safe(&mut self, file: Which) {
        self.files.remove(&file);
    }

    /// Whether a file may be ahead.
    pub(super) fn has(&self, file: Which) -> bool {
        self.files.contains_key(&file)
    }

    /// How far a file is ahead.
    #[cfg(test)]
    pub(super) fn of(&self, file: Which) -> u64 {
        self.files.get(&file).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_not_far_ahead_of_the_disk() {
        let mut ahead = Ahead::default();
        let piece = 1 << 18;
        let rounds = MOST / piece;
        for file in [(1, 1), (1, 2), (2, 1)] {
            for round in 1..rounds {
                assert!(!ahead.wrote(file, piece), "{round}");
            }
        }
        assert!(ahead.wrote((1, 2), piece));
        // Still, as it was not made safe.
        assert!(ahead.wrote((1, 2), 1));
        ahead.is_safe((1, 2));
        assert!(!ahead.wrote((1, 2), piece));
        assert!(ahead.wrote((2, 1), piece));
    }

    #[test]
    fn many_files_do_not_hide_a_large_one() {
        let mut ahead = Ahead::default();
        assert!(!ahead.wrote((0, 0), MOST - 1));
        for file in 1..10 * FILES as u64 {
            assert!(!ahead.wrote((0, file), 1));
            assert!(ahead.files.len() <= FILES);
        }
        assert!(ahead.wrote((0, 0), 1));
        // So many large ones are more than is counted: a further one is not let ahead.
        for file in 1..FILES as u64 {
            ahead.wrote((1, file), LITTLE);
        }
        assert!(ahead.wrote((2, 0), 1));
        ahead.is_safe((1, 1));
        assert!(!ahead.wrote((2, 0), 1));
        assert!(ahead.files.len() <= FILES);
    }
}
