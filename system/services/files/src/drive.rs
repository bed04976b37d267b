//! A disk driver, found by name: the store's own requests, and further channels for file data.
//!
//! Invariants:
//! - What was answered is on the disk, or dirty in the cache; what was dirty when a sync was asked
//!   for is on the disk when it is answered ([`Drive::write_back`]).
//! - No wait is longer than [`patience`] for an answer, and [`RETURN`] for a driver to come back; a
//!   request is given up after [`LOSSES`] drivers or twice [`patience`].
//! - After a request was not answered in time, none is made before the driver has told the geometry
//!   again, which it does when all that came before has ended: a late write does not come behind
//!   one that was made after it.
//! - After a driver has died, requests go to the next one under the same name, if it serves the
//!   same disk: its size is the same, and so is the identity of the file system on it.

use crate::cache::Cache;
use crate::connect::{
    Asked, Channel, Geometry, LOOK, RETURN, Told, begin, connect, connect_first, geometry,
};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use sing_sdk::contracts::VolumeFault;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_store::{Disk, DiskFault as Fault, Store};

/// How long an answer may take, in milliseconds. Drivers end after ten seconds without one from the
/// device, so that their answer, or their end, comes first.
static PATIENCE: AtomicU32 = AtomicU32::new(30_000);
/// A request that so many drivers have lost is given up.
const LOSSES: u32 = 16;
/// The store's own requests are this large at most.
const PIECE: usize = 64 << 10;

/// One step of a write-back has so many requests at most, and none begins after this time.
const RUNS: usize = 32;
const STEP: Duration = Duration::from_millis(10);

/// How long a driver may take for an answer.
pub fn patience() -> Duration {
    Duration::from_millis(PATIENCE.load(Ordering::Relaxed).into())
}

/// Drivers may take so many milliseconds for an answer.
pub fn set_patience(milliseconds: u32) {
    PATIENCE.store(milliseconds, Ordering::Relaxed);
}

/// The whole sectors in which so many bytes from a place on lie: where they begin and end.
const fn sectors(sector: u64, at: u64, bytes: usize) -> (u64, u64) {
    let end = at + bytes as u64;
    (at - at % sector, end.next_multiple_of(sector))
}

/// Writes that were answered, and that the disk could not take later: how often that happened, and
/// why the last time. Whoever has to be told keeps the count of the last time when it was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    pub count: u64,
    fault: Option<Fault>,
}

impl Lost {
    /// Why something was lost since there was this count, if there was.
    pub fn since(self, count: u64) -> Option<Fault> {
        self.fault.filter(|_| self.count != count)
    }
}

pub struct Drive {
    path: String,
    names: Names,
    channel: Option<Channel>,
    pub geometry: Geometry,
    /// Of file data.
    pub cache: Cache,
    lost: Lost,
    /// Of the file system, once it is known.
    identity: Option<[u8; 16]>,
    /// Not to look for a successor before, after a vain search.
    patience_until: Duration,
    searching: bool,
    /// A driver that has not told the geometry yet, and since when it is asked.
    asked: Option<(Asked, Duration)>,
}

impl Drive {
    pub fn new(mut names: Names, path: &str) -> Result<Drive, VolumeFault> {
        let (channel, geometry) = connect_first(&mut names, path)?;
        Ok(Drive {
            path: path.into(),
            names,
            channel: Some(channel),
            geometry,
            cache: Cache::default(),
            lost: Lost::default(),
            identity: None,
            patience_until: Duration::ZERO,
            searching: false,
            asked: None,
        })
    }

    /// From now on only a disk with this file system is taken for the same.
    pub fn know(&mut self, identity: [u8; 16]) {
        self.identity = Some(identity);
    }

    /// A further channel to the same driver, or to its successor.
    pub fn further(&mut self) -> Result<Channel, Fault> {
        let begun = uptime();
        // Each successor may end, too, before it has answered.
        for _ in 0..LOSSES {
            if self.channel.is_some()
                && let Ok((channel, geometry)) = connect(&mut self.names, &self.path)
                && self.same(geometry)
            {
                return Ok(channel);
            }
            if uptime() > begun + 2 * patience() {
                break;
            }
            // The driver has gone, perhaps without a word on the channel that stands.
            self.search()?;
        }
        Err(Fault::Gone)
    }

    fn same(&self, geometry: Geometry) -> bool {
        geometry.bytes == self.geometry.bytes
            && geometry.sector == self.geometry.sector
            && geometry.most >= self.geometry.most
    }

    /// Requests are under way of which nobody knows what becomes: none is made before all of them
    /// have ended.
    pub fn leave(&mut self) {
        sing_sdk::log!("files: {}: the driver does not answer", self.path);
        self.channel = None;
    }

    /// Whether there is a channel: then all requests that were left have ended.
    pub const fn is_connected(&self) -> bool {
        self.channel.is_some()
    }

