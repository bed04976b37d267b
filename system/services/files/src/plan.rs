//! The next step of a request that moves data: which run of blocks, and through whose block.

use crate::faults;
use crate::lanes::Op;
use crate::transfer::Busy;
use crate::volume::{Volume, now};
use sing_sdk::contracts::FileFault;
use sing_sdk::prelude::*;
use sing_store::{BLOCK, Reading, Writing};

/// A run that goes through this program's own block is this large at most.
pub const OWN: u64 = 64 << 10;
/// Zeros are written in pieces of this size.
const ZEROS: [u8; 512] = [0; 512];

/// What the disk is doing for a request.
pub enum Step {
    None,
    /// Filling the client's block: how many bytes, where they are on the disk, and the cache's
    /// epoch when the disk was asked.
    Fill(Reading, usize, u64, u64),
    /// Filling our own, for the cache, too.
    Fetch(Reading, Fetch),
    /// Reading what stands, so that a part of it can be changed.
    Old(Writing, Part),
    /// Writing so many bytes of the client's.
    Store(Writing, usize, bool, usize),
}

/// A run that is read through our own block.
pub struct Fetch {
    bytes: usize,
    /// What is asked for begins here.
    skip: usize,
    disk: u64,
    /// The cache's, when the disk was asked.
    epoch: u64,
}

/// The part of a run that is changed.
#[derive(Clone, Copy)]
pub struct Part {
    base: u64,
    bytes: usize,
    skip: usize,
    count: usize,
    disk: u64,
}

impl Step {
    /// Whether the disk has our own block.
    pub const fn own(&self) -> bool {
        matches!(
            self,
            Step::Fetch(_, _) | Step::Old(..) | Step::Store(_, _, true, _)
        )
    }

    /// The blocks that the disk may be writing, which stay away from all others, and from this
    /// request: it finds its blocks anew.
    pub fn withhold(&mut self) -> Option<Writing> {
        match core::mem::replace(self, Step::None) {
            Step::Store(writing, ..) => Some(writing),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The size of our own block.
    pub const fn own_len(&self) -> usize {
        match self {
            Step::Store(_, _, _, len) => *len,
            Step::Fetch(_, fetch) => fetch.bytes,
            Step::Old(_, part) => part.bytes,
            Step::Fill(..) | Step::None => 0,
        }
    }
}

fn zero(block: &mut Block, from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let len = ZEROS.len().min(to - at);
        block.write(at, &ZEROS[..len]);
        at += len;
    }
}

/// Where the next bytes are, and the run to ask for.
struct Next {
    at: u64,
    base: u64,
    place: usize,
    left: usize,
    want: u64,
    direct: bool,
}

impl Busy {
    fn next(&self, (most, sector): (usize, usize)) -> Next {
        let at = self.offset + self.done as u64;
        let (place, left) = (self.start + self.done, self.count - self.done);
        // Of a read at the end of the file, the rest of the last block has room, too.
        let room = if self.writes() {
            left
        } else {
            self.asked - self.done
        };
        let whole = (room as u64 / BLOCK * BLOCK).min((left as u64).next_multiple_of(BLOCK));
        if at.is_multiple_of(BLOCK) && place.is_multiple_of(sector) && whole > 0 {
            let (base, want) = (at, whole.min(most as u64));
            return Next {
                at,
                base,
                place,
                left,
                want,
                direct: true,
            };
        }
        let base = at / BLOCK * BLOCK;
        let end = (at + left as u64).next_multiple_of(BLOCK);
        // If the client's block fits behind the first one, that alone goes through ours.
        let first = (base + BLOCK - at) as usize;
        let fits = (place + first).is_multiple_of(sector) && left >= first + BLOCK as usize;
        let most = if fits && first < BLOCK as usize {
            BLOCK
        } else {
            OWN.min(most as u64)
        };
        let want = (end - base).min(most);
        Next {
            at,
            base,
            place,
            left,
            want,
            direct: false,
        }
    }
}

impl Volume {
    /// The next thing that the disk has to do; `None` if all has been done.
    pub fn plan(&mut self, busy: &mut Busy) -> Result<Option<Op>, FileFault> {
        if let Step::Old(..) = busy.step {
            return Ok(Some(overlaid(busy)));
        }
        self.prepare(busy)?;
        if busy.writes() {
            self.plan_write(busy)
        } else {
            self.plan_read(busy)
        }
    }

    /// The most bytes that the disk takes at once, and the bytes of its sectors.
    fn limits(&mut self) -> (usize, usize) {
        self.store
            .with_disk(|drive| (drive.geometry.most, drive.geometry.sector as usize))
    }

