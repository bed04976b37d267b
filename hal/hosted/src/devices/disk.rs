//! A disk ("5.2 Block Device"): requests of a virtio driver to a file of the host (`store.rs`).

use super::DiskFile;
use super::disk_thread::{Finished, Front, Jobs, Work, work};
use super::mmio::{Model, Ticket, Transport};
use super::queue::{Chain, bytes};
use super::refusal::{DiskError, Reason};
use super::store::{MOST, Outcome, Store};
use crate::thread::quiet_thread;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
/// Stack of a disk's thread.
const STACK: usize = 128 << 10;
/// The most pieces of memory of a request, beside its header and status.
const PIECES: u32 = 126;
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
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    /// Sectors.
    pub(super) capacity: u64,
    pub(super) read_only: bool,
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
        self.start_thread(&jobs, Arc::clone(transport))?;
        Ok(Box::new(self.model(jobs)))
    }

    /// Starts the thread that does these jobs, and gives the requests back to this front.
    pub(super) fn start_thread<T: Send + 'static>(
        &self,
        jobs: &Arc<Jobs<T>>,
        front: Arc<impl Front<T> + 'static>,
    ) -> Result<(), DiskError> {
        let (worker, file) = (Arc::clone(jobs), Arc::clone(&self.file));
        let started = quiet_thread("disk", STACK, move |kernel| {
            work(&worker, &file, &*front, kernel);
        });
        started.map(drop).map_err(|e| DiskError {
            path: self.path.clone(),
            reason: Reason::Thread(e),
        })
    }

    /// The disk's model, which leaves to others what is among the jobs.
    pub(super) fn model(self, jobs: Arc<Jobs<Ticket>>) -> DiskModel {
        let mut name = [0; 20];
        let file_name = self.path.file_name().unwrap_or_default();
        for (to, from) in name.iter_mut().zip(file_name.as_encoded_bytes()) {
            *to = *from;
        }
        let mut model = DiskModel {
            store: Store::of(&self, jobs),
            features: SEG_MAX | FLUSH | if self.read_only { READ_ONLY } else { DISCARD },
            config: [0; 60],
            name,
        };
        let mut put = |at: usize, bytes: &[u8]| {
            model.config[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &self.capacity.to_le_bytes());
        put(12, &PIECES.to_le_bytes());
        put(36, &MOST_DISCARDED.to_le_bytes());
        put(40, &1u32.to_le_bytes());
        put(44, &8u32.to_le_bytes());
        model
    }
}

pub(super) struct DiskModel {
    store: Store<Ticket>,
    features: u64,
    config: [u8; 60],
    name: [u8; 20],
}

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
        self.store.jobs.resume();
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
        let room = self.store.has_room(bytes(&chain.readable));
        let (value, written) = if whole && room {
            let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            let [.., a, b, c, d, e, f, g, h] = header;
            let sector = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            match self.request(kind, sector, chain) {
                Answer::Done(value, written) => (value, written),
                Answer::Later(work) => {
                    self.store.later(work, ticket);
                    return None;
                }
            }
        } else {
            (FAILED, 0)
        };
        status.write(&[value]);
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
        let store = &mut self.store;
        let (outcome, written) = match kind {
            kind::READ => match store.place(sector, bytes(&chain.writable)) {
                Some(at) => (
                    store.read(at, &chain.writable),
                    bytes(&chain.writable) as u32,
                ),
                None => return Answer::Done(FAILED, 0),
            },
            kind::WRITE if store.read_only => return Answer::Done(FAILED, 0),
            kind::WRITE => match store.place(sector, bytes(&chain.readable)) {
                Some(at) => (store.write(at, &chain.readable), 0),
                None => return Answer::Done(FAILED, 0),
            },
            kind::FLUSH => (store.flush(), 0),
            kind::NAME => return Answer::Done(OK, chain.fill(&self.name) as u32),
            kind::DISCARD if self.features & DISCARD != 0 => return self.discard(chain),
            _ => return Answer::Done(UNSUPPORTED, 0),
        };
        match outcome {
            Outcome::Done => Answer::Done(OK, written),
            Outcome::Later(work) => Answer::Later(work),
        }
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
        match self.store.range(sector, sectors.into()) {
            Some(range) if sectors <= MOST_DISCARDED => Answer::Later(Work::Discard(vec![range])),
            _ => Answer::Done(FAILED, 0),
        }
    }
}

/// Requests of a virtio disk that have waited for the host.
impl Front<Ticket> for Transport {
    fn finish(&self, ticket: Ticket, done: &io::Result<Vec<u8>>) -> Finished {
        let mut told = false;
        let tell = Transport::finish(self, ticket, |chain| {
            told = true;
            // The head was taken when the request came, and is still there.
            let mut header = [0; 16];
            chain.take_head(&mut header);
            let Some(status) = chain.take_status() else {
                return 0;
            };
            let (value, written) = match done {
                Ok(data) => (OK, chain.fill(data)),
                Err(_) => (FAILED, 0),
            };
            status.write(&[value]);
            written as u32 + 1
        });
        Finished { told, tell }
    }

    fn resume(&self) -> (bool, bool) {
        Transport::resume(self)
    }
}