    /// The driver has gone, or is left: connects to it or its successor, for which it waits a
    /// bounded time. Then all requests that were made before have ended.
    pub fn search(&mut self) -> Result<(), Fault> {
        if self.searching {
            return Err(Fault::Gone);
        }
        self.channel = None;
        self.searching = true;
        let begun = uptime();
        let found = loop {
            if self.found() {
                break true;
            }
            // After a vain search, further requests do not wait as long again. A driver that does
            // not tell the geometry has been waited for already, and is looked after in the next.
            let silent = self.asked.is_some();
            if silent || uptime() > begun + RETURN || begun < self.patience_until {
                break false;
            }
            sing_sdk::time::sleep(LOOK);
        };
        self.searching = false;
        if found {
            return Ok(());
        }
        self.channel = None;
        self.patience_until = uptime() + RETURN;
        Err(Fault::Gone)
    }

    fn found(&mut self) -> bool {
        let asked = match self.asked.take() {
            Some(asked) => Ok(asked),
            None => begin(&mut self.names, &self.path).map(|asked| (asked, uptime())),
        };
        let Ok((asked, since)) = asked else {
            return false;
        };
        let left = (since + patience()).saturating_sub(uptime());
        let channel = match geometry(&self.path, asked, left) {
            Ok(Told::Geometry(channel, geometry)) if self.same(geometry) => channel,
            Ok(Told::Late(asked)) => {
                self.asked = Some((asked, since));
                return false;
            }
            _ => return false,
        };
        self.channel = Some(channel);
        let Some(identity) = self.identity else {
            return true;
        };
        let same = Store::probe(self).is_ok_and(|volume| volume.uuid == identity);
        if !same {
            self.channel = None;
        }
        same
    }

    /// The dirty blocks of a range of the disk are written to it. What the disk cannot write is
    /// lost, and told to everybody who has something open and syncs it, and to who unmounts.
    pub fn settle(&mut self, disk: u64, bytes: u64) -> Result<(), Fault> {
        let mut at = disk;
        let end = disk.saturating_add(bytes);
        let mut begun = None;
        while let Some(next) = self.settle_first(at, end)? {
            at = next;
            // A disk that takes long for each does not make the clients wait for all.
            if uptime() > *begun.get_or_insert_with(uptime) + 2 * patience() {
                return Err(Fault::Gone);
            }
        }
        Ok(())
    }

    /// All dirty blocks are written, or lost.
    pub fn settle_all(&mut self) -> Result<(), Fault> {
        self.settle(0, self.geometry.bytes)
    }

    /// A step of writing all dirty blocks from this place on; where the next one begins, if there
    /// is more. Blocks behind it may get dirty meanwhile: they are left to the next write-back.
    pub fn write_back(&mut self, from: u64) -> Result<Option<u64>, Fault> {
        let (mut at, begun) = (from, uptime());
        for _ in 0..RUNS {
            match self.settle_first(at, self.geometry.bytes)? {
                None => return Ok(None),
                Some(next) => at = next,
            }
            if uptime() > begun + STEP {
                break;
            }
        }
        Ok(Some(at))
    }

    /// Writes the first dirty blocks of a range that lie together; where they end.
    fn settle_first(&mut self, from: u64, end: u64) -> Result<Option<u64>, Fault> {
        let Some((at, run)) = self.cache.first_dirty(from, end) else {
            return Ok(None);
        };
        // Both are multiples of a block.
        let bytes = run.min(self.geometry.most);
        let data = Vector::from_bytes(self.cache.bytes(at, bytes)).map_err(short)?;
        match self.put(at, data) {
            Ok(()) => self.cache.cleaned(at, bytes),
            Err(fault @ (Fault::Gone | Fault::NoResources)) => return Err(fault),
            Err(fault) => {
                sing_sdk::log!(
                    "files: {}: {bytes} bytes at {at} are lost: {fault}",
                    self.path
                );
                self.lost = Lost {
                    count: self.lost.count + 1,
                    fault: Some(fault),
                };
                // What is read from now on is what the disk has.
                self.cache.forget(at, bytes as u64);
            }
        }
        Ok(Some(at + bytes as u64))
    }

    /// What was lost of the dirty blocks.
    pub const fn lost(&self) -> Lost {
        self.lost
    }

    /// Writes a block, which is at most as large as a request may be.
    fn put(&mut self, at: u64, data: Vector<u8>) -> Result<(), Fault> {
        let len = data.len();
        let mut data = data.into_block();
        // A driver that goes takes its view with it.
        let mut view = Some(data.share(0..len).map_err(short)?);
        let sector = at / self.geometry.sector;
        self.ask(|disk| {
            let lent = match view.take() {
                Some(view) => Ok(view),
                None => data.share(0..len),
            };
            let lent = match lent {
                Ok(lent) => Vector::from_block(lent),
                Err(error) => return Some((disk, Err(short(error)))),
            };
            let asked = disk.send_write(sector, lent, 0, len as u32);
            switch_receive! {
                case asked.Written(_block) as disk => Some((disk, Ok(()))),
                case asked.Failed(reason, _block) as disk => Some((disk, Err(fault(reason)))),
                case asked.ChannelClosed() => None,
                timeout patience() => None,
            }
        })
    }

