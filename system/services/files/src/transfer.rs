//! Data on its way between clients and the disk.
//!
//! A request goes in steps, each with one run of blocks that lie together. Where place in the file,
//! place in the client's block and length fit, that block itself moves to the driver and back; else
//! the run goes through a block of this program's own. Between steps others have their turns.
//!
//! Invariants:
//! - Writes of one file whose blocks overlap, appends and changes of size happen one after the
//!   other, in the order in which they came.
//! - Blocks of the disk are asked of the store when a channel is free, and given back when the disk
//!   has answered: nobody else gets them while it works on them.
//! - What a driver that dies was working on is begun again with its successor.

use crate::volume::{At, Client, Volume, now};
use crate::{faults, plan};
use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::contracts::{DiskContract, FileContract, FileFault};
use sing_sdk::prelude::*;
use sing_sdk::share::SYSTEM;
use sing_sdk::time::{Timeout, uptime};
use sing_store::{BLOCK, NodeId, SECTOR};

/// A channel to the disk's driver.
pub enum Lane {
    Idle(crate::drive::Channel),
    Reading(DiskContract::Imp<DiskContract::Ready_Read>, u32),
    Writing(DiskContract::Imp<DiskContract::Ready_Write>, u32),
}

/// Where the answer goes.
pub enum Reply {
    Read(FileContract::Exp<FileContract::Ready_Read>),
    Write(FileContract::Exp<FileContract::Ready_Write>),
    Append(FileContract::Exp<FileContract::Ready_Append>),
    SetSize(FileContract::Exp<FileContract::Ready_SetSize>, u64),
    /// The client has gone.
    Gone,
}

/// A request that moves data.
pub struct Busy {
    pub reply: Reply,
    pub at: At,
    /// The client's block, while it is here.
    pub block: Option<Block>,
    /// Its size, for another in its place if it is lost with a driver.
    len: usize,
    pub offset: u64,
    pub start: usize,
    /// Bytes to be moved; of a read, those of the file.
    pub count: usize,
    /// Bytes of the client's block that may be filled.
    pub asked: usize,
    pub done: usize,
    pub step: plan::Step,
    /// This program's own block of a run that does not fit.
    pub own: Option<Block>,
    /// A view of the block that is being written: a driver that dies takes the other.
    kept: Option<Block>,
    writes: bool,
}

impl Busy {
    /// A request on a part of the client's block: where it starts, how many bytes of it are to be
    /// moved, and how many were asked for.
    pub fn new(
        reply: Reply,
        at: At,
        block: Block,
        offset: u64,
        (start, count, asked): (usize, usize, usize),
    ) -> Busy {
        let len = block.len();
        let writes = !matches!(reply, Reply::Read(_));
        Busy {
            reply,
            at,
            block: Some(block),
            len,
            offset,
            start,
            count,
            asked,
            done: 0,
            step: plan::Step::None,
            own: None,
            kept: None,
            writes,
        }
    }

    /// A change of size.
    pub fn resize(
        reply: FileContract::Exp<FileContract::Ready_SetSize>,
        at: At,
        bytes: u64,
    ) -> Busy {
        Busy {
            reply: Reply::SetSize(reply, bytes),
            at,
            block: None,
            len: 0,
            offset: 0,
            start: 0,
            count: 0,
            asked: 0,
            done: 0,
            step: plan::Step::None,
            own: None,
            kept: None,
            writes: true,
        }
    }

    /// Its client has closed the channel.
    pub fn withdraw(&mut self) {
        self.reply = Reply::Gone;
    }

    fn gone(&self) -> bool {
        matches!(self.reply, Reply::Gone)
    }

    pub const fn writes(&self) -> bool {
        self.writes
    }

    /// The blocks of the file that it changes.
    fn range(&self) -> (u64, u64) {
        match self.reply {
            Reply::Append(_) | Reply::SetSize(..) | Reply::Gone => (0, u64::MAX),
            _ => {
                let end = self.offset + self.count as u64;
                (self.offset / BLOCK * BLOCK, end.next_multiple_of(BLOCK))
            }
        }
    }
}

/// Writes of one file.
#[derive(Default)]
pub struct Ranges {
    active: Vec<(u32, u64, u64)>,
    waiting: VecDeque<u32>,
}

