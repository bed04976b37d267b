//! Syncing a file system before the machine ends, for who cannot wait for it without end.

use crate::client::{bind_until, until};
use crate::contracts::DirectoryContract;
use crate::names::Names;
use crate::prelude::*;
use core::time::Duration;

/// Has the file system at a path write all changes to its disk, and waits until it has, or until
/// `end`, a time of [`crate::time::uptime`]. What is at the path must be a directory. It is asked again if a
/// server ends meanwhile.
///
/// # Errors
/// [`Error::NotFound`] if there is nothing; [`Error::Timeout`] at `end`: then it is unknown what is
/// on the disk; [`Error::File`] if the disk failed; [`Error::Closed`] if a server ended at `end`.
pub fn settle(names: &mut Names, path: &str, end: Duration) -> Result<(), Error> {
    until(end, || settle_once(names, path, end))
}

fn settle_once(names: &mut Names, path: &str, end: Duration) -> Result<(), Error> {
    let (directory, exp) = DirectoryContract::new_channel()?;
    bind_until(names, path, exp.into(), end)?;
    let directory = switch_receive! {
        case directory.Success() as ready => ready,
        case directory.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let asked = directory.send_sync();
    switch_receive! {
        case asked.Done() as _ => Ok(()),
        case asked.Failed(fault) as _ => Err(Error::File(fault)),
        case asked.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}
