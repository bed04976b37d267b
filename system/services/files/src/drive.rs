//! A disk driver, found by name: the store's own requests, and further channels for file data.
//!
//! Invariants:
//! - What was answered is on the disk, or dirty in the cache; what was dirty when a sync was asked
//!   for is on the disk when it is answered ([`Drive::write_back`]).
//! - No wait is longer than [`PATIENCE`] for an answer, and [`RETURN`] for a driver to come back; a
//!   request is given up after [`LOSSES`] drivers or twice [`PATIENCE`].
//! - After a driver has died, requests go to the next one under the same name, if it serves the
//!   same disk: its size is the same, and so is the identity of the file system on it.

use crate::cache::Cache;
use core::time::Duration;
use sing_sdk::contracts::{DiskContract, NamespaceContract, VolumeFault};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_store::{BLOCK, Disk, DiskFault as Fault, SECTOR, Store};

pub type Channel = DiskContract::Imp<DiskContract::Ready>;

/// How long an answer may take: a disk that spins up takes seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// A request that so many drivers have lost is given up.
const LOSSES: u32 = 16;
/// How long a name server or a driver may take to connect.
const CONNECT: Duration = Duration::from_secs(2);
/// How long a dead driver's successor is waited for.
const RETURN: Duration = Duration::from_secs(5);
/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(20);
/// The store's own requests are this large at most.
const PIECE: usize = 64 << 10;

/// One step of a write-back has so many requests at most, and none begins after this time.
const RUNS: usize = 32;
const STEP: Duration = Duration::from_millis(10);

/// A disk as it presents itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub bytes: u64,
    pub read_only: bool,
    pub parallel: u32,
    pub most: usize,
    /// Bytes of a sector: a power of two, and at most a block.
    pub sector: u64,
}

/// The whole sectors in which so many bytes from a place on lie: where they begin and end.
const fn sectors(sector: u64, at: u64, bytes: usize) -> (u64, u64) {
    let end = at + bytes as u64;
    (at - at % sector, end.next_multiple_of(sector))
}

/// Why there is no connection.
enum Vain {
    /// Driver or name server ended meanwhile: there may be one with the successor.
    Ended,
    Fault(VolumeFault),
}

impl From<VolumeFault> for Vain {
    fn from(fault: VolumeFault) -> Vain {
        Vain::Fault(fault)
    }
}

impl From<Error> for Vain {
    fn from(error: Error) -> Vain {
        match error {
            Error::Closed => Vain::Ended,
            _ => Vain::Fault(VolumeFault::NoResources),
        }
    }
}

/// Connects to the driver under a path.
fn connect(names: &mut Names, path: &str) -> Result<(Channel, Geometry), Vain> {
    // A connection of its own: one on which a bind hangs is given up.
    let names = names.connect()?.recv_success().map_err(Error::from)?;
    let (disk, exp) = DiskContract::new_channel()?;
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(path)?, 0, exp.into());
    switch_receive! {
        case binding.AckBind() as _ => {}
        case binding.NakBind(reason, _exp) as _ => return Err(Vain::Fault(match reason {
            // The name server has just been started again: names are missing that come back.
            Refusal::Again => return Err(Vain::Ended),
            Refusal::NoResources => VolumeFault::NoResources,
            _ => VolumeFault::NotFound,
        })),
        case binding.ChannelClosed() => return Err(Vain::Ended),
        timeout CONNECT => return Err(VolumeFault::NotFound.into()),
    }
    let disk = switch_receive! {
        case disk.Success() as ready => ready,
        case disk.ChannelClosed() => return Err(Vain::Ended),
        timeout CONNECT => return Err(VolumeFault::Medium.into()),
    };
    let asked = disk.send_get_geometry();
    switch_receive! {
        case asked.Geometry(sectors, sector_bytes, read_only, parallel, most) as disk => {
            let sector = u64::from(sector_bytes);
            let bytes = sectors.checked_mul(sector).ok_or(VolumeFault::BadSize)?;
            let most = most as usize / BLOCK as usize * BLOCK as usize;
            // A block is whole sectors, so that no sector is in two of them.
            if !sector.is_power_of_two() || !(SECTOR..=BLOCK).contains(&sector) || most == 0 {
                sing_sdk::log!(
                    "files: {path}: sectors of {sector} bytes, up to {most} bytes at once: there can be \
                     a file system on disks with sectors of {SECTOR} to {BLOCK} bytes that take {BLOCK} at once"
                );
                return Err(VolumeFault::BadSize.into());
            }
            Ok((disk, Geometry { bytes, read_only, parallel, most, sector }))
        }
        case asked.ChannelClosed() => Err(Vain::Ended),
        // The driver answers when requests of those that came before have ended, and those may be
        // slow.
        timeout PATIENCE => Err(VolumeFault::Medium.into()),
    }
}

/// Connects to the driver under a path, or to one of its successors if it ends meanwhile.
fn connect_first(names: &mut Names, path: &str) -> Result<(Channel, Geometry), VolumeFault> {
    let until = uptime() + RETURN;
    loop {
        match connect(names, path) {
            Ok(connected) => return Ok(connected),
            Err(Vain::Fault(fault)) => return Err(fault),
            Err(Vain::Ended) if uptime() > until => return Err(VolumeFault::Medium),
            Err(Vain::Ended) => sing_sdk::time::sleep(LOOK),
        }
    }
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
            if uptime() > begun + 2 * PATIENCE {
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

    /// The driver has gone: connects to its successor, for which it waits a bounded time.
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
            // After a vain search, further requests do not wait as long again.
            if uptime() > begun + RETURN || begun < self.patience_until {
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
        let Ok((channel, geometry)) = connect(&mut self.names, &self.path) else {
            return false;
        };
        if !self.same(geometry) {
            return false;
        }
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
            if uptime() > *begun.get_or_insert_with(uptime) + 2 * PATIENCE {
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
                timeout PATIENCE => None,
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
                timeout PATIENCE => None,
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
            let late = uptime() > begun + 2 * PATIENCE;
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
                timeout PATIENCE => None,
            }
        })
    }
}
