//! A disk ("5.2 Block Device"): a file of the host.
//!
//! What the host has in memory is read and written at once, between the file and the request's own
//! memory: through a mapping of the file (`mapping.rs`) what was used lately, else by a system call
//! that does not wait. What may wait (a read from the medium, a flush, a discard) goes to a thread, in the
//! order of the requests, with a copy of the data: the request's memory is touched only when the
//! thread gives the request back, if the device has not been reset meanwhile.
//!
//! Invariants: nothing is read or written outside the capacity, which is the file's size when it
//! was opened, and a disk that is read-only is opened so. A flush is answered when the host has
//! said that all that was written before is safe. What waits is bounded (`disk_thread.rs`), also
//! where resets come in between; beyond that, requests are answered at once with an error.

use super::DiskFile;
use super::disk_thread::{AHEAD, Job, Jobs, Work, work};
use super::mapping::Mapping;
use super::mmio::{Model, Ticket, Transport};
use super::queue::{Chain, Piece, bytes};
use super::refusal::{DiskError, Reason};
use crate::thread::quiet_thread;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
/// Stack of a disk's thread.
const STACK: usize = 128 << 10;
/// The most pieces of memory of a request, beside its header and status.
const PIECES: u32 = 126;
/// The most bytes of a request.
const MOST: usize = 4 << 20;
/// The most sectors of a discard.
const MOST_DISCARDED: u32 = 1 << 22;

/// Features: the limit of pieces, read-only, flushes, discards.
const SEG_MAX: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const FLUSH: u64 = 1 << 9;
const DISCARD: u64 = 1 << 13;

/// Kinds of requests.
mod kind {
    pub(super) const READ: u32 = 0;
    pub(super) const WRITE: u32 = 1;
    pub(super) const FLUSH: u32 = 4;
    pub(super) const NAME: u32 = 8;
    pub(super) const DISCARD: u32 = 11;
}

/// Statuses of requests.
pub(super) const OK: u8 = 0;
pub(super) const FAILED: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// A disk's file.
pub(super) struct Disk {
    file: Arc<File>,
    path: PathBuf,
    capacity: u64,
    read_only: bool,
}

