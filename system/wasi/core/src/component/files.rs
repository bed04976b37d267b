//! `wasi:filesystem`: descriptors, by the calls of preview 1.
//!
//! A descriptor has all rights there that its flags mean, so that a program gets this interface's errors.

use super::io::To;
use super::resources::{Reason, Resource};
use super::{Component, Outcome, Room};
use crate::PIECE;
use crate::abi::{fdflags, filetype, fstflags, rights};
use crate::errno::{Errno, Result};
use crate::host::{Attributes, File as _};
use crate::stat::Stat;
use crate::table::Object;
use alloc::vec::Vec;

/// Flags of descriptors.
pub(super) const READ: u32 = 1;
pub(super) const WRITE: u32 = 2;
pub(super) const FILE_SYNC: u32 = 4;
pub(super) const DATA_SYNC: u32 = 8;
pub(super) const READ_SYNC: u32 = 16;
const MUTATE: u32 = 32;

/// A new time: what is said, seconds and nanoseconds.
pub type NewTime = (u32, u64, u32);

/// An errno as `error-code` has it.
pub(super) const fn code(errno: Errno) -> u8 {
    match errno {
        Errno::Again => 1,
        Errno::Badf => 3,
        Errno::Busy => 4,
        Errno::Exist => 7,
        Errno::Fbig => 8,
        Errno::Ilseq => 9,
        Errno::Inval => 12,
        Errno::Isdir => 14,
        Errno::Loop => 15,
        Errno::Mlink => 16,
        Errno::Nametoolong => 18,
        Errno::Noent => 20,
        Errno::Nomem | Errno::Mfile | Errno::Nfile | Errno::Nobufs => 22,
        Errno::Nospc => 23,
        Errno::Notdir => 24,
        Errno::Notempty => 25,
        Errno::Notsup => 27,
        Errno::Overflow => 30,
        Errno::Perm | Errno::Notcapable => 31,
        Errno::Pipe => 32,
        Errno::Rofs => 33,
        Errno::Spipe => 34,
        Errno::Xdev => 36,
        Errno::Connaborted
        | Errno::Fault
        | Errno::Io
        | Errno::Netdown
        | Errno::Notconn
        | Errno::Notsock => 13,
    }
}

/// A kind as `descriptor-type` has it.
pub(super) const fn kind(filetype: u8) -> u8 {
    match filetype {
        filetype::CHARACTER_DEVICE => 2,
        filetype::DIRECTORY => 3,
        filetype::REGULAR_FILE => 6,
        filetype::SYMBOLIC_LINK => 5,
        filetype::SOCKET_STREAM => 7,
        _ => 0,
    }
}

impl<H: Room> Component<H> {
    /// Answers a `result` whose error is at this offset.
    pub(super) fn refused(&mut self, out: u32, offset: u32, errno: Errno) -> Outcome {
        self.put(out, &[1])?;
        self.put_at(out, offset, &[code(errno)])
    }

    /// Answers `result<_, error-code>`.
    pub(super) fn done(&mut self, out: u32, done: Result) -> Outcome {
        match done {
            Ok(()) => self.put(out, &[0]),
            Err(errno) => self.refused(out, 1, errno),
        }
    }

    /// Answers `result<T, error-code>` with bytes at the offset that `T` has.
    pub(super) fn answer(&mut self, out: u32, offset: u32, answer: Result<&[u8]>) -> Outcome {
        match answer {
            Ok(bytes) => {
                self.put(out, &[0])?;
                self.put_at(out, offset, bytes)
            }
            Err(errno) => self.refused(out, offset, errno),
        }
    }

    /// Answers with a resource.
    pub(super) fn answer_handle(&mut self, out: u32, handle: Result<Outcome<u32>>) -> Outcome {
        match handle {
            Ok(handle) => self.answer(out, 4, Ok(&handle?.to_le_bytes())),
            Err(errno) => self.refused(out, 4, errno),
        }
    }

    /// That the address of a path is the program's: a text that is not is no error of the path.
    pub(super) fn path_at(&mut self, path: u32, len: u32) -> Outcome {
        self.range(path, len.into())
    }

    pub(super) fn fd(&mut self, descriptor: u32) -> Outcome<u32> {
        self.table.file(descriptor).copied()
    }