    /// Reads bytes, at most [`PIECE`] of them: the sectors in which they are.
    fn fetch(&mut self, at: u64, part: &mut [u8]) -> Result<(), Fault> {
        let (from, end) = sectors(self.geometry.sector, at, part.len());
        let (skip, len) = ((at - from) as usize, (end - from) as usize);
        let sector = from / self.geometry.sector;
        // A block more than a request may have, if the place is not one of a sector.
        if len > self.geometry.most {
            let (first, last) = part.split_at_mut(part.len() / 2);
            self.fetch(at, first)?;
            return self.fetch(at + first.len() as u64, last);
        }
        let block = self.ask(|disk| {
            let block = match Vector::new(len) {
                Ok(block) => block,
                Err(error) => return Some((disk, Err(short(error)))),
            };
            let asked = disk.send_read(sector, block, 0, len as u32);
            switch_receive! {
                case asked.Data(block) as disk => Some((disk, Ok(block))),
                case asked.Failed(reason, _block) as disk => Some((disk, Err(fault(reason)))),
                case asked.ChannelClosed() => None,
                timeout patience() => None,
            }
        })?;
        if block.len() < len {
            return Err(Fault::Medium);
        }
        block.block().read(skip, part);
        Ok(())
    }

    /// Writes bytes, at most [`PIECE`] of them; the rest of their sectors stays. A sector is in one
    /// block, which nobody else writes now.
    fn overwrite(&mut self, at: u64, part: &[u8]) -> Result<(), Fault> {
        let (from, end) = sectors(self.geometry.sector, at, part.len());
        let len = (end - from) as usize;
        if len == part.len() {
            return self.put(at, Vector::from_bytes(part).map_err(short)?);
        }
        if len > self.geometry.most {
            let (first, last) = part.split_at(part.len() / 2);
            self.overwrite(at, first)?;
            return self.overwrite(at + first.len() as u64, last);
        }
        let mut whole = vec![0; len];
        self.fetch(from, &mut whole)?;
        let skip = (at - from) as usize;
        whole[skip..skip + part.len()].copy_from_slice(part);
        self.put(from, Vector::from_bytes(&whole).map_err(short)?)
    }

    /// Makes a request until a driver answers it or none comes back.
    fn ask<T>(
        &mut self,
        mut request: impl FnMut(Channel) -> Option<(Channel, Result<T, Fault>)>,
    ) -> Result<T, Fault> {
        let (begun, mut losses) = (uptime(), 0);
        loop {
            let channel = match self.channel.take() {
                Some(channel) => channel,
                None => {
                    self.search()?;
                    continue;
                }
            };
            if let Some((channel, outcome)) = request(channel) {
                self.channel = Some(channel);
                return outcome;
            }
            losses += 1;
            // Drivers that come back each time and never answer this are no use either.
            let late = uptime() > begun + 2 * patience();
            if self.searching || losses >= LOSSES || late {
                return Err(Fault::Gone);
            }
        }
    }
}

pub fn fault(fault: DiskFault) -> Fault {
    match fault {
        DiskFault::OutOfRange => Fault::OutOfRange,
        DiskFault::ReadOnly => Fault::ReadOnly,
        DiskFault::Medium => Fault::Medium,
        DiskFault::NoResources => Fault::NoResources,
    }
}

fn short(_: Error) -> Fault {
    Fault::NoResources
}

impl Disk for Drive {
    fn bytes(&self) -> u64 {
        self.geometry.bytes
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        self.settle(offset, buffer.len() as u64)?;
        let piece = PIECE.min(self.geometry.most);
        let mut at = offset;
        for part in buffer.chunks_mut(piece) {
            self.fetch(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Fault> {
        if self.geometry.read_only {
            return Err(Fault::ReadOnly);
        }
        // What is written may be a part of a dirty block.
        self.settle(offset, data.len() as u64)?;
        self.cache.forget(offset, data.len() as u64);
        let piece = PIECE.min(self.geometry.most);
        let mut at = offset;
        for part in data.chunks(piece) {
            self.overwrite(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Not the dirty blocks, which are written back before in steps: none is new in its file.
    fn flush(&mut self) -> Result<(), Fault> {
        self.ask(|disk| {
            let asked = disk.send_flush();
            switch_receive! {
                case asked.Flushed() as disk => Some((disk, Ok(()))),
                case asked.NotFlushed(reason) as disk => Some((disk, Err(fault(reason)))),
                case asked.ChannelClosed() => None,
                timeout patience() => None,
            }
        })
    }
}
