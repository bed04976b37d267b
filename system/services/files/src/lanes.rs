//! The channels to the disk's driver: which request each works on, and what becomes of the requests
//! when the driver goes.
//!
//! Invariants:
//! - A channel carries one request; a block is at the driver, or here, and never at both.
//! - What a driver that dies was working on is begun again with its successor.
//! - Blocks of a write that was not answered in time are nobody else's before it has ended: none is
//!   given away, and nothing goes to the disk, until the driver or its successor has told that all
//!   that came before has ended ([`Drive::search`](crate::drive::Drive::search)).

use crate::drive::{Drive, patience};
use crate::faults;
use crate::plan;
use crate::transfer::Busy;
use crate::volume::{Client, Volume};
use sing_sdk::contracts::{DiskContract, FileFault};
use sing_sdk::prelude::*;
use sing_sdk::share::SYSTEM;
use sing_sdk::time::{Timeout, uptime};

/// A request that so many drivers have lost without a step forward is given up, and one that has been
/// lost for twice [`patience`].
const LOSSES: u32 = 16;

/// A channel to the disk's driver.
pub enum Lane {
    Idle(crate::connect::Channel),
    Reading(DiskContract::Imp<DiskContract::Ready_Read>, u32),
    Writing(DiskContract::Imp<DiskContract::Ready_Write>, u32),
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
        self.driver = self.driver.wrapping_add(1);
        let lanes = self.store.with_disk(|drive| {
            let found = drive.search();
            found.map(|()| drive.geometry.parallel.clamp(2, 16))
        });
        let lanes = lanes.map_err(|_| FileFault::Medium)?;
        self.ended();
        self.connect(lanes as usize)
    }

    /// Gives back the writes of a driver that was given up, if it has told since that they have ended:
    /// there is a channel again for metadata, which was found by a search.
    pub fn ended(&mut self) {
        if self.withheld.is_empty() || !self.store.with_disk(|drive| drive.is_connected()) {
            return;
        }
        for writing in core::mem::take(&mut self.withheld) {
            self.undone(writing);
        }
        // The disk may have done what nobody waits for any more.
        self.changed();
    }

    /// The same for a request that is refused while a write of its file is withheld: it waits for the
    /// driver as any other one does.
    pub fn await_ended(&mut self) {
        if !self.withheld.is_empty() && !self.store.with_disk(|drive| drive.is_connected()) {
            let _ = self.store.with_disk(Drive::search);
        }
        self.ended();
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
        let size = self.store.with_disk(|drive| drive.geometry.sector);
        let (sector, start, count) = (op.disk / size, op.start as u32, op.count as u32);
        let lane_now = if op.write {
            Lane::Writing(channel.send_write(sector, block, start, count), number)
        } else {
            Lane::Reading(channel.send_read(sector, block, start, count), number)
        };
        self.slots.put(lane, Client::Lane(lane_now));
        self.flights.insert(lane, uptime());
        self.slots.put(number, Client::Busy(busy));
    }

    /// The driver has answered, or has gone.
    pub fn answered(&mut self, lane: u32, state: Lane) {
        use DiskContract::imp::{Ready_Read, Ready_Write};
        self.flights.remove(&lane);
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
            None => {
                let stepped = self.stepped(&mut busy);
                busy.advanced();
                stepped
            }
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
        let writable = block.unshare().is_ok() || busy.writes() && !own;
        let whole = block.len() == expected && writable;
        if !whole {
            // Not what was lent: finish gives the client another.
            return false;
        }
        *(if own { &mut busy.own } else { &mut busy.block }) = Some(block);
        true
    }

    /// A channel has been closed while it had a request, which begins its step again. If its driver
    /// has gone, all others will prove closed, too: that is one loss.
    fn again(&mut self, lane: u32, number: u32) {
        self.lose(lane);
        let Some(mut busy) = self.take_busy(number) else {
            return;
        };
        let own = busy.block.is_some();
        self.cancel(&mut busy);
        let kept = busy.kept.take();
        if !own {
            let len = busy.len;
            busy.block = match kept {
                // The dead driver's view goes with it. One that lives has it still, and the client
                // could not write what it gets back.
                Some(mut kept) => match kept.unshare() {
                    Ok(()) => Some(kept),
                    Err(_) => copied(&kept),
                },
                // The driver took the only view of the data with it.
                None if busy.writes() => {
                    return self.finish(number, *busy, Err(FileFault::Medium));
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
        busy.losses += u32::from(busy.lost_by.replace(self.driver) != Some(self.driver));
        let since = *busy.lost_since.get_or_insert_with(uptime);
        if busy.losses >= LOSSES || uptime() > since + 2 * patience() {
            return self.finish(number, *busy, Err(FileFault::Medium));
        }
        self.slots.put(number, Client::Busy(busy));
        self.wait_for_disk(number);
    }

    /// Gives up a driver that does not answer.
    pub fn expire(&mut self) {
        let late = uptime().saturating_sub(patience());
        if self.flights.values().any(|since| *since < late) {
            self.give_up();
        }
        self.issue();
    }

    /// Closes all channels to the driver: what it has is begun again when it has ended. That it was
    /// done late must not undo what the others or the store do meanwhile.
    fn give_up(&mut self) {
        self.store.with_disk(Drive::leave);
        for lane in core::mem::take(&mut self.lanes) {
            self.flights.remove(&lane);
            let lost = match self.slots.take(lane) {
                Some(Client::Lane(Lane::Reading(_, number) | Lane::Writing(_, number))) => number,
                _ => {
                    self.lose(lane);
                    continue;
                }
            };
            if let Some(mut busy) = self.take_busy(lost) {
                // Each wait counts: the next channel may lead to the same driver.
                busy.lost_by = None;
                self.withheld.extend(busy.step.withhold());
                self.slots.put(lost, Client::Busy(busy));
            }
            self.again(lane, lost);
        }
    }

    fn lose(&mut self, lane: u32) {
        self.slots.remove(lane);
        self.lanes.retain(|n| *n != lane);
        self.idle.retain(|n| *n != lane);
    }

    /// Lets the disk finish what it is working on, before the store is given up. Whether it is still
    /// writing then, for all that is known.
    pub fn drain(&mut self) -> bool {
        let until = uptime() + patience();
        while self.queue.pop().is_some() {}
        while self.idle.len() < self.lanes.len() && uptime() < until {
            let left = Timeout::from(until.saturating_sub(uptime()));
            let Ok(number) = self.slots.wait(left) else {
                break;
            };
            match self.slots.take(number) {
                Some(Client::Lane(lane)) => self.answered(number, lane),
                // Nobody else is served any more.
                Some(_) => drop(self.slots.remove(number)),
                None => {}
            }
            while self.queue.pop().is_some() {}
        }
        let writes = |lane: &u32| {
            let lane = self.slots.get(*lane);
            matches!(lane, Some(Client::Lane(Lane::Writing(..))))
        };
        !self.withheld.is_empty() || self.lanes.iter().any(writes)
    }
}

/// Another block with the same bytes, if there is memory for it.
fn copied(block: &Block) -> Option<Block> {
    let copy = Vector::from_bytes(&block.to_vec());
    copy.ok().map(Vector::into_block)
}