    /// `get-directories`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn directories(&mut self, out: u32) -> Outcome {
        let preopens = self.wasi.table.preopens();
        let preopens: Vec<(u32, Vec<u8>)> =
            preopens.map(|(fd, name)| (fd, name.to_vec())).collect();
        let list = self.list(&preopens, 12, |component, at, (fd, name)| {
            component.hold(*fd);
            let handle = component.table.add(Resource::Descriptor(*fd))?;
            component.put(at, &handle.to_le_bytes())?;
            let name = component.place(name)?;
            component.put_at(at, 4, &name)
        })?;
        self.put(out, &list)
    }

    /// `read-via-stream`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn read_via_stream(&mut self, descriptor: u32, at: u64, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let readable = self.wasi.table.file(fd, rights::FD_READ, Errno::Isdir);
        let stream = match readable.map(drop) {
            Ok(()) => Ok(self.add_input(fd, Some(at))),
            Err(errno) => Err(not_open(errno)),
        };
        self.answer_handle(out, stream)
    }

    /// `write-via-stream`, and `append-via-stream` without a place.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn write_via_stream(&mut self, descriptor: u32, at: Option<u64>, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let writable = self.wasi.table.file(fd, rights::FD_WRITE, Errno::Isdir);
        let stream = match writable.map(drop) {
            Ok(()) => Ok(self.add_output(fd, at.map_or(To::End, To::Place))),
            Err(errno) => Err(not_open(errno)),
        };
        self.answer_handle(out, stream)
    }

    /// `advise`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn advise(&mut self, descriptor: u32, at: u64, len: u64, advice: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let advised = self.wasi.fd_advise(fd, at, len, advice);
        self.done(out, advised)
    }

    /// `sync` and `sync-data`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn sync(&mut self, descriptor: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let synced = self.wasi.fd_sync(fd);
        self.done(out, synced)
    }

    /// `get-flags`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn flags(&mut self, descriptor: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let flags = self.wasi.table.look(fd).map(|d| {
            let directory = matches!(d.object, Object::Directory(_));
            let mut flags = 0;
            for (flag, has) in [
                (READ, directory || d.has(rights::FD_READ).is_ok()),
                (WRITE, !directory && d.has(rights::FD_WRITE).is_ok()),
                (FILE_SYNC, d.is(fdflags::SYNC)),
                (DATA_SYNC, d.is(fdflags::DSYNC)),
                (READ_SYNC, d.is(fdflags::RSYNC)),
                (MUTATE, directory),
            ] {
                flags |= if has { flag as u8 } else { 0 };
            }
            [flags]
        });
        self.answer(out, 1, flags.as_ref().map(|f| &f[..]).map_err(|e| *e))
    }

    /// `get-type`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn file_type(&mut self, descriptor: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let found = self.wasi.table.look(fd).map(|d| [kind(d.filetype)]);
        self.answer(out, 1, found.as_ref().map(|k| &k[..]).map_err(|e| *e))
    }

    /// `set-size`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn set_size(&mut self, descriptor: u32, bytes: u64, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let set = self.wasi.fd_filestat_set_size(fd, bytes);
        self.done(out, set)
    }

    /// `set-times`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn set_times(
        &mut self,
        descriptor: u32,
        accessed: NewTime,
        modified: NewTime,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        let (accessed, modified, flags) = times(accessed, modified);
        let set = self
            .wasi
            .fd_filestat_set_times(fd, accessed, modified, flags);
        self.done(out, set)
    }

    /// `read`: bytes at a place, and whether the end was reached.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn read_at(&mut self, descriptor: u32, most: u64, at: u64, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let most = most.min(PIECE as u64) as usize;
        let (block, len) = match self.read_block(fd, most, at) {
            Ok(read) => read,
            Err(errno) => return self.refused(out, 4, not_open(errno)),
        };
        let room = self.room(1, len)?;
        if let Some(block) = block {
            self.wasi.host.scatter(&block, 0, room, len);
        }
        self.put(out, &[0])?;
        self.put_at(out, 4, &super::pair(room, len as u32))?;
        self.put_at(out, 12, &[u8::from(len < most)])
    }

    fn read_block(&mut self, fd: u32, most: usize, at: u64) -> Result<(Option<H::Block>, usize)> {
        let readable = self.wasi.table.file(fd, rights::FD_READ, Errno::Isdir);
        let (open, _) = readable?;
        if i64::try_from(at).is_err() {
            return Err(Errno::Inval);
        }
        if most == 0 {
            return Ok((None, 0));
        }
        let block = self.wasi.host.block(most)?;
        let (block, len) = open.file.read(at, block, most)?;
        Ok((Some(block), len.min(most)))
    }

    /// `write` at a place: how many bytes.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn write_at(
        &mut self,
        descriptor: u32,
        (from, len): (u32, u32),
        at: u64,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.range(from, len.into())?;
        let written = self.write_block(fd, from, len.min(PIECE as u32), at);
        match written.map_err(not_open) {
            Ok(count) => self.answer(out, 8, Ok(&count.to_le_bytes())),
            Err(errno) => self.refused(out, 8, errno),
        }
    }

    fn write_block(&mut self, fd: u32, from: u32, len: u32, at: u64) -> Result<u64> {
        let len = len as usize;
        let (open, _) = self.wasi.table.file(fd, rights::FD_WRITE, Errno::Isdir)?;
        if i64::try_from(at).is_err() {
            return Err(Errno::Inval);
        }
        if len == 0 {
            return Ok(0);
        }
        let mut block = self.wasi.host.block(len)?;
        self.wasi.host.gather(from, &mut block, 0, len);
        Ok(open.file.write(at, block, len)? as u64)
    }

    /// `stat`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn stat(&mut self, descriptor: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let stat = self.wasi.stat_of(fd).map(|stat| layout(&stat));
        self.answer(out, 8, stat.as_ref().map(|s| &s[..]).map_err(|e| *e))
    }

    /// `is-same-object`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn is_same(&mut self, descriptor: u32, other: u32) -> Outcome<u32> {
        let (fd, other) = (self.fd(descriptor)?, self.fd(other)?);
        let mut which = |fd| {
            let stat = self.wasi.stat_of(fd).ok()?;
            Some((stat.device, stat.attributes?.id))
        };
        let (one, two) = (which(fd), which(other));
        Ok((fd == other || one.is_some() && one == two).into())
    }

    /// `metadata-hash`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn metadata_hash(&mut self, descriptor: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let hash = self.wasi.stat_of(fd).map(|stat| hash(&stat));
        self.answer(out, 8, hash.as_ref().map(|h| &h[..]).map_err(|e| *e))
    }

    /// `filesystem-error-code`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn error_code(&mut self, error: u32, out: u32) -> Outcome {
        match *self.table.error(error)? {
            Reason::Errno(errno) => self.put(out, &[1, code(errno)]),
            Reason::Http(_) => self.put(out, &[0]),
        }
    }
}

