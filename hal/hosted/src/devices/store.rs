//! A disk's file, whatever kind of disk shows it.
//!
//! What the host has in memory is read and written at once, between the file and the request's own
//! memory: through a mapping of the file (`mapping.rs`) what was used lately, else by a system call
//! that does not wait. What may wait (a read from the medium, a flush, a discard) goes to a thread,
//! in the order of the requests, with a copy of the data: the request's memory is touched only when
//! the thread gives the request back, if the device has not been reset meanwhile.
//!
//! Invariants: nothing is read or written outside the capacity, which is the file's size when it
//! was opened, and a disk that is read-only is opened so. A flush is answered when the host has
//! said that all that was written before is safe. What waits is bounded (`disk_thread.rs`), also
//! where resets come in between; beyond that, requests are answered at once with an error.

use super::disk::{Disk, SECTOR};
use super::disk_thread::{AHEAD, Job, Jobs, Work};
use super::mapping::Mapping;
use super::queue::{Piece, bytes, copied};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// The most bytes of a request.
pub(super) const MOST: usize = 4 << 20;

/// What becomes of a request.
pub(super) enum Outcome {
    /// It is done.
    Done,
    /// It is to be left to the disk's thread ([`Store::later`]).
    Later(Work),
}

/// The file, and what is known of it; `T` names a request that the thread has.
pub(super) struct Store<T> {
    file: Arc<File>,
    /// Sectors.
    pub(super) capacity: u64,
    pub(super) read_only: bool,
    pub(super) jobs: Arc<Jobs<T>>,
    /// Jobs that have been put into the queue.
    waiting: u64,
    /// Kept for its room.
    vectors: Vec<libc::iovec>,
    /// Memory of the request in work, for who has no other place; kept for its room.
    pub(super) pieces: Vec<Piece>,
    /// The file, as far as it can be reached without system calls.
    mapping: Option<Mapping>,
    /// The value of [`Jobs::syncs`] that the mapping knows of.
    syncs: u64,
}

// SAFETY: `vectors` and `pieces` are used only by who has the lock around the device's state, which
// fills them anew for each request.
unsafe impl<T: Send> Send for Store<T> {}

impl<T> Store<T> {
    /// That of a disk, which leaves to others what is among the jobs.
    pub(super) fn of(disk: &Disk, jobs: Arc<Jobs<T>>) -> Store<T> {
        let bytes = disk.capacity * SECTOR;
        Store {
            file: Arc::clone(&disk.file),
            capacity: disk.capacity,
            read_only: disk.read_only,
            jobs,
            waiting: 0,
            vectors: Vec::new(),
            pieces: Vec::new(),
            mapping: Mapping::of(&disk.file, bytes, !disk.read_only),
            syncs: 0,
        }
    }

    /// Whether one more request may wait, which is to write so many bytes at most.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.jobs.have_room(bytes)
    }

    /// Leaves a request to the disk's thread, behind the others.
    pub(super) fn later(&mut self, work: Work, ticket: T) {
        self.waiting += 1;
        self.jobs.put(Job { work, ticket });
    }

    /// Where so many bytes from a sector on are in the file; `None` if they are no whole sectors,
    /// or not all on the disk.
    pub(super) fn place(&self, sector: u64, len: usize) -> Option<u64> {
        let sectors = len as u64 / SECTOR;
        let whole = (len as u64).is_multiple_of(SECTOR);
        let end = sector.checked_add(sectors)?;
        let whole = whole && len <= MOST;
        (whole && end <= self.capacity).then(|| sector * SECTOR)
    }

    /// Whether the disk's thread has work. Then what changes the disk queues up behind it, so that
    /// all of it happens in the order of the requests.
    fn is_waiting(&self) -> bool {
        self.jobs.done.load(SeqCst) != self.waiting
    }

    fn vectors(&mut self, pieces: &[Piece]) -> (*const libc::iovec, i32) {
        self.vectors.clear();
        self.vectors.extend(pieces.iter().map(|p| libc::iovec {
            iov_base: p.at.cast(),
            iov_len: p.len,
        }));
        (self.vectors.as_ptr(), self.vectors.len() as i32)
    }

    /// Reads from a place of the file, as [`Store::place`] has said, into these pieces.
    pub(super) fn read(&mut self, at: u64, to: &[Piece]) -> Outcome {
        let len = bytes(to);
        if !self.is_waiting() {
            let mapping = self.mapping.as_mut();
            if mapping.is_some_and(|m| m.read(at, len, to)) {
                return Outcome::Done;
            }
            let (vectors, count) = self.vectors(to);
            let fd = self.file.as_raw_fd();
            // SAFETY: the pieces are valid during this call, and Linux, not we, writes them; only
            // what the host has in memory is read.
            let read = unsafe { libc::preadv2(fd, vectors, count, at as i64, libc::RWF_NOWAIT) };
            if usize::try_from(read) == Ok(len) {
                if let Some(mapping) = &mut self.mapping {
                    mapping.found(at, len);
                }
                return Outcome::Done;
            }
        }
        Outcome::Later(Work::Read { at, len })
    }

    /// Writes these pieces to a place of the file.
    pub(super) fn write(&mut self, at: u64, from: &[Piece]) -> Outcome {
        let len = bytes(from);
        if !self.is_waiting() && self.rewrite(at, len, from) {
            return Outcome::Done;
        }
        self.jobs.dirty.store(true, SeqCst);
        let ahead = self.jobs.ahead.fetch_add(len as u64, SeqCst);
        if !self.is_waiting() && ahead <= AHEAD {
            let (vectors, count) = self.vectors(from);
            let fd = self.file.as_raw_fd();
            // Most of Linux's file systems cannot say that a write would have to wait. It goes to
            // the host's memory, and waits hardly ever as long as little of that is not on the
            // medium. SAFETY: the pieces are valid during this call.
            let written = unsafe { libc::pwritev(fd, vectors, count, at as i64) };
            if usize::try_from(written) == Ok(len) {
                if let Some(mapping) = &mut self.mapping {
                    mapping.written(at, len);
                }
                return Outcome::Done;
            }
        }
        Outcome::Later(Work::Write {
            at,
            data: copied(from),
        })
    }

    /// Writes through the mapping what was written before and not flushed since: nothing more is
    /// then ahead of the medium. Whether it has.
    fn rewrite(&mut self, at: u64, len: usize, from: &[Piece]) -> bool {
        let Some(mapping) = &mut self.mapping else {
            return false;
        };
        let syncs = self.jobs.syncs.load(SeqCst);
        if syncs != self.syncs {
            self.syncs = syncs;
            mapping.cleaned();
        }
        let done = mapping.write(at, len, from);
        if done {
            self.jobs.dirty.store(true, SeqCst);
        }
        done
    }

    /// Makes safe what was written before.
    pub(super) fn flush(&mut self) -> Outcome {
        if self.jobs.dirty.swap(false, SeqCst) || self.is_waiting() {
            Outcome::Later(Work::Flush)
        } else {
            Outcome::Done
        }
    }

    /// Where so many sectors are that are to be forgotten: the place and the bytes; `None` if not
    /// all of them are on the disk.
    pub(super) fn range(&self, sector: u64, sectors: u64) -> Option<(u64, u64)> {
        let end = sector.checked_add(sectors)?;
        (end <= self.capacity).then(|| (sector * SECTOR, sectors * SECTOR))
    }
}
