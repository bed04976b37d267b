//! The operations.

use crate::disk::Disk;
use crate::error::Error;
use crate::types::*;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A mounted file system.
pub struct Store<D: Disk>(PhantomData<D>);

impl<D: Disk> Store<D> {
    /// Makes an empty file system; what was on the disk is lost.
    pub fn format(disk: D, options: &FormatOptions) -> Result<D, Error> {
        let _ = (disk, options);
        todo!()
    }

    /// What there is on a disk, from its first blocks alone. [`Error::NotStore`] if it is none.
    pub fn probe(disk: &mut D) -> Result<Volume, Error> {
        let _ = disk;
        todo!()
    }

    /// Takes the file system of a disk into use.
    pub fn mount(disk: D, options: &MountOptions) -> Result<Self, Error> {
        let _ = (disk, options);
        todo!()
    }

    /// Syncs and gives the disk back. If the sync fails, what was gathered is lost.
    pub fn unmount(self) -> Result<D, (D, Error)> {
        todo!()
    }

    /// The disk, for reading and writing file data. Must not be held across other calls.
    pub fn with_disk<R>(&mut self, work: impl FnOnce(&mut D) -> R) -> R {
        let _ = work;
        todo!()
    }

    /// What there is on the disk.
    pub fn volume(&self) -> &Volume {
        todo!()
    }

    /// Changes the label.
    pub fn set_label(&mut self, label: &str) -> Result<(), Error> {
        let _ = label;
        todo!()
    }

    /// How the space is used.
    pub fn space(&self) -> Space {
        todo!()
    }

    /// How many changes of records wait for a sync. 0: nothing to sync, not even data.
    pub fn changes(&self) -> usize {
        todo!()
    }

    /// Makes all that was done before safe from a power cut: the operations, and the data of
    /// which [`written`](Store::written) was told. If it fails, nothing is lost, and the next
    /// sync tries again.
    pub fn sync(&mut self) -> Result<(), Error> {
        todo!()
    }

    /// Gives back blocks of files that were truncated or removed, a bounded number in a call.
    pub fn tidy(&mut self) -> Result<Progress, Error> {
        todo!()
    }

    /// Tidies and syncs to get space back, a bounded amount of work in a call. Whether trying
    /// again after [`Error::NoSpace`] makes sense.
    pub fn reclaim(&mut self) -> Result<bool, Error> {
        todo!()
    }

    /// Looks through the whole file system for contradictions; names at most `most` of them. To be
    /// called between requests: with requests in flight it is [`Error::Busy`].
    pub fn check(&mut self, most: usize) -> Result<Report, Error> {
        let _ = most;
        todo!()
    }

    // Names.

    /// The node of this name in a directory.
    pub fn lookup(&mut self, directory: NodeId, name: &str) -> Result<Entry, Error> {
        let _ = (directory, name);
        todo!()
    }

    /// What is known of a node.
    pub fn attributes(&mut self, node: NodeId) -> Result<Attributes, Error> {
        let _ = node;
        todo!()
    }

    /// The directory in which a directory lies. The root lies in itself.
    pub fn parent(&mut self, directory: NodeId) -> Result<NodeId, Error> {
        let _ = directory;
        todo!()
    }

    /// Makes an empty file.
    pub fn create(&mut self, directory: NodeId, name: &str, now: u64) -> Result<NodeId, Error> {
        let _ = (directory, name, now);
        todo!()
    }

    /// Makes a directory.
    pub fn make_directory(
        &mut self,
        directory: NodeId,
        name: &str,
        now: u64,
    ) -> Result<NodeId, Error> {
        let _ = (directory, name, now);
        todo!()
    }

    /// Makes a symbolic link; `target` is 1 to [`LONGEST_TARGET`] bytes without NUL.
    pub fn make_link(
        &mut self,
        directory: NodeId,
        name: &str,
        target: &str,
        now: u64,
    ) -> Result<NodeId, Error> {
        let _ = (directory, name, target, now);
        todo!()
    }

    /// The target of a symbolic link.
    pub fn read_link(&mut self, link: NodeId) -> Result<String, Error> {
        let _ = link;
        todo!()
    }

    /// Gives a file or symbolic link a further name.
    pub fn link(
        &mut self,
        node: NodeId,
        directory: NodeId,
        name: &str,
        now: u64,
    ) -> Result<(), Error> {
        let _ = (node, directory, name, now);
        todo!()
    }

