//! What descriptors and paths are: attributes, sizes, times.

use crate::Wasi;
use crate::abi::{Layout, filetype, fstflags, rights};
use crate::errno::{Errno, Result};
use crate::host::{Attributes, Directory, File, Host, KEEP, Kind};
use crate::table::Object;

/// Preview 1's number of a kind.
pub(crate) const fn type_of(kind: Kind) -> u8 {
    match kind {
        Kind::File => filetype::REGULAR_FILE,
        Kind::Directory => filetype::DIRECTORY,
        Kind::Link => filetype::SYMBOLIC_LINK,
    }
}

/// What is known of something: the device that it is on, its kind, and of files and directories more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub device: u64,
    pub filetype: u8,
    pub attributes: Option<Attributes>,
}

impl Stat {
    fn of(origin: u32, attributes: Attributes) -> Stat {
        Stat {
            device: device(origin),
            filetype: type_of(attributes.kind),
            attributes: Some(attributes),
        }
    }

    fn layout(&self) -> Layout<64> {
        match &self.attributes {
            Some(attributes) => filestat(self.device, attributes),
            None => Layout::new().with(16, [self.filetype]),
        }
    }
}

fn filestat(device: u64, a: &Attributes) -> Layout<64> {
    Layout::new()
        .with(0, device.to_le_bytes())
        .with(8, a.id.to_le_bytes())
        .with(16, [type_of(a.kind)])
        .with(24, a.links.to_le_bytes())
        .with(32, a.bytes.to_le_bytes())
        .with(40, a.accessed.to_le_bytes())
        .with(48, a.modified.to_le_bytes())
        .with(56, a.changed.to_le_bytes())
}

/// The number by which what is in one preopen is told from what is in another.
fn device(origin: u32) -> u64 {
    u64::from(origin) + 1
}

impl<H: Host> Wasi<H> {
    /// `fd_fdstat_get`.
    ///
    /// # Errors
    /// `Badf`, `Fault`.
    pub fn fd_fdstat_get(&mut self, fd: u32, out: u32) -> Result {
        let d = self.table.get(fd)?;
        let fdstat = Layout::<24>::new()
            .with(0, [d.filetype])
            .with(2, d.flags.to_le_bytes())
            .with(8, d.rights.to_le_bytes())
            .with(16, d.inheriting.to_le_bytes());
        self.store(out, &fdstat.0)
    }

    /// `fd_fdstat_set_rights`: rights are given up, and never got.
    ///
    /// # Errors
    /// `Badf`, `Notcapable`.
    pub fn fd_fdstat_set_rights(&mut self, fd: u32, base: u64, inheriting: u64) -> Result {
        let d = self.table.get(fd)?;
        if base & !d.rights != 0 || inheriting & !d.inheriting != 0 {
            return Err(Errno::Notcapable);
        }
        (d.rights, d.inheriting) = (base, inheriting);
        Ok(())
    }

    /// `fd_filestat_get`.
    ///
    /// # Errors
    /// `Badf`, `Notcapable`, `Fault`, and the file's.
    pub fn fd_filestat_get(&mut self, fd: u32, out: u32) -> Result {
        self.check(out, 64)?;
        let stat = self.stat_of(fd)?;
        self.store(out, &stat.layout().0)
    }

    /// What is known of a descriptor.
    pub(crate) fn stat_of(&mut self, fd: u32) -> Result<Stat> {
        let d = self.table.get(fd)?;
        d.has(rights::FD_FILESTAT_GET)?;
        Ok(match &mut d.object {
            Object::File(open) => Stat::of(open.origin, open.file.attributes()?),
            Object::Directory(open) => Stat::of(open.origin, open.directory.attributes("", true)?),
            _ => Stat {
                device: 0,
                filetype: d.filetype,
                attributes: None,
            },
        })
    }

    /// `path_filestat_get`.
    ///
    /// # Errors
    /// `Badf`, `Notdir`, `Notcapable`, `Fault`, and the file's.
    pub fn path_filestat_get(
        &mut self,
        fd: u32,
        flags: u32,
        path: u32,
        len: u32,
        out: u32,
    ) -> Result {
        self.tell_stat_at(fd, flags, (path, len), out, Stat::layout)
    }

    /// Writes the record of what a path stands for, as a version of WASI has it.
    pub(crate) fn tell_stat_at<const N: usize>(
        &mut self,
        fd: u32,
        flags: u32,
        (path, len): (u32, u32),
        out: u32,
        record: fn(&Stat) -> Layout<N>,
    ) -> Result {
        self.check(out, N as u64)?;
        let stat = self.stat_at(fd, flags, path, len)?;
        self.store(out, &record(&stat).0)
    }

    /// What is known of what a path stands for.
    pub(crate) fn stat_at(&mut self, fd: u32, flags: u32, path: u32, len: u32) -> Result<Stat> {
        let path = self.path(path, len)?;
        let follow = follow(flags)?;
        let open = self.table.directory(fd, rights::PATH_FILESTAT_GET)?;
        let attributes = open.directory.attributes(&path, follow)?;
        Ok(Stat::of(open.origin, attributes))
    }

    /// `fd_filestat_set_size`.
    ///
    /// # Errors
    /// `Badf`, `Inval` for what is no file open for writing, `Notcapable`, and the file's.
    pub fn fd_filestat_set_size(&mut self, fd: u32, bytes: u64) -> Result {
        let writable = self.table.look(fd)?.has(rights::FD_WRITE);
        let (open, _) = self
            .table
            .file(fd, rights::FD_FILESTAT_SET_SIZE, Errno::Inval)?;
        if writable.is_err() || i64::try_from(bytes).is_err() {
            return Err(Errno::Inval);
        }
        open.file.set_size(bytes)
    }

