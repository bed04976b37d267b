//! Which blocks are free, and which of them a file gets.
//!
//! The records have a bitmap for each group of blocks: the blocks that files have. Memory has those
//! that nobody may be given although no file has them: `withheld` (chunks of the metadata, and new
//! blocks of writes in flight) and `freed` (blocks that were a file's in the last commit, or that
//! a request in flight may still read or write). So a power cut loses no blocks, and a block has a
//! new owner only when nothing on the disk says it has the old one.

use crate::bits::{self, Bits, NONE, by_group};
use crate::disk::Disk;
use crate::error::Error;
use crate::layout::Layout;
use crate::meta::Meta;
use crate::records::{Bitmap, GROUP, State, decode_bitmap, encode_bitmap, key, tag};
use crate::types::NodeId;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// So many files have blocks kept free behind their last one.
const MOST_WINDOWS: usize = 32;
/// The fewest blocks kept free there.
const SMALLEST_WINDOW: u64 = 16;
/// So many groups are looked at for a long run before a shorter one is taken.
const MOST_LOOKS: usize = 64;

/// The allocator.
pub struct Space {
    layout: Layout,
    withheld: Bits,
    freed: Bits,
    /// Of `freed`: since the last commit.
    fresh: Bits,
    /// Of `freed`: committed, but requests up to this ticket may still use them.
    aging: VecDeque<(u64, Bits)>,
    /// The requests in flight, and which node each of them writes to.
    tickets: BTreeMap<u64, Option<NodeId>>,
    next_ticket: u64,
    /// For each group: it has no longer run of free blocks.
    bounds: Vec<u16>,
    /// The group where the search goes on.
    rotor: u64,
    windows: VecDeque<(NodeId, u64, u64)>,
    /// What the current operation has freed (true) or ceased to withhold (false).
    undo: Vec<(bool, u64, u64)>,
}

impl Space {
    /// The allocator of a disk whose metadata is in these chunks.
    pub fn new(layout: Layout, chunks: &[u32]) -> Space {
        let groups = layout.blocks.div_ceil(GROUP);
        let mut space = Space {
            layout,
            withheld: Bits::default(),
            freed: Bits::default(),
            fresh: Bits::default(),
            aging: VecDeque::new(),
            tickets: BTreeMap::new(),
            next_ticket: 1,
            bounds: vec![GROUP as u16; groups as usize],
            rotor: 0,
            windows: VecDeque::new(),
            undo: Vec::new(),
        };
        space.withheld.insert(0, layout.first());
        for chunk in chunks {
            space
                .withheld
                .insert(u64::from(*chunk) * layout.chunk, layout.chunk);
        }
        space
    }

    /// An operation begins.
    pub fn begin(&mut self) {
        self.undo.clear();
    }

    /// The operation has failed.
    pub fn undo(&mut self) {
        while let Some((freed, start, blocks)) = self.undo.pop() {
            if freed {
                self.freed.remove(start, blocks);
                self.fresh.remove(start, blocks);
            } else {
                self.withheld.insert(start, blocks);
            }
        }
    }

    /// Blocks that can be given to files, with `used` given already.
    pub fn free(&self, used: u64) -> u64 {
        let taken = self.withheld.count().saturating_add(self.freed.count());
        self.layout
            .blocks
            .saturating_sub(taken.saturating_add(used))
    }

    /// Whether these blocks can be a file's: no extent of a file has blocks of the metadata.
    pub fn can_be_used(&self, start: u64, blocks: u64) -> bool {
        self.layout.holds(start, blocks) && !self.withheld.any(start, blocks)
    }

