//! Syncing a file system before the machine ends, for who cannot wait for it without end.

use crate::client::{bind_until, until};
use crate::contracts::DirectoryContract;
use crate::names::Names;
use crate::prelude::*;
use core::time::Duration;

/// Has the file system at a path write all changes to its disk, and waits until it has, or until
/// `end`, a time of [`crate::time::uptime`]. What is at the path must be a directory. It is looked for again if a
/// server ends before it is asked; one that ends afterwards may have lost what was not on the disk.
///
/// # Errors
/// [`Error::NotFound`] if there is nothing; [`Error::Timeout`] at `end`: then it is unknown what is
/// on the disk; [`Error::File`] if the disk failed; [`Error::Closed`] if a server ended.
pub fn settle(names: &mut Names, path: &str, end: Duration) -> Result<(), Error> {
    let directory = until(end, || {
        let (directory, exp) = DirectoryContract::new_channel()?;
        bind_until(names, path, exp.into(), end)?;
        switch_receive! {
            case directory.Success() as ready => Ok(ready),
            case directory.ChannelClosed() => Err(Error::Closed),
            deadline end => Err(Error::Timeout),
        }
    })?;
    let asked = directory.send_sync();
    switch_receive! {
        case asked.Done() as _ => Ok(()),
        case asked.Failed(fault) as _ => Err(Error::File(fault)),
        case asked.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}