    fn plan_read(&mut self, busy: &mut Busy) -> Result<Option<Op>, FileFault> {
        let limits = self.limits();
        while busy.done < busy.count {
            let next = busy.next(limits);
            let node = busy.at.node;
            let reading = self
                .store
                .map(node, next.base, next.want, 1)
                .map_err(faults::file)?;
            let Some(piece) = reading.pieces.first().copied() else {
                // The file has become shorter meanwhile.
                self.store.done(reading);
                busy.count = busy.done;
                break;
            };
            let bytes = piece.bytes.min(next.want) as usize;
            let skip = (next.at - next.base) as usize;
            let count = bytes.saturating_sub(skip).min(next.left);
            let Some(disk) = piece.disk else {
                self.store.done(reading);
                if let Some(block) = busy.block.as_mut() {
                    zero(block, next.place, next.place + count);
                }
                busy.done += count;
                continue;
            };
            let known = (next.at - next.base) as usize;
            if self.cached(busy, disk + known as u64, next.place, count) {
                self.store.done(reading);
                busy.done += count;
                continue;
            }
            if let Err(fault) = self.settle(disk, bytes) {
                self.store.done(reading);
                return Err(fault);
            }
            let epoch = self.store.with_disk(|drive| drive.cache.epoch());
            if next.direct {
                busy.step = Step::Fill(reading, bytes, disk, epoch);
                let start = next.place;
                return Ok(Some(Op {
                    write: false,
                    disk,
                    start,
                    count: bytes,
                    own: false,
                }));
            }
            let first = (BLOCK as usize - skip).min(count);
            if self.cached(busy, disk + skip as u64, next.place, first) {
                self.store.done(reading);
                busy.done += first;
                continue;
            }
            busy.own = Block::new(bytes).ok();
            let fetch = Fetch {
                bytes,
                skip,
                disk,
                epoch,
            };
            busy.step = Step::Fetch(reading, fetch);
            return Ok(Some(Op {
                write: false,
                disk,
                start: 0,
                count: bytes,
                own: true,
            }));
        }
        Ok(None)
    }

    /// Fills a part of the client's block from the cache, if all of it is there.
    fn cached(&mut self, busy: &mut Busy, disk: u64, place: usize, count: usize) -> bool {
        let Some(block) = busy.block.as_mut() else {
            return false;
        };
        self.store
            .with_disk(|drive| drive.cache.read(disk, block, place, count))
    }

    /// The disk gets what the cache has for it of these blocks.
    fn settle(&mut self, disk: u64, bytes: usize) -> Result<(), FileFault> {
        let settled = self
            .store
            .with_disk(|drive| drive.settle(disk, bytes as u64));
        settled.map_err(|fault| faults::file(fault.into()))
    }

    fn plan_write(&mut self, busy: &mut Busy) -> Result<Option<Op>, FileFault> {
        if busy.done >= busy.count {
            return Ok(None);
        }
        let limits = self.limits();
        let next = busy.next(limits);
        let node = busy.at.node;
        let writing = self.change(|v| v.store.prepare_write(node, next.base, next.want, 1))?;
        let piece = writing.pieces.first().copied();
        let Some((piece, disk)) = piece.and_then(|p| p.disk.map(|d| (p, d))) else {
            self.store.abandon(writing);
            return Err(FileFault::NoSpace);
        };
        let bytes = piece.bytes.min(next.want) as usize;
        if let Err(fault) = self.settle(disk, bytes) {
            self.store.abandon(writing);
            return Err(fault);
        }
        self.store
            .with_disk(|drive| drive.cache.forget(disk, bytes as u64));
        if next.direct {
            busy.step = Step::Store(writing, bytes, false, 0);
            let start = next.place;
            return Ok(Some(Op {
                write: true,
                disk,
                start,
                count: bytes,
                own: false,
            }));
        }
        let skip = (next.at - next.base) as usize;
        let count = (bytes - skip).min(next.left);
        let part = Part {
            base: next.base,
            bytes,
            skip,
            count,
            disk,
        };
        busy.own = Block::new(bytes).ok();
        busy.step = Step::Old(writing, part);
        if piece.fresh || skip == 0 && count == bytes {
            return Ok(Some(overlaid(busy)));
        }
        Ok(Some(Op {
            write: false,
            disk,
            start: 0,
            count: bytes,
            own: true,
        }))
    }

