//! The host's files, as the 9P server reaches them.
//!
//! Invariants, whatever a driver asks and whatever else happens to the files meanwhile:
//! - Nothing is reached but what lies below the directory that was given. A file is found from its
//!   directory's descriptor by one name, which is no `..` and has no `/`, by `openat2` with
//!   `RESOLVE_BENEATH`, `RESOLVE_NO_MAGICLINKS` and `RESOLVE_NO_SYMLINKS`. A path as a whole is
//!   never given to Linux, so that there is no moment between a check and a use.
//! - A symbolic link is a text: it can be read, and is never followed.
//! - Only files and directories are opened, so that no device, pipe or socket of the host is. What
//!   a descriptor stands for is looked at before it is opened through `/proc/self/fd`, which opens
//!   that very file.
//! - A directory that is for reading only is not changed.

use super::p9_ahead::Which;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags, Timespec, Timestamps,
    fdatasync, fstat, fstatfs, fsync, ftruncate, linkat, makedev, mkdirat, openat, openat2,
    readlinkat, renameat, statx, symlinkat, unlinkat, utimensat,
};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use sing_p9::{Attributes, Change, Qid};
use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How names are resolved: beneath their directory, and through no link.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_SYMLINKS);
/// A descriptor that stands for a file without opening it.
const STAND_FOR: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PERMISSIONS: u32 = 0o777;
/// File systems (by the numbers of `statfs`) of a disk of this machine's, or of its memory, where no
/// other machine or program is asked for what Linux knows of an open file: ext4 with its ancestors,
/// XFS, Btrfs, F2FS, tmpfs.
const LOCAL: [i64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// How long the host may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// As long as it does.
    Any,
    /// No longer than for what it has in memory: otherwise the error is [`Errno::AGAIN`].
    None,
}

/// A directory of the host that is served.
pub(super) struct Root {
    directory: OwnedFd,
    /// `/proc/self/fd`: how a file that a descriptor stands for is opened.
    descriptors: OwnedFd,
    device: u64,
    read_only: bool,
    /// Whether its file system is [`LOCAL`], and Linux (from version 5.12 on) finds names in its
    /// cache alone.
    is_quick: bool,
}

/// What a name stands for.
pub(super) struct Entity {
    pub(super) fd: OwnedFd,
    pub(super) qid: Qid,
    /// Whether what Linux knows of it is had without waiting.
    pub(super) is_quick: bool,
}

/// A file or directory, open.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) is_directory: bool,
    pub(super) writes: bool,
}

