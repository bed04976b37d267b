//! `wasi:filesystem`: what is done with paths below a descriptor, and listing a directory.

use super::files::{
    DATA_SYNC, FILE_SYNC, NewTime, READ, READ_SYNC, WRITE, hash, kind, layout, times,
};
use super::resources::Resource;
use super::{Component, Outcome, Room};
use crate::abi::{fdflags, rights};
use crate::errno::Result;
use crate::host::{Directory as _, Entry};
use crate::path::request;
use crate::stat::follow;
use alloc::vec::Vec;

/// Entries of a directory that are asked for at once.
const LISTED: usize = 64;

/// A directory that is being listed.
#[derive(Debug)]
pub(crate) struct Entries {
    pub fd: u32,
    /// The place from which it goes on.
    from: u64,
    /// Those that have been asked for, the next one last.
    next: Vec<Entry>,
    ended: bool,
}

impl<H: Room> Component<H> {
    /// `read-directory`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn read_directory(&mut self, descriptor: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        let listed = self.wasi.table.directory(fd, rights::FD_READDIR);
        let stream = match listed.map(drop) {
            Ok(()) => {
                self.hold(fd);
                Ok(self.table.add(Resource::Entries(Entries {
                    fd,
                    from: 0,
                    next: Vec::new(),
                    ended: false,
                })))
            }
            Err(errno) => Err(errno),
        };
        self.answer_handle(out, stream)
    }

    /// `read-directory-entry`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn read_entry(&mut self, stream: u32, out: u32) -> Outcome {
        let entries = self.table.entries(stream)?;
        if entries.next.is_empty() && !entries.ended {
            let (fd, from) = (entries.fd, entries.from);
            match self.entries(fd, from) {
                Ok(next) => {
                    let entries = self.table.entries(stream)?;
                    entries.ended = next.is_empty();
                    entries.from = next.first().map_or(from, |last| last.next);
                    entries.next = next;
                }
                Err(errno) => return self.refused(out, 4, errno),
            }
        }
        let Some(entry) = self.table.entries(stream)?.next.pop() else {
            self.put(out, &[0])?;
            return self.put_at(out, 4, &[0]);
        };
        let name = self.place(entry.name.as_bytes())?;
        self.put(out, &[0])?;
        self.put_at(out, 4, &[1])?;
        self.put_at(out, 8, &[kind(crate::stat::type_of(entry.kind))])?;
        self.put_at(out, 12, &name)
    }

    /// The next entries of a directory, the last first.
    fn entries(&mut self, fd: u32, from: u64) -> Result<Vec<Entry>> {
        let open = self.wasi.table.directory(fd, rights::FD_READDIR)?;
        let mut all = Vec::new();
        open.directory.list(from, &mut |entry| {
            all.push(entry);
            Ok(all.len() < LISTED)
        })?;
        all.reverse();
        Ok(all)
    }

    /// `create-directory-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn create_directory_at(
        &mut self,
        descriptor: u32,
        path: u32,
        len: u32,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let made = self.wasi.path_create_directory(fd, path, len);
        self.done(out, made)
    }

    /// `remove-directory-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn remove_directory_at(
        &mut self,
        descriptor: u32,
        path: u32,
        len: u32,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let removed = self.wasi.path_remove_directory(fd, path, len);
        self.done(out, removed)
    }

    /// `unlink-file-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn unlink_file_at(&mut self, descriptor: u32, path: u32, len: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let removed = self.wasi.path_unlink_file(fd, path, len);
        self.done(out, removed)
    }

    /// `link-at`, and `rename-at` if nothing is said of links.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn to_another(
        &mut self,
        descriptor: u32,
        lookup: Option<u32>,
        (from, from_len): (u32, u32),
        other: u32,
        (to, to_len): (u32, u32),
        out: u32,
    ) -> Outcome {
        let (fd, other) = (self.fd(descriptor)?, self.fd(other)?);
        self.path_at(from, from_len)?;
        self.path_at(to, to_len)?;
        let wasi = &mut self.wasi;
        let done = match lookup {
            Some(lookup) => wasi.path_link(fd, lookup, from, from_len, other, to, to_len),
            None => wasi.path_rename(fd, from, from_len, other, to, to_len),
        };
        self.done(out, done)
    }

    /// `symlink-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn symlink_at(
        &mut self,
        descriptor: u32,
        (target, target_len): (u32, u32),
        (path, len): (u32, u32),
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(target, target_len)?;
        self.path_at(path, len)?;
        let made = self.wasi.path_symlink(target, target_len, fd, path, len);
        self.done(out, made)
    }

    /// `readlink-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn readlink_at(&mut self, descriptor: u32, path: u32, len: u32, out: u32) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        match self.wasi.read_link_at(fd, path, len) {
            Ok(text) => {
                let text = self.place(text.as_bytes())?;
                self.answer(out, 4, Ok(&text))
            }
            Err(errno) => self.refused(out, 4, errno),
        }
    }

    /// `open-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn open_at(
        &mut self,
        descriptor: u32,
        lookup: u32,
        (path, len): (u32, u32),
        how: u32,
        flags: u32,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let opened = self.opened(fd, lookup, (path, len), how, flags);
        let handle = opened.map(|fd| {
            self.hold(fd);
            self.table.add(Resource::Descriptor(fd))
        });
        self.answer_handle(out, handle)
    }

    fn opened(
        &mut self,
        fd: u32,
        lookup: u32,
        (path, len): (u32, u32),
        how: u32,
        flags: u32,
    ) -> Result<u32> {
        let (mut granted, mut fd_flags) = (rights::DIRECTORY | rights::POLL_FD_READWRITE, 0);
        granted |= rights::FD_FILESTAT_GET | rights::FD_ADVISE | rights::FD_SEEK | rights::FD_TELL;
        if flags & READ != 0 {
            granted |= rights::FD_READ;
        }
        if flags & WRITE != 0 {
            granted |= rights::FD_WRITE | rights::FD_ALLOCATE | rights::FD_FILESTAT_SET_SIZE;
        }
        for (flag, fd_flag) in [
            (FILE_SYNC, fdflags::SYNC),
            (DATA_SYNC, fdflags::DSYNC),
            (READ_SYNC, fdflags::RSYNC),
        ] {
            fd_flags |= if flags & flag != 0 { fd_flag } else { 0 };
        }
        let path = self.wasi.path(path, len)?;
        let request = request(how, follow(lookup)?, granted, rights::ALL, fd_flags.into())?;
        self.wasi.open_at(fd, &path, &request)
    }

    /// `stat-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn stat_at(
        &mut self,
        descriptor: u32,
        lookup: u32,
        path: u32,
        len: u32,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let stat = self.wasi.stat_at(fd, lookup, path, len);
        let stat = stat.map(|stat| layout(&stat));
        self.answer(out, 8, stat.as_ref().map(|s| &s[..]).map_err(|e| *e))
    }

    /// `metadata-hash-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn metadata_hash_at(
        &mut self,
        descriptor: u32,
        lookup: u32,
        path: u32,
        len: u32,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let stat = self.wasi.stat_at(fd, lookup, path, len);
        let hash = stat.map(|stat| hash(&stat));
        self.answer(out, 8, hash.as_ref().map(|h| &h[..]).map_err(|e| *e))
    }

    /// `set-times-at`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn set_times_at(
        &mut self,
        descriptor: u32,
        lookup: u32,
        (path, len): (u32, u32),
        accessed: NewTime,
        modified: NewTime,
        out: u32,
    ) -> Outcome {
        let fd = self.fd(descriptor)?;
        self.path_at(path, len)?;
        let (accessed, modified, flags) = times(accessed, modified);
        let set = self
            .wasi
            .path_filestat_set_times(fd, lookup, path, len, accessed, modified, flags);
        self.done(out, set)
    }
}