impl Ranges {
    fn free(&self, (from, to): (u64, u64)) -> bool {
        !self.active.iter().any(|(_, a, b)| from < *b && *a < to)
    }
}

/// What the disk is asked.
pub struct Op {
    pub write: bool,
    pub disk: u64,
    pub start: usize,
    pub count: usize,
    /// With this program's own block.
    pub own: bool,
}

impl Volume {
    /// Begins a request.
    pub fn begin(&mut self, number: u32, busy: Busy) {
        let (node, writes, range) = (busy.at.node, busy.writes, busy.range());
        self.slots.put(number, Client::Busy(Box::new(busy)));
        if !writes {
            return self.wait_for_disk(number);
        }
        let ranges = self.ranges.entry(node).or_default();
        if ranges.waiting.is_empty() && ranges.free(range) {
            ranges.active.push((number, range.0, range.1));
            self.start(number);
        } else {
            ranges.waiting.push_back(number);
        }
    }

    fn wait_for_disk(&mut self, number: u32) {
        let origin = self.slots.origin(number).unwrap_or(SYSTEM);
        self.queue.push(origin, number);
    }

    fn take_busy(&mut self, number: u32) -> Option<Box<Busy>> {
        match self.slots.take(number)? {
            Client::Busy(busy) => Some(busy),
            other => {
                self.slots.put(number, other);
                None
            }
        }
    }

    /// Starts a write, all before it that overlap having ended.
    fn start(&mut self, number: u32) {
        let Some(mut busy) = self.take_busy(number) else {
            return;
        };
        match &busy.reply {
            Reply::Append(_) => match self.store.attributes(busy.at.node) {
                Ok(known) => busy.offset = known.size,
                Err(error) => return self.finish(number, *busy, Err(faults::file(error))),
            },
            Reply::SetSize(_, bytes) => {
                let (node, bytes) = (busy.at.node, *bytes);
                self.tidying = true;
                let outcome = self.change(|v| v.store.set_size(node, bytes, now()).map(drop));
                return self.finish(number, *busy, outcome);
            }
            _ => {}
        }
        self.slots.put(number, Client::Busy(busy));
        self.wait_for_disk(number);
    }

    /// Answers a request, and starts those that waited for it.
    fn finish(&mut self, number: u32, mut busy: Busy, outcome: Result<(), FileFault>) {
        let (node, at, done) = (busy.at.node, busy.at, busy.done as u32);
        let writes = busy.writes;
        // What has been written before the disk was full is told as such.
        let outcome = match outcome {
            Err(FileFault::NoSpace) if done > 0 => Ok(()),
            other => other,
        };
        if !writes || !matches!(busy.reply, Reply::SetSize(..)) {
            let replacement = || Block::new(busy.len).ok();
            busy.block = busy.block.take().or_else(replacement);
        }
        let next = match (busy.reply, busy.block.map(Vector::from_block), outcome) {
            (Reply::Read(file), Some(block), Ok(())) => Some(file.send_data(block, done)),
            (Reply::Write(file), Some(block), Ok(())) => Some(file.send_written(block, done)),
            (Reply::Append(file), Some(block), Ok(())) => {
                Some(file.send_appended(block, done, busy.offset))
            }
            (Reply::Read(file), Some(block), Err(fault)) => Some(file.send_refused(fault, block)),
            (Reply::Write(file), Some(block), Err(fault)) => Some(file.send_refused(fault, block)),
            (Reply::Append(file), Some(block), Err(fault)) => Some(file.send_refused(fault, block)),
            (Reply::SetSize(file, _), _, Ok(())) => Some(file.send_done()),
            (Reply::SetSize(file, _), _, Err(fault)) => Some(file.send_failed(fault)),
            // The client has gone, or there is no block to give back.
            _ => None,
        };
        match next {
            Some(file) => self.slots.put(number, Client::File(file, at)),
            None => self.close(number, at),
        }
        if writes {
            self.changed();
            self.written(number, node);
        }
    }