    /// `fd_allocate`: the file is so long at least. Room on the disk is taken when it is written.
    ///
    /// # Errors
    /// `Badf`, `Inval` for no bytes, `Fbig`, `Spipe` for a stream, `Notcapable`, and the file's.
    pub fn fd_allocate(&mut self, fd: u32, offset: u64, len: u64) -> Result {
        let d = self.table.look(fd)?;
        let writable = d.has(rights::FD_WRITE);
        let other = match d.object {
            Object::Source(_) | Object::Sink(_) => Errno::Spipe,
            _ => Errno::Badf,
        };
        let (open, _) = self.table.file(fd, rights::FD_ALLOCATE, other)?;
        if writable.is_err() {
            return Err(Errno::Badf);
        }
        if len == 0 || i64::try_from(offset).is_err() || i64::try_from(len).is_err() {
            return Err(Errno::Inval);
        }
        let end = offset + len;
        if i64::try_from(end).is_err() {
            return Err(Errno::Fbig);
        }
        if open.file.attributes()?.bytes < end {
            open.file.set_size(end)?;
        }
        Ok(())
    }

    /// `fd_advise`: nothing is done with it.
    ///
    /// # Errors
    /// `Badf`, `Inval` for no advice, `Spipe` for a stream, `Notcapable`.
    pub fn fd_advise(&mut self, fd: u32, _offset: u64, _len: u64, advice: u32) -> Result {
        let other = match self.table.look(fd)?.object {
            Object::Source(_) | Object::Sink(_) => Errno::Spipe,
            _ => Errno::Badf,
        };
        self.table.file(fd, rights::FD_ADVISE, other)?;
        if advice > 5 {
            return Err(Errno::Inval);
        }
        Ok(())
    }

    /// `fd_sync`.
    ///
    /// # Errors
    /// `Badf`, `Inval` for a stream, `Notcapable`, and the file's.
    pub fn fd_sync(&mut self, fd: u32) -> Result {
        self.sync(fd, rights::FD_SYNC)
    }

    /// `fd_datasync`: as much.
    ///
    /// # Errors
    /// As [`Wasi::fd_sync`].
    pub fn fd_datasync(&mut self, fd: u32) -> Result {
        self.sync(fd, rights::FD_DATASYNC)
    }

    fn sync(&mut self, fd: u32, right: u64) -> Result {
        let d = self.table.get(fd)?;
        let granted = d.has(right);
        let done = match &mut d.object {
            Object::File(open) => granted.and_then(|()| open.file.sync()),
            Object::Directory(open) => granted.and_then(|()| open.directory.sync()),
            _ => Err(Errno::Inval),
        };
        match done {
            // What is open for reading has nothing of its own to be made safe.
            Err(Errno::Rofs) => Ok(()),
            done => done,
        }
    }

    /// `fd_filestat_set_times`.
    ///
    /// # Errors
    /// `Badf`, `Inval` for flags that contradict each other, `Notcapable`, and the file's.
    pub fn fd_filestat_set_times(
        &mut self,
        fd: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Result {
        let (accessed, modified) = self.times(accessed, modified, flags)?;
        let d = self.table.get(fd)?;
        let granted = d.has(rights::FD_FILESTAT_SET_TIMES);
        match &mut d.object {
            Object::File(open) => granted.and_then(|()| open.file.set_times(accessed, modified)),
            Object::Directory(open) => {
                granted.and_then(|()| open.directory.set_times("", true, accessed, modified))
            }
            _ => Err(Errno::Badf),
        }
    }

    /// `path_filestat_set_times`.
    ///
    /// # Errors
    /// `Badf`, `Notdir`, `Inval`, `Notcapable`, `Fault`, and the file's.
    #[allow(clippy::too_many_arguments)] // Preview 1's.
    pub fn path_filestat_set_times(
        &mut self,
        fd: u32,
        lookup: u32,
        path: u32,
        len: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Result {
        let path = self.path(path, len)?;
        let (accessed, modified) = self.times(accessed, modified, flags)?;
        let follow = follow(lookup)?;
        let open = self.table.directory(fd, rights::PATH_FILESTAT_SET_TIMES)?;
        let directory = &mut open.directory;
        directory.set_times(&path, follow, accessed, modified)
    }

    fn times(&self, accessed: u64, modified: u64, flags: u32) -> Result<(u64, u64)> {
        let flags = u16::try_from(flags).map_err(|_| Errno::Inval)?;
        if flags & !fstflags::ALL != 0 {
            return Err(Errno::Inval);
        }
        let time = |given: u64, set: u16, now: u16| match (flags & set != 0, flags & now != 0) {
            (true, true) => Err(Errno::Inval),
            // The greatest number would leave the time as it is.
            (true, false) => Ok(given.min(KEEP - 1)),
            (false, true) => Ok(self.host.realtime()),
            (false, false) => Ok(KEEP),
        };
        Ok((
            time(accessed, fstflags::ATIM, fstflags::ATIM_NOW)?,
            time(modified, fstflags::MTIM, fstflags::MTIM_NOW)?,
        ))
    }
}

/// Whether a link as the last part is followed.
pub(crate) fn follow(flags: u32) -> Result<bool> {
    match flags {
        0 => Ok(false),
        crate::abi::SYMLINK_FOLLOW => Ok(true),
        _ => Err(Errno::Inval),
    }
}