impl Disk {
    /// Opens the file, for this system alone unless it is read-only.
    pub(super) fn open(disk: &DiskFile) -> Result<Disk, DiskError> {
        let error = |reason| DiskError {
            path: disk.path.clone(),
            reason,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(!disk.read_only)
            .open(&disk.path)
            .map_err(|e| error(Reason::Open(e)))?;
        let about = file.metadata().map_err(|e| error(Reason::Open(e)))?;
        if !about.is_file() && !about.file_type().is_block_device() {
            return Err(error(Reason::NoDisk));
        }
        // The length of a block device is where its end is.
        let end = io::Seek::seek(&mut &file, io::SeekFrom::End(0));
        let bytes = end.map_err(|e| error(Reason::Open(e)))?;
        if bytes == 0 || !bytes.is_multiple_of(SECTOR) {
            return Err(error(Reason::Size(bytes)));
        }
        let alone = if disk.read_only {
            FlockOperation::NonBlockingLockShared
        } else {
            FlockOperation::NonBlockingLockExclusive
        };
        flock(&file, alone).map_err(|_| error(Reason::InUse))?;
        Ok(Disk {
            file: Arc::new(file),
            path: disk.path.clone(),
            capacity: bytes / SECTOR,
            read_only: disk.read_only,
        })
    }

    /// Starts the disk's thread, which gives requests back to this transport.
    pub(super) fn start(self, transport: &Arc<Transport>) -> Result<Box<dyn Model>, DiskError> {
        let jobs = Arc::new(Jobs::default());
        let (file, transport) = (Arc::clone(&self.file), Arc::clone(transport));
        let worker = Arc::clone(&jobs);
        quiet_thread("disk", STACK, move |kernel| {
            work(&worker, &file, &transport, kernel)
        })
        .map_err(|e| DiskError {
            path: self.path.clone(),
            reason: Reason::Thread(e),
        })?;
        Ok(Box::new(self.model(jobs)))
    }

    /// The disk's model, which leaves to others what is among the jobs.
    pub(super) fn model(self, jobs: Arc<Jobs>) -> DiskModel {
        let mut name = [0; 20];
        let file_name = self.path.file_name().unwrap_or_default();
        for (to, from) in name.iter_mut().zip(file_name.as_encoded_bytes()) {
            *to = *from;
        }
        let bytes = self.capacity * SECTOR;
        let mut model = DiskModel {
            mapping: Mapping::of(&self.file, bytes, !self.read_only),
            syncs: 0,
            features: SEG_MAX | FLUSH | if self.read_only { READ_ONLY } else { DISCARD },
            config: [0; 60],
            name,
            waiting: 0,
            jobs,
            disk: self,
            vectors: Vec::new(),
        };
        let mut put = |at: usize, bytes: &[u8]| {
            model.config[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &model.disk.capacity.to_le_bytes());
        put(12, &PIECES.to_le_bytes());
        put(36, &MOST_DISCARDED.to_le_bytes());
        put(40, &1u32.to_le_bytes());
        put(44, &8u32.to_le_bytes());
        model
    }
}

pub(super) struct DiskModel {
    disk: Disk,
    features: u64,
    config: [u8; 60],
    name: [u8; 20],
    jobs: Arc<Jobs>,
    /// Jobs that have been put into the queue.
    waiting: u64,
    /// Kept for its room.
    vectors: Vec<libc::iovec>,
    /// The file, as far as it can be reached without system calls.
    mapping: Option<Mapping>,
    /// The value of [`Jobs::syncs`] that the mapping knows of.
    syncs: u64,
}

// SAFETY: `vectors` is empty but for the time of a system call.
unsafe impl Send for DiskModel {}

impl Model for DiskModel {
    fn id(&self) -> u32 {
        2
    }

    fn features(&self) -> u64 {
        self.features
    }

    fn config(&self) -> &[u8] {
        &self.config
    }

    fn most(&self) -> usize {
        MOST
    }

    fn more(&mut self) {
        self.jobs.resume();
    }

    fn resumes(&self) -> bool {
        true
    }

    fn serve(&mut self, chain: &mut Chain, ticket: Ticket) -> Option<u32> {
        let mut header = [0; 16];
        let whole = chain.take_head(&mut header);
        // Without a place for a status there is nobody to tell.
        let Some(status) = chain.take_status() else {
            return Some(0);
        };
        let room = self.jobs.have_room(bytes(&chain.readable));
        let (value, written) = if whole && room {
            let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            let [.., a, b, c, d, e, f, g, h] = header;
            let sector = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            match self.request(kind, sector, chain) {
                Answer::Done(value, written) => (value, written),
                Answer::Later(work) => {
                    self.later(work, ticket);
                    return None;
                }
            }
        } else {
            (FAILED, 0)
        };
        // SAFETY: the last byte of the request's memory, which is valid during this call.
        unsafe { status.write_volatile(value) };
        Some(written + 1)
    }
}

/// What becomes of a request.
enum Answer {
    Done(u8, u32),
    Later(Work),
}

impl DiskModel {
    fn request(&mut self, kind: u32, sector: u64, chain: &mut Chain) -> Answer {
        match kind {
            kind::READ => match self.place(sector, bytes(&chain.writable)) {
                Some(at) => self.read(at, chain),
                None => Answer::Done(FAILED, 0),
            },
            kind::WRITE if self.disk.read_only => Answer::Done(FAILED, 0),
            kind::WRITE => match self.place(sector, bytes(&chain.readable)) {
                Some(at) => self.write(at, chain),
                None => Answer::Done(FAILED, 0),
            },
            kind::FLUSH if self.jobs.dirty.swap(false, SeqCst) || self.is_waiting() => {
                Answer::Later(Work::Flush)
            }
            kind::FLUSH => Answer::Done(OK, 0),
            kind::NAME => Answer::Done(OK, chain.fill(&self.name) as u32),
            kind::DISCARD if self.features & DISCARD != 0 => self.discard(chain),
            _ => Answer::Done(UNSUPPORTED, 0),
        }
    }

    /// Where so many bytes from a sector on are in the file; `None` if they are no whole sectors,
    /// or not all on the disk.
    fn place(&self, sector: u64, len: usize) -> Option<u64> {
        let sectors = len as u64 / SECTOR;
        let whole = (len as u64).is_multiple_of(SECTOR);
        let end = sector.checked_add(sectors)?;
        let whole = whole && len <= MOST;
        (whole && end <= self.disk.capacity).then(|| sector * SECTOR)
    }

    /// Whether the disk's thread has work. Then what changes the disk queues up behind it, so that
    /// all of it happens in the order of the requests.
    fn is_waiting(&self) -> bool {
        self.jobs.done.load(SeqCst) != self.waiting
    }

    fn later(&mut self, work: Work, ticket: Ticket) {
        self.waiting += 1;
        self.jobs.put(Job { work, ticket });
    }

    fn vectors(&mut self, pieces: &[Piece]) -> (*const libc::iovec, i32) {
        self.vectors.clear();
        self.vectors.extend(pieces.iter().map(|p| libc::iovec {
            iov_base: p.at.cast(),
            iov_len: p.len,
        }));
        (self.vectors.as_ptr(), self.vectors.len() as i32)
    }

    fn read(&mut self, at: u64, chain: &Chain) -> Answer {
        let len = bytes(&chain.writable);
        if !self.is_waiting() {
            let mapping = self.mapping.as_mut();
            if mapping.is_some_and(|m| m.read(at, len, &chain.writable)) {
                return Answer::Done(OK, len as u32);
            }
            let (vectors, count) = self.vectors(&chain.writable);
            let fd = self.disk.file.as_raw_fd();
            // SAFETY: the pieces are valid during this call, and Linux, not we, writes them; only
            // what the host has in memory is read.
            let read = unsafe { libc::preadv2(fd, vectors, count, at as i64, libc::RWF_NOWAIT) };
            if usize::try_from(read) == Ok(len) {
                if let Some(mapping) = &mut self.mapping {
                    mapping.found(at, len);
                }
                return Answer::Done(OK, len as u32);
            }
        }
        Answer::Later(Work::Read { at, len })
    }

    fn write(&mut self, at: u64, chain: &Chain) -> Answer {
        let len = bytes(&chain.readable);
        if !self.is_waiting() && self.rewrite(at, len, chain) {
            return Answer::Done(OK, 0);
        }
        self.jobs.dirty.store(true, SeqCst);
        let ahead = self.jobs.ahead.fetch_add(len as u64, SeqCst);
        if !self.is_waiting() && ahead <= AHEAD {
            let (vectors, count) = self.vectors(&chain.readable);
            let fd = self.disk.file.as_raw_fd();
            // Most of Linux's file systems cannot say that a write would have to wait. It goes to
            // the host's memory, and waits hardly ever as long as little of that is not on the
            // medium. SAFETY: the pieces are valid during this call.
            let written = unsafe { libc::pwritev(fd, vectors, count, at as i64) };
            if usize::try_from(written) == Ok(len) {
                if let Some(mapping) = &mut self.mapping {
                    mapping.written(at, len);
                }
                return Answer::Done(OK, 0);
            }
        }
        Answer::Later(Work::Write {
            at,
            data: chain.copy(),
        })
    }

    /// Writes through the mapping what was written before and not flushed since: nothing more is
    /// then ahead of the medium. Whether it has.
    fn rewrite(&mut self, at: u64, len: usize, chain: &Chain) -> bool {
        let Some(mapping) = &mut self.mapping else {
            return false;
        };
        let syncs = self.jobs.syncs.load(SeqCst);
        if syncs != self.syncs {
            self.syncs = syncs;
            mapping.cleaned();
        }
        let done = mapping.write(at, len, &chain.readable);
        if done {
            self.jobs.dirty.store(true, SeqCst);
        }
        done
    }

    fn discard(&self, chain: &mut Chain) -> Answer {
        let mut segment = [0; 16];
        // The header, where it was a piece of its own.
        chain.readable.retain(|piece| piece.len > 0);
        if !chain.take_head(&mut segment) || bytes(&chain.readable) > 0 {
            return Answer::Done(FAILED, 0);
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = segment;
        let sector = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let sectors = u32::from_le_bytes([i, j, k, l]);
        let len = u64::from(sectors) * SECTOR;
        let end = sector.checked_add(u64::from(sectors));
        if sectors > MOST_DISCARDED || end.is_none_or(|end| end > self.disk.capacity) {
            return Answer::Done(FAILED, 0);
        }
        let at = sector * SECTOR;
        Answer::Later(Work::Discard { at, len })
    }
}