    /// A write has ended.
    fn written(&mut self, number: u32, node: NodeId) {
        let Some(ranges) = self.ranges.get_mut(&node) else {
            return;
        };
        ranges.active.retain(|(active, ..)| *active != number);
        ranges.waiting.retain(|waiting| *waiting != number);
        while let Some(next) = self
            .ranges
            .get(&node)
            .and_then(|r| r.waiting.front().copied())
        {
            let wanted = match self.slots.get(next) {
                Some(Client::Busy(busy)) => busy.range(),
                _ => (0, 0),
            };
            let Some(ranges) = self.ranges.get_mut(&node) else {
                return;
            };
            if !ranges.free(wanted) {
                return;
            }
            ranges.waiting.pop_front();
            ranges.active.push((next, wanted.0, wanted.1));
            self.start(next);
        }
        if self.ranges.get(&node).is_some_and(|r| r.active.is_empty()) {
            self.ranges.remove(&node);
        }
    }

    /// Opens channels to the driver, as many as there shall be.
    pub fn connect(&mut self, lanes: usize) -> Result<(), FileFault> {
        while self.lanes.len() < lanes {
            let Ok(channel) = self.store.with_disk(|drive| drive.further()) else {
                break;
            };
            let lane = self
                .slots
                .insert(SYSTEM, channel, |c| Client::Lane(Lane::Idle(c)));
            let Ok(number) = lane else { break };
            self.lanes.push(number);
            self.idle.push(number);
        }
        if self.lanes.is_empty() {
            return Err(FileFault::Medium);
        }
        Ok(())
    }

    /// Gives waiting requests to free channels.
    pub fn issue(&mut self) {
        while !self.queue.is_empty() {
            if self.lanes.is_empty() && self.revive().is_err() {
                while let Some(number) = self.queue.pop() {
                    if let Some(busy) = self.take_busy(number) {
                        self.finish(number, *busy, Err(FileFault::Medium));
                    }
                }
                return;
            }
            let Some(lane) = self.idle.pop() else { return };
            let busy = self
                .queue
                .pop()
                .and_then(|n| self.take_busy(n).map(|b| (n, b)));
            let Some((number, mut busy)) = busy else {
                self.idle.push(lane);
                continue;
            };
            let planned = if busy.gone() {
                Ok(None)
            } else {
                self.plan(&mut busy)
            };
            match planned {
                Ok(Some(op)) => self.send(lane, number, busy, op),
                Ok(None) => {
                    self.idle.push(lane);
                    self.finish(number, *busy, Ok(()));
                }
                Err(fault) => {
                    self.idle.push(lane);
                    self.finish(number, *busy, Err(fault));
                }
            }
        }
    }

    /// All channels to the driver have been closed: looks for its successor.
    fn revive(&mut self) -> Result<(), FileFault> {
        let lanes = self.store.with_disk(|drive| {
            let found = drive.search();
            found.map(|()| drive.geometry.parallel.clamp(2, 16))
        });
        self.connect(lanes.map_err(|_| FileFault::Medium)? as usize)
    }

    /// Moves a block to the driver.
    fn send(&mut self, lane: u32, number: u32, mut busy: Box<Busy>, op: Op) {
        let mut block = if op.own {
            busy.own.take()
        } else {
            busy.block.take()
        };
        if op.write {
            busy.kept = block.as_mut().and_then(|b| b.share(0..b.len()).ok());
        }
        let Some(Client::Lane(Lane::Idle(channel))) = self.slots.take(lane) else {
            return;
        };
        let Some(block) = block.map(Vector::from_block) else {
            self.slots.put(lane, Client::Lane(Lane::Idle(channel)));
            self.idle.push(lane);
            self.cancel(&mut busy);
            return self.finish(number, *busy, Err(FileFault::NoResources));
        };
        let (sector, start, count) = (op.disk / SECTOR, op.start as u32, op.count as u32);
        let lane_now = if op.write {
            Lane::Writing(channel.send_write(sector, block, start, count), number)
        } else {
            Lane::Reading(channel.send_read(sector, block, start, count), number)
        };
        self.slots.put(lane, Client::Lane(lane_now));
        self.slots.put(number, Client::Busy(busy));
    }