    /// A request begins, which may use blocks that are freed meanwhile.
    pub fn ticket(&mut self, writes: Option<NodeId>) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.tickets.insert(ticket, writes);
        ticket
    }

    /// The request has ended. Whether it was in flight.
    pub fn end_ticket(&mut self, ticket: u64) -> bool {
        let known = self.tickets.remove(&ticket).is_some();
        self.release();
        known
    }

    /// How many requests are in flight.
    pub fn in_flight(&self) -> usize {
        self.tickets.len()
    }

    /// Whether a request that writes to the node is in flight.
    pub fn is_written(&self, node: NodeId) -> bool {
        self.tickets.values().any(|&writes| writes == Some(node))
    }

    /// All that was freed is free on the disk, too.
    pub fn committed(&mut self) {
        let fresh = core::mem::take(&mut self.fresh);
        if fresh.count() > 0 {
            self.aging.push_back((self.next_ticket, fresh));
            // A request that does not end must not let batches pile up: the youngest two wait
            // together for what the younger waits for.
            if self.aging.len() > 8
                && let (Some((ticket, young)), Some((_, older))) =
                    (self.aging.pop_back(), self.aging.pop_back())
            {
                let mut both = older;
                both.append(&young);
                self.aging.push_back((ticket, both));
            }
        }
        self.release();
    }

    fn release(&mut self) {
        let oldest = self.tickets.keys().next().copied().unwrap_or(u64::MAX);
        while self
            .aging
            .front()
            .is_some_and(|(ticket, _)| *ticket <= oldest)
        {
            let Some((_, bits)) = self.aging.pop_front() else {
                return;
            };
            self.freed.subtract(&bits);
            for (group, _) in bits.groups() {
                self.more_in(group);
            }
        }
    }

    fn more_in(&mut self, group: u64) {
        if let Some(bound) = self.bounds.get_mut(group as usize) {
            *bound = GROUP as u16;
        }
    }

    /// Blocks are withheld no longer.
    pub fn unwithhold(&mut self, start: u64, blocks: u64) {
        self.withheld.remove(start, blocks);
        for (group, _, _) in by_group(start, blocks) {
            self.more_in(group);
        }
    }

    fn stored(meta: &mut Meta<impl Disk>, group: u64) -> Result<Bitmap, Error> {
        match meta.get(&key(tag::SPACE, group))? {
            Some(value) => decode_bitmap(&value),
            None => Ok(NONE),
        }
    }

    /// The blocks of a group that cannot be given to anybody now.
    fn busy(&self, meta: &mut Meta<impl Disk>, group: u64) -> Result<Bitmap, Error> {
        let mut busy = Self::stored(meta, group)?;
        for set in [self.withheld.group(group), self.freed.group(group)] {
            for (word, more) in busy.iter_mut().zip(set.unwrap_or(&NONE)) {
                *word |= more;
            }
        }
        let end = self.layout.blocks.saturating_sub(group * GROUP);
        if end < GROUP {
            bits::set(&mut busy, end as usize, (GROUP - end) as usize);
        }
        Ok(busy)
    }

    /// Gives a file these blocks, which were withheld.
    pub fn use_blocks(
        &mut self,
        meta: &mut Meta<impl Disk>,
        state: &mut State,
        start: u64,
        blocks: u64,
    ) -> Result<(), Error> {
        for (group, from, part) in by_group(start, blocks) {
            let mut stored = Self::stored(meta, group)?;
            if !bits::set(&mut stored, from, part) {
                return Err(Error::Corrupt(
                    "a block is given to a file while it is another's",
                ));
            }
            meta.put(&key(tag::SPACE, group), &encode_bitmap(&stored));
        }
        self.withheld.remove(start, blocks);
        self.undo.push((false, start, blocks));
        state.used += blocks;
        Ok(())
    }

    /// Takes these blocks from a file.
    pub fn free_blocks(
        &mut self,
        meta: &mut Meta<impl Disk>,
        state: &mut State,
        start: u64,
        blocks: u64,
    ) -> Result<(), Error> {
        if !self.can_be_used(start, blocks) || self.freed.any(start, blocks) {
            return Err(Error::Corrupt(
                "an extent has blocks that cannot be a file's",
            ));
        }
        for (group, from, part) in by_group(start, blocks) {
            let mut stored = Self::stored(meta, group)?;
            if !bits::clear(&mut stored, from, part) {
                return Err(Error::Corrupt("an extent has blocks that are free"));
            }
            if stored == NONE {
                meta.remove(&key(tag::SPACE, group));
            } else {
                meta.put(&key(tag::SPACE, group), &encode_bitmap(&stored));
            }
        }
        self.freed.insert(start, blocks);
        self.fresh.insert(start, blocks);
        self.undo.push((true, start, blocks));
        state.used = state.used.saturating_sub(blocks);
        Ok(())
    }

    /// Finds new blocks for a file and withholds them: `want` of them behind block `goal`, if that
    /// is possible, or fewer or elsewhere. `size` is how many blocks the file has. The blocks lie
    /// within a group. None if the disk is full.
    pub fn find(
        &mut self,
        meta: &mut Meta<impl Disk>,
        file: NodeId,
        goal: Option<u64>,
        want: u64,
        size: u64,
    ) -> Result<Option<(u64, u64)>, Error> {
        let window = match size {
            0 => 0,
            _ => size
                .clamp(SMALLEST_WINDOW, GROUP)
                .min(self.layout.blocks / 64),
        };
        let mut found = match goal {
            Some(goal) => self.at(meta, file, goal, want)?,
            None => None,
        };
        for windows in [true, false] {
            if found.is_none() {
                found = self.search(meta, file, want, want + window, windows)?;
            }
        }
        if let Some((start, blocks)) = found {
            // Only as far as nobody else is: a window over another's would stop that one's growth.
            let end = start + blocks;
            let mut busy = self.busy(meta, end / GROUP)?;
            self.add_windows(&mut busy, end / GROUP, file);
            let open = bits::run(&busy, (end % GROUP) as usize, window as usize) as u64;
            self.withheld.insert(start, blocks);
            self.windows.retain(|w| w.0 != file);
            self.windows.push_back((file, end, end + open));
            if self.windows.len() > MOST_WINDOWS {
                self.windows.pop_front();
            }
        }
        Ok(found)
    }

    /// The block behind those that the file was given last, if that was not long ago.
    pub fn hint(&self, file: NodeId) -> Option<u64> {
        self.windows.iter().find(|w| w.0 == file).map(|w| w.1)
    }

    fn add_windows(&self, busy: &mut Bitmap, group: u64, file: NodeId) {
        for &(owner, start, end) in &self.windows {
            let (start, end) = (start.max(group * GROUP), end.min((group + 1) * GROUP));
            if owner != file && start < end {
                bits::set(busy, (start % GROUP) as usize, (end - start) as usize);
            }
        }
    }

    /// Blocks from `goal` on.
    fn at(
        &self,
        meta: &mut Meta<impl Disk>,
        file: NodeId,
        goal: u64,
        want: u64,
    ) -> Result<Option<(u64, u64)>, Error> {
        if !self.layout.holds(goal, 1) {
            return Ok(None);
        }
        let group = goal / GROUP;
        let mut busy = self.busy(meta, group)?;
        self.add_windows(&mut busy, group, file);
        let run = bits::run(&busy, (goal % GROUP) as usize, want as usize);
        Ok((run > 0).then_some((goal, run as u64)))
    }

    /// The first run of `target` blocks, or the longest of those looked at.
    fn search(
        &mut self,
        meta: &mut Meta<impl Disk>,
        file: NodeId,
        want: u64,
        target: u64,
        windows: bool,
    ) -> Result<Option<(u64, u64)>, Error> {
        let target = target.min(GROUP) as usize;
        let groups = self.bounds.len() as u64;
        let mut best: Option<(u64, usize)> = None;
        let mut looks = 0;
        for step in 0..groups {
            let group = (self.rotor + step) % groups;
            let least = best.map_or(1, |(_, length)| length + 1);
            if usize::from(self.bounds[group as usize]) < least {
                continue;
            }
            looks += 1;
            let mut busy = self.busy(meta, group)?;
            if windows {
                self.add_windows(&mut busy, group, file);
            }
            let mut longest = 0;
            let mut at = 0;
            while let Some(from) = bits::first_free(&busy, at) {
                let run = bits::run(&busy, from, GROUP as usize);
                longest = longest.max(run);
                if run >= target || best.is_none_or(|(_, length)| run > length) {
                    best = Some((group * GROUP + from as u64, run));
                }
                if run >= target {
                    break;
                }
                at = from + run;
            }
            if best.is_some_and(|(_, length)| length >= target) {
                break;
            }
            if !windows {
                self.bounds[group as usize] = longest as u16;
            }
            if best.is_some() && looks >= MOST_LOOKS {
                break;
            }
        }
        if let Some((start, _)) = best {
            self.rotor = start / GROUP;
        }
        Ok(best.map(|(start, length)| (start, want.min(length as u64))))
    }

    /// Finds a free chunk for the metadata, from the end of the disk on, and withholds it.
    pub fn find_chunk(&mut self, meta: &mut Meta<impl Disk>) -> Result<Option<u32>, Error> {
        let size = self.layout.chunk;
        let mut chunk = self.layout.blocks / size;
        let mut known: Option<(u64, Bitmap)> = None;
        while chunk > 0 {
            chunk -= 1;
            let start = chunk * size;
            if !self.layout.holds(start, size) {
                break;
            }
            if self.withheld.any(start, size) || self.freed.any(start, size) {
                continue;
            }
            let mut free = true;
            for (group, from, part) in by_group(start, size) {
                if usize::from(self.bounds[group as usize]) < part {
                    free = false;
                    break;
                }
                let busy = match known {
                    Some((of, busy)) if of == group => busy,
                    _ => self.busy(meta, group)?,
                };
                known = Some((group, busy));
                if bits::any(&busy, from, part) {
                    free = false;
                    break;
                }
            }
            if free {
                self.withheld.insert(start, size);
                return Ok(u32::try_from(chunk).ok());
            }
        }
        Ok(None)
    }
}