/// Without the right to read or write, a descriptor is not open for that.
fn not_open(errno: Errno) -> Errno {
    match errno {
        Errno::Notcapable => Errno::Badf,
        errno => errno,
    }
}

/// New times as preview 1 has them.
pub(super) fn times(accessed: NewTime, modified: NewTime) -> (u64, u64, u32) {
    let mut flags = 0;
    let mut one = |(case, seconds, nanos): NewTime, set: u16, now: u16| {
        flags |= match case {
            0 => 0,
            1 => now,
            _ => set,
        };
        let seconds = seconds.saturating_mul(1_000_000_000);
        seconds.saturating_add(nanos.into())
    };
    let accessed = one(accessed, fstflags::ATIM, fstflags::ATIM_NOW);
    let modified = one(modified, fstflags::MTIM, fstflags::MTIM_NOW);
    (accessed, modified, flags.into())
}

/// `descriptor-stat`.
pub(super) fn layout(stat: &Stat) -> [u8; 96] {
    let mut bytes = [0; 96];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, &[kind(stat.filetype)]);
    let Some(Attributes {
        links,
        bytes: size,
        accessed,
        modified,
        changed,
        ..
    }) = stat.attributes
    else {
        return bytes;
    };
    put(8, &links.to_le_bytes());
    put(16, &size.to_le_bytes());
    for (at, time) in [(24, accessed), (48, modified), (72, changed)] {
        put(at, &[1]);
        put(at + 8, &(time / 1_000_000_000).to_le_bytes());
        put(at + 16, &((time % 1_000_000_000) as u32).to_le_bytes());
    }
    bytes
}

/// Two numbers that are others for another thing: which device, and which there.
pub(super) fn hash(stat: &Stat) -> [u8; 16] {
    let id = stat.attributes.map_or(0, |a| a.id);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    bytes[8..].copy_from_slice(&stat.device.to_le_bytes());
    bytes
}