    /// The driver has answered, or has gone.
    pub fn answered(&mut self, lane: u32, state: Lane) {
        use DiskContract::imp::{Ready_Read, Ready_Write};
        let (number, channel, outcome) = match state {
            Lane::Idle(_) => return self.lose(lane),
            Lane::Reading(asked, number) => match asked.recv() {
                Ready_Read::Data(block, next) => (number, Some(next), Ok(block)),
                Ready_Read::Failed(reason, block, next) => (
                    number,
                    Some(next),
                    Err((crate::drive::fault(reason), block)),
                ),
                Ready_Read::Closed => return self.again(lane, number),
            },
            Lane::Writing(asked, number) => match asked.recv() {
                Ready_Write::Written(block, next) => (number, Some(next), Ok(block)),
                Ready_Write::Failed(reason, block, next) => (
                    number,
                    Some(next),
                    Err((crate::drive::fault(reason), block)),
                ),
                Ready_Write::Closed => return self.again(lane, number),
            },
        };
        if let Some(channel) = channel {
            self.slots.put(lane, Client::Lane(Lane::Idle(channel)));
            self.idle.push(lane);
        }
        let Some(mut busy) = self.take_busy(number) else {
            return;
        };
        let (block, fault) = match outcome {
            Ok(block) => (block, None),
            Err((fault, block)) => (block, Some(faults::file(fault.into()))),
        };
        let whole = self.take_back(&mut busy, block.into_block());
        let outcome = match fault {
            Some(fault) => Err(fault),
            None if !whole => Err(FileFault::Medium),
            None => self.stepped(&mut busy),
        };
        match outcome {
            Ok(()) if !busy.gone() => {
                if busy.done >= busy.count && matches!(busy.step, plan::Step::None) {
                    return self.finish(number, *busy, Ok(()));
                }
                self.slots.put(number, Client::Busy(busy));
                self.wait_for_disk(number);
            }
            other => {
                self.cancel(&mut busy);
                self.finish(number, *busy, other);
            }
        }
    }

    /// Takes a block back from the driver; whether it is the one that was given, writable.
    fn take_back(&mut self, busy: &mut Busy, block: Block) -> bool {
        let written = busy.kept.take();
        let own = busy.step.own();
        let expected = if own { busy.step.own_len() } else { busy.len };
        let mut block = match written {
            // The driver's view goes; this one is the block again.
            Some(kept) => {
                drop(block);
                kept
            }
            None => block,
        };
        // A client's block that was shared before stays so, and can be written to the disk.
        let writable = block.unshare().is_ok() || busy.writes && !own;
        let whole = block.len() == expected && writable;
        if !whole {
            // Not what was lent: finish gives the client another.
            return false;
        }
        *(if own { &mut busy.own } else { &mut busy.block }) = Some(block);
        true
    }

    /// A channel has been closed while it had a request, which begins its step again.
    fn again(&mut self, lane: u32, number: u32) {
        self.lose(lane);
        let Some(mut busy) = self.take_busy(number) else {
            return;
        };
        let own = busy.step.own();
        self.cancel(&mut busy);
        let kept = busy.kept.take();
        if !own {
            let len = busy.len;
            busy.block = match kept {
                Some(mut kept) => {
                    // The dead driver's view goes with it.
                    let _ = kept.unshare();
                    Some(kept)
                }
                // What was filled before is read again.
                None => {
                    busy.done = 0;
                    Block::new(len).ok()
                }
            };
        }
        busy.own = None;
        if busy.block.is_none() {
            return self.finish(number, *busy, Err(FileFault::NoResources));
        }
        self.slots.put(number, Client::Busy(busy));
        self.wait_for_disk(number);
    }

    fn lose(&mut self, lane: u32) {
        self.slots.remove(lane);
        self.lanes.retain(|n| *n != lane);
        self.idle.retain(|n| *n != lane);
    }

    /// Lets the disk finish what it is working on, before the store is given up.
    pub fn drain(&mut self) {
        let until = uptime() + Duration::from_secs(10);
        while self.queue.pop().is_some() {}
        while self.idle.len() < self.lanes.len() && uptime() < until {
            let left = Timeout::from(until.saturating_sub(uptime()));
            let Ok(number) = self.slots.wait(left) else {
                return;
            };
            match self.slots.take(number) {
                Some(Client::Lane(lane)) => self.answered(number, lane),
                // Nobody else is served any more.
                Some(_) => drop(self.slots.remove(number)),
                None => {}
            }
            while self.queue.pop().is_some() {}
        }
    }
}
