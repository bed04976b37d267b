//! Data on its way between clients and the disk.
//!
//! A request goes in steps, each with one run of blocks that lie together. Where place in the file,
//! place in the client's block and length fit, that block itself moves to the driver and back; else
//! the run goes through a block of this program's own (`plan.rs`). Between steps others have their
//! turns at the disk's driver (`lanes.rs`).
//!
//! Invariants:
//! - Writes of one file whose blocks overlap, appends and changes of size happen one after the
//!   other, in the order in which they came. A write beyond the end has the blocks from the end on.
//! - Blocks of the disk are asked of the store when a channel is free, and given back when the disk
//!   has answered: nobody else gets them while it works on them.

use crate::loan::Loan;
use crate::volume::{At, Client, Volume, now};
use crate::{faults, plan};
use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::contracts::{FileContract, FileFault};
use sing_sdk::prelude::*;
use sing_sdk::share::SYSTEM;
use sing_store::{BLOCK, NodeId};

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
    pub len: usize,
    pub offset: u64,
    pub start: usize,
    /// Bytes to be moved; of a read, those of the file.
    pub count: usize,
    /// Bytes of the client's block that may be filled.
    pub asked: usize,
    pub done: usize,
    /// The most that was ever done: a read begins anew when a driver takes its block with it.
    furthest: usize,
    pub step: plan::Step,
    /// This program's own block of a run that does not fit.
    pub own: Option<Block>,
    /// A view of the block that is being written: a driver that dies takes the other.
    pub kept: Option<Block>,
    /// How many drivers have gone while they had it, and which was the last.
    pub losses: u32,
    pub lost_by: Option<u32>,
    /// Since when it has been lost without a step forward.
    pub lost_since: Option<Duration>,
    writes: bool,
    /// For this program's own block.
    run: Option<Loan>,
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
            furthest: 0,
            step: plan::Step::None,
            own: None,
            kept: None,
            losses: 0,
            lost_by: None,
            lost_since: None,
            writes,
            run: None,
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
            furthest: 0,
            step: plan::Step::None,
            own: None,
            kept: None,
            losses: 0,
            lost_by: None,
            lost_since: None,
            writes: true,
            run: None,
        }
    }

    /// A step has been done. Only one that comes further than all before it makes the losses
    /// forgotten: a driver that fails in one place would otherwise be tried without end.
    pub fn advanced(&mut self) {
        if self.done > self.furthest {
            self.furthest = self.done;
            self.losses = 0;
            self.lost_by = None;
            self.lost_since = None;
        }
    }

    /// Its client has closed the channel.
    pub fn withdraw(&mut self) {
        self.reply = Reply::Gone;
    }

    pub const fn gone(&self) -> bool {
        matches!(self.reply, Reply::Gone)
    }

    pub const fn writes(&self) -> bool {
        self.writes
    }

    /// The blocks that it changes of a file of this size. A write beyond the end fills the block
    /// of the end with zeros, and all that lies between is made by it.
    fn range(&self, size: u64) -> (u64, u64) {
        match self.reply {
            Reply::Append(_) | Reply::SetSize(..) | Reply::Gone => (0, u64::MAX),
            _ => {
                let from = self.offset.min(size) / BLOCK * BLOCK;
                let end = self.offset + self.count as u64;
                (from, end.next_multiple_of(BLOCK))
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

impl Volume {
    /// The size of a file for the blocks that a write owns; where it cannot be told, those from
    /// the beginning on.
    fn size(&mut self, node: NodeId) -> u64 {
        self.store.attributes(node).map_or(0, |known| known.size)
    }

    /// Begins a request.
    pub fn begin(&mut self, number: u32, mut busy: Busy) {
        let (node, writes) = (busy.at.node, busy.writes);
        if busy.block.is_some() {
            busy.run = self.lend_run(number, busy.len);
            if busy.run.is_none() {
                return self.finish(number, busy, Err(FileFault::NoResources));
            }
        }
        if !writes {
            self.slots.put(number, Client::Busy(Box::new(busy)));
            return self.wait_for_disk(number);
        }
        let range = busy.range(self.size(node));
        self.slots.put(number, Client::Busy(Box::new(busy)));
        let ranges = self.ranges.entry(node).or_default();
        if ranges.waiting.is_empty() && ranges.free(range) {
            ranges.active.push((number, range.0, range.1));
            self.wait_for_disk(number);
        } else {
            ranges.waiting.push_back(number);
        }
    }

    pub fn wait_for_disk(&mut self, number: u32) {
        let origin = self.slots.origin(number).unwrap_or(SYSTEM);
        self.queue.push(origin, number);
    }

    pub fn take_busy(&mut self, number: u32) -> Option<Box<Busy>> {
        match self.slots.take(number)? {
            Client::Busy(busy) => Some(busy),
            other => {
                self.slots.put(number, other);
                None
            }
        }
    }

    /// What an append or a change of size does before any data moves, all writes before it having
    /// ended. Not done as soon as they end: a line of waiting changes would be one deep call.
    pub fn prepare(&mut self, busy: &mut Busy) -> Result<(), FileFault> {
        let node = busy.at.node;
        match busy.reply {
            Reply::Append(_) if busy.done == 0 => {
                busy.offset = self.store.attributes(node).map_err(faults::file)?.size;
                Ok(())
            }
            Reply::SetSize(_, bytes) => {
                self.tidying = true;
                self.change(|v| v.store.set_size(node, bytes, now()).map(drop))
            }
            _ => Ok(()),
        }
    }

    /// Answers a request, and starts those that waited for it.
    pub fn finish(&mut self, number: u32, mut busy: Busy, outcome: Result<(), FileFault>) {
        // A client that went in the middle of a step has left what the store gave for it.
        self.cancel(&mut busy);
        let (node, at, done) = (busy.at.node, busy.at, busy.done as u32);
        let writes = busy.writes;
        if writes {
            self.changed();
        }
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
            // The writes before it may have moved the end.
            let size = self.size(node);
            let wanted = match self.slots.get(next) {
                Some(Client::Busy(busy)) => busy.range(size),
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
            self.wait_for_disk(next);
        }
        if self.ranges.get(&node).is_some_and(|r| r.active.is_empty()) {
            self.ranges.remove(&node);
        }
    }
}