    /// The disk has done its part of a step.
    pub fn stepped(&mut self, busy: &mut Busy) -> Result<(), FileFault> {
        match core::mem::replace(&mut busy.step, Step::None) {
            Step::None => Ok(()),
            Step::Fill(reading, bytes, disk, epoch) => {
                self.store.done(reading);
                let count = bytes.min(busy.count - busy.done);
                // What the disk has behind the end of the file is nobody's business.
                let place = busy.start + busy.done;
                if let Some(block) = busy.block.as_mut() {
                    let part = (&*block, place, bytes);
                    self.store
                        .with_disk(|drive| drive.cache.keep(disk, part, false, epoch));
                    zero(block, place + count, place + bytes);
                }
                busy.done += count;
                Ok(())
            }
            Step::Fetch(reading, fetch) => {
                self.store.done(reading);
                let (bytes, skip, disk) = (fetch.bytes, fetch.skip, fetch.disk);
                if let Some(own) = &busy.own {
                    self.store.with_disk(|drive| {
                        drive.cache.keep(disk, (own, 0, bytes), true, fetch.epoch)
                    });
                }
                let count = (bytes - skip).min(busy.count - busy.done);
                let place = busy.start + busy.done;
                if let (Some(own), Some(block)) = (busy.own.take(), busy.block.as_mut()) {
                    let mut copy = vec![0; count];
                    own.read(skip, &mut copy);
                    block.write(place, &copy);
                }
                busy.done += count;
                Ok(())
            }
            Step::Old(writing, part) => {
                // Behind the end of the file there may be what it had before it became shorter.
                let known = self.store.attributes(busy.at.node).map_err(faults::file);
                let size = match known {
                    Ok(known) => known.size,
                    Err(fault) => {
                        self.store.abandon(writing);
                        return Err(fault);
                    }
                };
                let inside = size.saturating_sub(part.base).min(part.bytes as u64) as usize;
                if let Some(own) = busy.own.as_mut() {
                    zero(own, inside, part.bytes);
                }
                busy.step = Step::Old(writing, part);
                Ok(())
            }
            Step::Store(writing, count, through_own, _) => {
                let own = busy.own.take();
                for piece in &writing.pieces {
                    // A read beside the write may have seen what was there before.
                    let (disk, bytes) = (piece.disk.unwrap_or(0), piece.bytes);
                    self.store
                        .with_disk(|drive| drive.cache.forget(disk, bytes));
                }
                if let Some(piece) = writing.pieces.first()
                    && let Some(disk) = piece.disk
                {
                    let (block, place, bytes) = if through_own {
                        (own.as_ref(), 0, own.as_ref().map_or(0, Block::len))
                    } else {
                        (busy.block.as_ref(), busy.start + busy.done, count)
                    };
                    self.store.with_disk(|drive| {
                        let epoch = drive.cache.epoch();
                        if let Some(block) = block {
                            drive.cache.keep(disk, (block, place, bytes), false, epoch);
                        }
                    });
                }
                let end = busy.offset + (busy.done + count) as u64;
                let outcome = self.store.written(writing, end, now());
                self.changed();
                outcome.map_err(faults::file)?;
                busy.done += count;
                Ok(())
            }
        }
    }

    /// Gives back what a step has of the store.
    pub fn cancel(&mut self, busy: &mut Busy) {
        match core::mem::replace(&mut busy.step, Step::None) {
            Step::None => {}
            Step::Fill(reading, ..) | Step::Fetch(reading, _) => self.store.done(reading),
            Step::Old(writing, _) => self.store.abandon(writing),
            Step::Store(writing, ..) => self.undone(writing),
        }
    }

    /// A write that has ended, or cannot be done any more, without success. A read beside it may have
    /// seen what was there before, and it may have been done all the same.
    pub fn undone(&mut self, writing: Writing) {
        for piece in &writing.pieces {
            if let Some(disk) = piece.disk {
                let bytes = piece.bytes;
                self.store.with_disk(|drive| drive.cache.doubt(disk, bytes));
            }
        }
        self.store.abandon(writing);
    }
}

/// Puts the client's bytes over what stands, or over zeros; the run is to be written then.
fn overlaid(busy: &mut Busy) -> Op {
    let step = core::mem::replace(&mut busy.step, Step::None);
    let Step::Old(writing, part) = step else {
        busy.step = step;
        return Op {
            write: false,
            disk: 0,
            start: 0,
            count: 0,
            own: true,
        };
    };
    let mut copy = vec![0; part.count];
    if let (Some(own), Some(block)) = (busy.own.as_mut(), busy.block.as_ref()) {
        block.read(busy.start + busy.done, &mut copy);
        own.write(part.skip, &copy);
    }
    let (disk, count) = (part.disk, part.bytes);
    busy.step = Step::Store(writing, part.count, true, part.bytes);
    Op {
        write: true,
        disk,
        start: 0,
        count,
        own: true,
    }
}
