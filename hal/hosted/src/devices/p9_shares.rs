//! How many descriptors of the process each directory of the host has for its fids.
//!
//! Each fid has one descriptor, so a server without a bound would take those of the others, and of the program that the
//! system is in.
//!
//! Invariant: what all servers of a process may have together is [`MOST_DESCRIPTORS`] where nobody is asked for more, and
//! leaves [`OTHERS`] where Linux is.

use super::descriptors;

/// The most fids of a session, if nothing else is said.
pub(super) const FIDS: usize = 512;
/// Descriptors of all directories: Linux gives a process 1,024 by default, and others want some, too.
pub(super) const MOST_DESCRIPTORS: usize = 640;
/// The most fids of a session of a system that has the process for itself: more than the driver has channels.
const WANTED: usize = 1280;
/// Descriptors that such a process has for others.
const OTHERS: u64 = 384;

/// How many fids each of so many directories may have, of so many descriptors.
pub(super) fn fids(descriptors: u64, directories: usize) -> usize {
    let each = descriptors.saturating_sub(OTHERS) / directories as u64;
    each.min(WANTED as u64) as usize
}

/// How many each of so many directories has where nobody is asked for more.
pub(super) fn share(directories: usize) -> usize {
    FIDS.min(MOST_DESCRIPTORS / directories.max(1))
}

/// How many each of so many directories has of a system that has the process for itself: as far as Linux gives
/// that descriptors for all of them.
pub(super) fn more_fids(directories: usize) -> usize {
    let directories = directories.max(1);
    let have = descriptors::up_to(OTHERS + (WANTED * directories) as u64);
    share(directories).max(fids(have, directories))
}