    /// Removes a name of a file or symbolic link. Without a name, a node lives until nobody holds
    /// it; its blocks come back by [`tidy`](Store::tidy).
    pub fn unlink(&mut self, directory: NodeId, name: &str, now: u64) -> Result<(), Error> {
        let _ = (directory, name, now);
        todo!()
    }

    /// Removes an empty directory.
    pub fn remove_directory(
        &mut self,
        directory: NodeId,
        name: &str,
        now: u64,
    ) -> Result<(), Error> {
        let _ = (directory, name, now);
        todo!()
    }

    /// Moves a name, as POSIX's rename does: what had the new name is replaced, if it is of the
    /// same kind (and empty, if it is a directory); two names of one node stay as they are.
    pub fn rename(
        &mut self,
        from: (NodeId, &str),
        to: (NodeId, &str),
        now: u64,
    ) -> Result<(), Error> {
        let _ = (from, to, now);
        todo!()
    }

    /// The entries of a directory after `cookie` (0: from the beginning), at most `most` of them.
    /// Fewer than that, if there are no more. An entry that stays is listed once, whatever else is
    /// made or removed meanwhile; one that comes meanwhile is listed later or not at all.
    pub fn list(
        &mut self,
        directory: NodeId,
        cookie: u64,
        most: usize,
    ) -> Result<Vec<Entry>, Error> {
        let _ = (directory, cookie, most);
        todo!()
    }

    /// Sets the times that are given.
    pub fn set_times(
        &mut self,
        node: NodeId,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), Error> {
        let _ = (node, accessed, modified, now);
        todo!()
    }

    /// The node is open: it lives until as many calls of [`release`](Store::release).
    pub fn hold(&mut self, node: NodeId) -> Result<(), Error> {
        let _ = node;
        todo!()
    }

    /// One user of the node less.
    pub fn release(&mut self, node: NodeId) -> Result<(), Error> {
        let _ = node;
        todo!()
    }

    // Data.

    /// Sets the size of a file: what is beyond is lost, what is added reads as zeros. The size
    /// changes at once; blocks come back by [`tidy`](Store::tidy).
    pub fn set_size(&mut self, file: NodeId, size: u64, now: u64) -> Result<Progress, Error> {
        let _ = (file, size, now);
        todo!()
    }

    /// Where `bytes` bytes of a file from `offset` on lie: at most `most` pieces (and at most
    /// [`MOST_PIECES`]), which cover whole blocks. Nothing at or beyond the end of the file.
    pub fn map(
        &mut self,
        file: NodeId,
        offset: u64,
        bytes: u64,
        most: usize,
    ) -> Result<Reading, Error> {
        let _ = (file, offset, bytes, most);
        todo!()
    }

    /// The blocks of a [`map`](Store::map) have been read, or will not be.
    pub fn done(&mut self, reading: Reading) {
        let _ = reading;
        todo!()
    }

    /// Where to write `bytes` bytes of a file from `offset` on, both multiples of [`BLOCK`]: at
    /// most `most` pieces. Blocks that the file has are to be written in place; new ones are found
    /// where it has none. The file does not change before [`written`](Store::written).
    ///
    /// A caller that writes a part of a block only reads the piece first if it is not `fresh`, and
    /// fills the rest with zeros if it is; it lets one request after the other have the block.
    pub fn prepare_write(
        &mut self,
        file: NodeId,
        offset: u64,
        bytes: u64,
        most: usize,
    ) -> Result<Writing, Error> {
        let _ = (file, offset, bytes, most);
        todo!()
    }

    /// The pieces have been handed to the disk, which has answered that they are written: the file
    /// has them now and is at least `end` bytes long; `end` is not beyond [`Writing::end`].
    pub fn written(&mut self, writing: Writing, end: u64, now: u64) -> Result<(), Error> {
        let _ = (writing, end, now);
        todo!()
    }

    /// The pieces have not been written, or perhaps a part of them: new blocks are given back.
    pub fn abandon(&mut self, writing: Writing) {
        let _ = writing;
        todo!()
    }

    /// Reads from `offset` on, by copying; returns how many bytes, fewer than asked for only at
    /// the end of the file.
    pub fn read_at(
        &mut self,
        file: NodeId,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let _ = (file, offset, buffer);
        todo!()
    }

    /// Writes all of `data` from `offset` on, by copying.
    pub fn write_at(
        &mut self,
        file: NodeId,
        offset: u64,
        data: &[u8],
        now: u64,
    ) -> Result<(), Error> {
        let _ = (file, offset, data, now);
        todo!()
    }
}