impl Root {
    /// Opens the directory; links on the way to it are followed.
    pub(super) fn open(path: &Path, read_only: bool) -> Result<Root, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(rustix::fs::CWD, path, flags, Mode::empty())?;
        let descriptors = openat(rustix::fs::CWD, "/proc/self/fd", flags, Mode::empty())?;
        let device = fstat(&directory)?.st_dev;
        let is_local = fstatfs(&directory).is_ok_and(|about| LOCAL.contains(&about.f_type));
        let cached = RESOLVE.union(ResolveFlags::CACHED);
        let found = openat2(&directory, ".", STAND_FOR, Mode::empty(), cached);
        let root = Root {
            directory,
            descriptors,
            device,
            read_only,
            is_quick: is_local && matches!(found, Ok(_) | Err(Errno::AGAIN)),
        };
        // Whether this Linux has `openat2`, and lets this process read the directory.
        root.reopen_directory(root.directory.as_fd())?;
        Ok(root)
    }

    /// Whether anything in it is had without waiting.
    #[cfg(test)]
    pub(super) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Refuses changes of a directory that is for reading only.
    pub(super) fn may_change(&self) -> Result<(), Errno> {
        if self.read_only {
            Err(Errno::ROFS)
        } else {
            Ok(())
        }
    }

    /// A descriptor of the directory itself.
    pub(super) fn attach(&self, patience: Patience) -> Result<Entity, Errno> {
        if patience == Patience::None && !self.is_quick {
            return Err(Errno::AGAIN);
        }
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.directory, 0)?;
        self.entity(fd)
    }

    /// What has this name in the directory.
    pub(super) fn find(
        &self,
        at: BorrowedFd,
        name: &[u8],
        patience: Patience,
    ) -> Result<Entity, Errno> {
        let name = checked(name)?;
        if patience == Patience::Any {
            return self.entity(openat2(at, name, STAND_FOR, Mode::empty(), RESOLVE)?);
        }
        // Not into what is mounted there: Linux would ask another file system whether its root is still
        // that one.
        let cached = ResolveFlags::CACHED.union(ResolveFlags::NO_XDEV);
        let resolve = RESOLVE.union(cached);
        let fd = openat2(at, name, STAND_FOR, Mode::empty(), resolve)?;
        // A part of a file system can be a device of its own, too.
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let about = statx(&fd, "", flags, StatxFlags::TYPE | StatxFlags::INO)?;
        if makedev(about.stx_dev_major, about.stx_dev_minor) != self.device {
            return Err(Errno::AGAIN);
        }
        let qid = Qid {
            kind: kind(FileType::from_raw_mode(about.stx_mode.into())),
            version: 0,
            path: self.path(self.device, about.stx_ino),
        };
        let is_quick = self.is_quick;
        Ok(Entity { fd, qid, is_quick })
    }

    fn entity(&self, fd: OwnedFd) -> Result<Entity, Errno> {
        let about = fstat(&fd)?;
        let (qid, is_quick) = (self.qid(&about), self.is_quick);
        let is_quick = is_quick && about.st_dev == self.device;
        Ok(Entity { fd, qid, is_quick })
    }

    /// What the descriptor stands for, opened without waiting: a file, as a directory may be read from
    /// the disk when it is opened.
    pub(super) fn reopen_at_once(&self, fd: BorrowedFd, writes: bool) -> Result<Opened, Errno> {
        if FileType::from_raw_mode(fstat(fd)?.st_mode) != FileType::RegularFile {
            return Err(Errno::AGAIN);
        }
        // Without this mode it would wait for who has a lease of the file. Files of these file systems
        // are read and written with it as without.
        let file = self.reopen_file(fd, writes, OFlags::NONBLOCK)?;
        Ok(Opened {
            file: file.into(),
            is_directory: false,
            writes,
        })
    }

    /// What the descriptor stands for, opened.
    pub(super) fn reopen(&self, fd: BorrowedFd, writes: bool) -> Result<Opened, Errno> {
        let kind = FileType::from_raw_mode(fstat(fd)?.st_mode);
        let file = match kind {
            FileType::Directory if writes => return Err(Errno::ISDIR),
            FileType::Directory => self.reopen_directory(fd)?,
            FileType::RegularFile => self.reopen_file(fd, writes, OFlags::empty())?,
            FileType::Symlink => return Err(Errno::LOOP),
            // A pipe of the host would wait for its other end, a device do who knows what.
            _ => return Err(Errno::OPNOTSUPP),
        };
        Ok(Opened {
            file: file.into(),
            is_directory: kind == FileType::Directory,
            writes,
        })
    }

    fn reopen_directory(&self, fd: BorrowedFd) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(fd, ".", flags, Mode::empty(), RESOLVE)
    }

    /// The caller has seen that it is a file.
    fn reopen_file(&self, fd: BorrowedFd, writes: bool, mode: OFlags) -> Result<OwnedFd, Errno> {
        let access = if writes {
            self.may_change()?;
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        let flags = access | mode | OFlags::CLOEXEC | OFlags::NOCTTY;
        openat(&self.descriptors, number(fd), flags, Mode::empty())
    }

    /// Makes a file in the directory, which must not have one of this name.
    pub(super) fn create(
        &self,
        at: BorrowedFd,
        name: &[u8],
        mode: u32,
    ) -> Result<(File, Qid), Errno> {
        self.may_change()?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & PERMISSIONS);
        let fd = openat2(at, checked(name)?, flags, mode, RESOLVE)?;
        let qid = self.qid(&fstat(&fd)?);
        Ok((fd.into(), qid))
    }

    pub(super) fn make_directory(
        &self,
        at: BorrowedFd,
        name: &[u8],
        mode: u32,
    ) -> Result<Qid, Errno> {
        self.may_change()?;
        let name = checked(name)?;
        mkdirat(at, name, Mode::from_raw_mode(mode & PERMISSIONS))?;
        self.find(at, name, Patience::Any).map(|found| found.qid)
    }

    pub(super) fn make_link(
        &self,
        at: BorrowedFd,
        name: &[u8],
        target: &[u8],
    ) -> Result<Qid, Errno> {
        self.may_change()?;
        let name = checked(name)?;
        symlinkat(target, at, name)?;
        self.find(at, name, Patience::Any).map(|found| found.qid)
    }

    /// Gives what the descriptor stands for a further name.
    pub(super) fn link(&self, fd: BorrowedFd, at: BorrowedFd, name: &[u8]) -> Result<(), Errno> {
        self.may_change()?;
        if FileType::from_raw_mode(fstat(fd)?.st_mode) == FileType::Directory {
            return Err(Errno::PERM);
        }
        // The link that is followed is that of /proc, to this very file, and no further one.
        let follow = AtFlags::SYMLINK_FOLLOW;
        linkat(&self.descriptors, number(fd), at, checked(name)?, follow)
    }

    pub(super) fn rename(
        &self,
        from: BorrowedFd,
        name: &[u8],
        to: BorrowedFd,
        new: &[u8],
    ) -> Result<(), Errno> {
        self.may_change()?;
        renameat(from, checked(name)?, to, checked(new)?)
    }

    pub(super) fn unlink(&self, at: BorrowedFd, name: &[u8], directory: bool) -> Result<(), Errno> {
        self.may_change()?;
        let flags = if directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        unlinkat(at, checked(name)?, flags)
    }

    /// Changes the size or the times.
    pub(super) fn change(
        &self,
        fd: BorrowedFd,
        open: Option<&Opened>,
        change: &Change,
    ) -> Result<(), Errno> {
        self.may_change()?;
        if change.others != 0 {
            return Err(Errno::OPNOTSUPP);
        }
        if let Some(size) = change.size {
            if i64::try_from(size).is_err() {
                return Err(Errno::FBIG);
            }
            match open {
                Some(open) if open.writes => ftruncate(&open.file, size)?,
                _ => ftruncate(self.reopen(fd, true)?.file, size)?,
            }
        }
        if change.accessed.is_some() || change.modified.is_some() {
            let times = Timestamps {
                last_access: time(change.accessed)?,
                last_modification: time(change.modified)?,
            };
            utimensat(fd, "", &times, AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    pub(super) fn attributes(&self, fd: BorrowedFd) -> Result<Attributes, Errno> {
        let stat = fstat(fd)?;
        let time = |seconds: i64, nanoseconds: u64| {
            // What is before 1970 is 1970.
            u64::try_from(seconds).map_or((0, 0), |seconds| (seconds, nanoseconds))
        };
        Ok(Attributes {
            qid: self.qid(&stat),
            mode: stat.st_mode,
            links: stat.st_nlink,
            size: stat.st_size.max(0).cast_unsigned(),
            blocks: stat.st_blocks.max(0).cast_unsigned(),
            accessed: time(stat.st_atime, stat.st_atime_nsec),
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
        })
    }

    /// All that was written is safe when this returns: of a file, or the names of a directory. Not
    /// of its whole file system, which others of the host use, too.
    pub(super) fn sync(&self, fd: BorrowedFd, open: Option<&Opened>) -> Result<(), Errno> {
        if self.read_only {
            return Ok(());
        }
        let again;
        let open = match open {
            Some(open) => open,
            None => {
                again = self.reopen(fd, false)?;
                &again
            }
        };
        fsync(&open.file)
    }

    /// Makes what was written to a file safe. It is opened anew for that: Linux tells of a write
    /// that has failed once for each opening, so that whoever asks for a sync is told all the same.
    pub(super) fn sync_data(&self, fd: BorrowedFd) -> Result<(), Errno> {
        fdatasync(self.reopen(fd, false)?.file)
    }

    fn qid(&self, stat: &Stat) -> Qid {
        Qid {
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            version: 0,
            path: self.path(stat.st_dev, stat.st_ino),
        }
    }

    /// The number that tells a file from the others. Other file systems can be mounted below the
    /// directory, so that an inode's number alone does not.
    pub(super) fn path(&self, device: u64, inode: u64) -> u64 {
        if device == self.device {
            return inode;
        }
        // An odd factor: different devices stay different.
        inode ^ device.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// What a file's qid says of its kind.
pub(super) fn kind(of: FileType) -> u8 {
    match of {
        FileType::Directory => Qid::DIRECTORY,
        FileType::Symlink => Qid::LINK,
        _ => 0,
    }
}

/// Which file a descriptor stands for.
pub(super) fn which(fd: BorrowedFd) -> Result<Which, Errno> {
    let stat = fstat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// The text of a symbolic link.
pub(super) fn read_link(fd: BorrowedFd) -> Result<Vec<u8>, Errno> {
    if FileType::from_raw_mode(fstat(fd)?.st_mode) != FileType::Symlink {
        return Err(Errno::INVAL);
    }
    readlinkat(fd, "", Vec::new()).map(std::ffi::CString::into_bytes)
}

/// Reads until the buffer is full or the file ends; how many bytes.
pub(super) fn read(file: &File, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
    // Nothing is behind the greatest offset that Linux knows.
    let room = (i64::MAX as u64).saturating_sub(offset);
    let len = usize::try_from(room).map_or(into.len(), |room| room.min(into.len()));
    let into = &mut into[..len];
    whole(len, |done| {
        file.read_at(&mut into[done..], offset + done as u64)
    })
}

/// Moves so many bytes by as many calls as that takes, each of which is told how many have been moved; how many were.
/// An error behind some of them is left to the next request.
fn whole(
    len: usize,
    mut step: impl FnMut(usize) -> std::io::Result<usize>,
) -> Result<usize, Errno> {
    let mut done = 0;
    while done < len {
        match step(done).map_err(errno) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// As [`read`], of what Linux has in memory: [`Errno::AGAIN`], or another error, if that is not all of
/// it.
pub(super) fn read_cached(file: &File, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let end = offset.checked_add(into.len() as u64);
    if end.is_none_or(|end| end > i64::MAX as u64) {
        return Err(Errno::AGAIN);
    }
    let mut done = 0;
    while done < into.len() {
        let at = offset + done as u64;
        let mut rest = [IoSliceMut::new(&mut into[done..])];
        match preadv2(file, &mut rest, at, ReadWriteFlags::NOWAIT) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Whether closing this descriptor, by which nothing was changed, is no work: the file has a name, so that
/// nothing of it is given back to the disk.
pub(super) fn is_named(fd: BorrowedFd) -> bool {
    fstat(fd).is_ok_and(|about| about.st_nlink > 0)
}

/// Writes the data; how many bytes, fewer only if the host has no room for more.
pub(super) fn write(file: &File, data: &[u8], offset: u64) -> Result<usize, Errno> {
    let end = offset.checked_add(data.len() as u64);
    if end.is_none_or(|end| end > i64::MAX as u64) {
        return Err(Errno::FBIG);
    }
    whole(data.len(), |done| {
        file.write_at(&data[done..], offset + done as u64)
    })
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// A name, if it is one part of a path.
fn checked(name: &[u8]) -> Result<&[u8], Errno> {
    if sing_p9::is_name(name) {
        Ok(name)
    } else if name.len() > sing_p9::LONGEST_NAME {
        Err(Errno::NAMETOOLONG)
    } else {
        Err(Errno::INVAL)
    }
}

/// A descriptor's name in `/proc/self/fd`.
fn number(fd: BorrowedFd) -> String {
    fd.as_raw_fd().to_string()
}

fn time(time: Option<(u64, u64)>) -> Result<Timespec, Errno> {
    let Some((seconds, nanoseconds)) = time else {
        return Ok(Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        });
    };
    // Beyond that, Linux gives the number a meaning of its own.
    if nanoseconds >= 1_000_000_000 {
        return Err(Errno::INVAL);
    }
    Ok(Timespec {
        tv_sec: seconds.try_into().map_err(|_| Errno::INVAL)?,
        tv_nsec: nanoseconds.cast_signed(),
    })
}
