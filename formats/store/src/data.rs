//! Where the data of files lies: mappings to read, places to write, sizes, and what is given back.
//!
//! Blocks beyond the end of a file are either none (the normal case) or being given back, for which
//! a record of [`tag::TIDY`] stands; a file with that record does not grow before it is tidied. The
//! part of the last block beyond the end holds anything: it is filled with zeros when the file
//! grows past it.

use crate::bits::by_group;
use crate::disk::Disk;
use crate::error::Error;
use crate::records::{Extent, GROUP, Node, key, key2, second, tag};
use crate::region::{read_bytes, write_bytes};
use crate::store::Store;
use crate::types::*;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Bound;

/// Records that a step of tidying changes at most, about.
const STEP: u64 = 64;
/// The same, if there is hardly any room for metadata.
const SMALL_STEP: u64 = 2;
/// Nodes that a call of tidy looks at.
const MOST_LOOKS: usize = 1024;
/// Bytes that a copying write has in flight.
const COPIED: u64 = 64 * BLOCK;
/// How often a copying write tries to get space back.
const MOST_TRIES: usize = 1000;

impl<D: Disk> Store<D> {
    /// Where `bytes` bytes of a file from `offset` on lie: at most `most` pieces (and at most
    /// [`MOST_PIECES`]), which cover whole blocks. Nothing at or beyond the end of the file.
    pub fn map(
        &mut self,
        file: NodeId,
        offset: u64,
        bytes: u64,
        most: usize,
    ) -> Result<Reading, Error> {
        let node = self.file(file)?;
        if self.space.in_flight() >= MOST_IN_FLIGHT {
            return Err(Error::Busy);
        }
        let end = offset.saturating_add(bytes).min(node.size);
        let mut pieces = Vec::new();
        let mut at = offset / BLOCK;
        let last = if offset < end {
            end.div_ceil(BLOCK)
        } else {
            at
        };
        while at < last && pieces.len() < most.clamp(1, MOST_PIECES) {
            let (disk, to) = match self.extent_from(file, at)? {
                Some(found) if found.first <= at => {
                    let start = found.start + (at - found.first);
                    (Some(start * BLOCK), found.end().min(last))
                }
                Some(found) => (None, found.first.min(last)),
                None => (None, last),
            };
            pieces.push(Piece {
                offset: at * BLOCK,
                bytes: (to - at) * BLOCK,
                disk,
                fresh: false,
            });
            at = to;
        }
        Ok(Reading {
            ticket: self.space.ticket(None),
            pieces,
            bytes: end.min(at * BLOCK).saturating_sub(offset),
        })
    }

    /// The blocks of a [`map`](Store::map) have been read, or will not be.
    pub fn done(&mut self, reading: Reading) {
        self.space.end_ticket(reading.ticket);
    }

    /// Where to write `bytes` bytes of a file from `offset` on, both multiples of [`BLOCK`]: at
    /// most `most` pieces. Blocks that the file has are to be written in place; new ones are found
    /// where it has none. The file does not change before [`written`](Store::written).
    ///
    /// A caller that writes a part of a block only fills the rest with zeros if the piece is
    /// `fresh`, and reads the rest first if it is not, taking what is beyond the end of the file
    /// for zeros; it lets one request after the other have the block.
    pub fn prepare_write(
        &mut self,
        file: NodeId,
        offset: u64,
        bytes: u64,
        most: usize,
    ) -> Result<Writing, Error> {
        if !offset.is_multiple_of(BLOCK) || !bytes.is_multiple_of(BLOCK) || bytes == 0 {
            return Err(Error::Invalid);
        }
        let end = offset.checked_add(bytes).filter(|end| *end <= LARGEST_FILE);
        let end = end.ok_or(Error::TooLarge)?;
        let node = self.file(file)?;
        self.writable()?;
        if self.space.in_flight() >= MOST_IN_FLIGHT {
            return Err(Error::Busy);
        }
        if end > node.size.next_multiple_of(BLOCK) {
            self.settle(file)?;
        }
        if offset > node.size {
            self.zero_tail(file, node.size)?;
        }
        let most = most.clamp(1, MOST_PIECES);
        let mut pieces = Vec::new();
        let found = self.change(4, |store| {
            store.find_pieces(
                file,
                &node,
                (offset / BLOCK, end / BLOCK),
                most,
                &mut pieces,
            )
        });
        if let Err(error) = found {
            self.give_pieces_back(&pieces);
            return Err(error);
        }
        self.pieces += pieces.iter().filter(|p| p.fresh).count();
        Ok(Writing {
            ticket: self.space.ticket(Some(file)),
            node: file,
            pieces,
        })
    }

    fn find_pieces(
        &mut self,
        file: NodeId,
        node: &Node,
        (mut at, end): (u64, u64),
        most: usize,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Error> {
        let mut goal = self.goal(file, at)?;
        while at < end && pieces.len() < most {
            let extent = self.extent_from(file, at)?;
            let (start, to, fresh) = match extent {
                Some(found) if found.first <= at => (
                    found.start + (at - found.first),
                    found.end().min(end),
                    false,
                ),
                _ => {
                    let hole = extent.map_or(end, |found| found.first.min(end)) - at;
                    let mut found =
                        self.space
                            .find(&mut self.meta, file, goal, hole, node.blocks)?;
                    if found.is_none() && pieces.is_empty() {
                        self.give_back();
                        found = self
                            .space
                            .find(&mut self.meta, file, goal, hole, node.blocks)?;
                    }
                    match found {
                        Some((start, blocks)) => (start, at + blocks, true),
                        None if pieces.is_empty() => return Err(Error::NoSpace),
                        None => return Ok(()),
                    }
                }
            };
            let blocks = to - at;
            goal = Some(start + blocks);
            pieces.push(Piece {
                offset: at * BLOCK,
                bytes: blocks * BLOCK,
                disk: Some(start * BLOCK),
                fresh,
            });
            at = to;
        }
        Ok(())
    }

    /// The block on the disk where this block of the file would best lie.
    fn goal(&mut self, file: NodeId, at: u64) -> Result<Option<u64>, Error> {
        let Some(before) = at.checked_sub(1) else {
            return Ok(self.space.hint(file));
        };
        let found = self.extent_up_to(file, before)?;
        let hint = self.space.hint(file);
        Ok(match found {
            Some(found) if found.end() == at => Some(found.start + found.blocks),
            Some(found) => hint.or(Some(found.start + found.blocks)),
            None => hint,
        })
    }

    fn give_pieces_back(&mut self, pieces: &[Piece]) {
        for piece in pieces.iter().filter(|p| p.fresh) {
            if let Some(disk) = piece.disk {
                self.space.unwithhold(disk / BLOCK, piece.bytes / BLOCK);
            }
        }
    }

    /// The pieces have been handed to the disk, which has answered that they are written: the file
    /// has them now and is at least `end` bytes long; `end` is not beyond [`Writing::end`].
    pub fn written(&mut self, writing: Writing, end: u64, now: u64) -> Result<(), Error> {
        let fresh = writing.pieces.iter().filter(|p| p.fresh).count();
        let done = if end > writing.end() {
            Err(Error::Invalid)
        } else {
            self.change(0, |store| store.record(&writing, end, now))
        };
        self.pieces = self.pieces.saturating_sub(fresh);
        if done.is_err() {
            self.give_pieces_back(&writing.pieces);
        }
        self.space.end_ticket(writing.ticket);
        done
    }

    /// The pieces have not been written, or perhaps a part of them: new blocks are given back.
    pub fn abandon(&mut self, writing: Writing) {
        let fresh = writing.pieces.iter().filter(|p| p.fresh).count();
        self.pieces = self.pieces.saturating_sub(fresh);
        self.give_pieces_back(&writing.pieces);
        self.space.end_ticket(writing.ticket);
    }

    fn record(&mut self, writing: &Writing, end: u64, now: u64) -> Result<(), Error> {
        let file = writing.node;
        let mut node = self.file(file)?;
        for piece in writing.pieces.iter().filter(|p| p.fresh) {
            let Some(disk) = piece.disk else { continue };
            let extent = Extent {
                first: piece.offset / BLOCK,
                start: disk / BLOCK,
                blocks: piece.bytes / BLOCK,
            };
            // Another request may have filled the hole meanwhile; the later one stays.
            self.punch(file, &mut node, extent.first, extent.end())?;
            self.space
                .use_blocks(&mut self.meta, &mut self.state, extent.start, extent.blocks)?;
            node.blocks += extent.blocks;
            self.insert(file, extent)?;
        }
        node.size = node.size.max(end);
        node.modified = now;
        node.changed = now;
        self.put_node(file, &node);
        Ok(())
    }

    /// Adds an extent where the file has none, as a part of its neighbours if that is possible.
    fn insert(&mut self, file: NodeId, mut extent: Extent) -> Result<(), Error> {
        if let Some(before) = extent.first.checked_sub(1)
            && let Some(found) = self.extent_up_to(file, before)?
            && found.end() == extent.first
            && found.start + found.blocks == extent.start
        {
            extent.first = found.first;
            extent.start = found.start;
            extent.blocks += found.blocks;
        }
        if let Some(found) = self.extent_from(file, extent.end())?
            && found.first == extent.end()
            && found.start == extent.start + extent.blocks
        {
            extent.blocks += found.blocks;
            self.meta.remove(&found.key(file));
        }
        self.meta.put(&extent.key(file), &extent.encode());
        Ok(())
    }

    /// Takes the blocks of a range from the file.
    fn punch(&mut self, file: NodeId, node: &mut Node, from: u64, to: u64) -> Result<(), Error> {
        while let Some(found) = self.extent_from(file, from)? {
            let (cut, end) = (found.first.max(from), found.end().min(to));
            if cut >= end {
                break;
            }
            self.cut(file, node, found, cut, end)?;
        }
        Ok(())
    }

    /// Takes the blocks from `from` to `to` of an extent.
    fn cut(
        &mut self,
        file: NodeId,
        node: &mut Node,
        extent: Extent,
        from: u64,
        to: u64,
    ) -> Result<(), Error> {
        let start = extent.start + (from - extent.first);
        self.space
            .free_blocks(&mut self.meta, &mut self.state, start, to - from)?;
        node.blocks = node.blocks.saturating_sub(to - from);
        self.meta.remove(&extent.key(file));
        if extent.first < from {
            let head = Extent {
                blocks: from - extent.first,
                ..extent
            };
            self.meta.put(&head.key(file), &head.encode());
        }
        if to < extent.end() {
            let tail = Extent {
                first: to,
                start: extent.start + (to - extent.first),
                blocks: extent.end() - to,
            };
            self.meta.put(&tail.key(file), &tail.encode());
        }
        Ok(())
    }

    /// Sets the size of a file: what is beyond is lost, what is added reads as zeros. The size
    /// changes at once; blocks come back by [`tidy`](Store::tidy). [`Error::Busy`] while a write
    /// is in flight.
    pub fn set_size(&mut self, file: NodeId, size: u64, now: u64) -> Result<Progress, Error> {
        if size > LARGEST_FILE {
            return Err(Error::TooLarge);
        }
        let node = self.file(file)?;
        self.writable()?;
        if self.space.is_written(file) {
            return Err(Error::Busy);
        }
        let grows = size > node.size;
        if grows {
            self.settle(file)?;
            self.zero_tail(file, node.size)?;
        }
        let trims = self.change(if grows { 4 } else { 0 }, |store| {
            // Tidying has changed it.
            let mut node = store.file(file)?;
            node.size = size;
            node.modified = now;
            node.changed = now;
            store.put_node(file, &node);
            let trims = store.has_blocks_beyond(file)?;
            if trims {
                store.meta.put(&key(tag::TIDY, file.0), &[]);
            }
            Ok(trims)
        })?;
        if trims {
            self.tidy_node(file)
        } else {
            Ok(Progress::Done)
        }
    }

    /// A file that is about to grow must have no blocks beyond its end.
    fn settle(&mut self, file: NodeId) -> Result<(), Error> {
        let busy = self.meta.get(&key(tag::TIDY, file.0))?.is_some()
            && self.has_blocks_beyond(file)?
            && self.tidy_node(file)? == Progress::More;
        if busy { Err(Error::Busy) } else { Ok(()) }
    }

    /// Fills the last block with zeros from the end of the file on.
    fn zero_tail(&mut self, file: NodeId, size: u64) -> Result<(), Error> {
        let within = size % BLOCK;
        if within == 0 {
            return Ok(());
        }
        let block = size / BLOCK;
        if let Some(found) = self.extent_from(file, block)?
            && found.first <= block
        {
            let at = (found.start + (block - found.first)) * BLOCK + within;
            let zeros = vec![0; (BLOCK - within) as usize];
            self.with_disk(|disk| write_bytes(disk, at, &zeros))?;
        }
        Ok(())
    }

    /// Gives back blocks of files that were truncated or removed, a bounded number in a call.
    pub fn tidy(&mut self) -> Result<Progress, Error> {
        self.writable()?;
        let end = key(tag::TIDY, u64::MAX);
        let mut at = self.tidied;
        let mut wrapped = at == 0;
        for _ in 0..MOST_LOOKS {
            let from = key(tag::TIDY, at);
            let Some((found, _)) = self.meta.next(Bound::Excluded(&from), &end)? else {
                if wrapped {
                    break;
                }
                wrapped = true;
                at = 0;
                continue;
            };
            let id = Self::node_of(&found)?;
            at = id.0;
            if self.is_kept(id)? && !self.has_blocks_beyond(id)? {
                continue;
            }
            // The next one's turn comes even if this one fails.
            self.tidied = at;
            if self.tidy_node(id)? == Progress::More {
                self.tidied = at - 1;
            }
            return Ok(Progress::More);
        }
        self.tidied = 0;
        Ok(Progress::Done)
    }

    /// A node without names that is still in use.
    fn is_kept(&mut self, id: NodeId) -> Result<bool, Error> {
        let used = self.held.contains_key(&id) || self.space.is_written(id);
        Ok(used && self.node(id)?.links == 0)
    }

    fn tidy_node(&mut self, id: NodeId) -> Result<Progress, Error> {
        self.change(0, |store| store.trim(id))
    }

    fn has_blocks_beyond(&mut self, id: NodeId) -> Result<bool, Error> {
        let keep = self.node(id)?.size.div_ceil(BLOCK);
        Ok(self
            .extent_up_to(id, u64::MAX)?
            .is_some_and(|last| last.end() > keep))
    }

    /// Takes some blocks beyond the end of a file; in the end, removes what has no name.
    fn trim(&mut self, id: NodeId) -> Result<Progress, Error> {
        let mut node = self.node(id)?;
        let gone = node.links == 0 && !self.is_kept(id)?;
        let keep = if gone { 0 } else { node.size.div_ceil(BLOCK) };
        let waiting = self.meta.changes() + 2 * STEP as usize;
        let mut budget = if self.reserve(waiting)? {
            STEP
        } else {
            SMALL_STEP
        };
        while let Some(last) = self.extent_up_to(id, u64::MAX)? {
            if last.end() <= keep {
                break;
            }
            if budget == 0 {
                self.put_node(id, &node);
                return Ok(Progress::More);
            }
            let most = budget * GROUP;
            let from = last.first.max(keep).max(last.end().saturating_sub(most));
            let groups = by_group(last.start, last.end() - from).count() as u64;
            self.cut(id, &mut node, last, from, last.end())?;
            budget = budget.saturating_sub(groups + 1);
        }
        if gone || node.links > 0 {
            self.meta.remove(&key(tag::TIDY, id.0));
        }
        if gone {
            self.meta.remove(&key(tag::NODE, id.0));
            if node.kind == Kind::Link {
                self.meta.remove(&key(tag::TARGET, id.0));
            }
            self.state.nodes = self.state.nodes.saturating_sub(1);
        } else {
            self.put_node(id, &node);
        }
        Ok(Progress::Done)
    }

    /// Reads from `offset` on, by copying; returns how many bytes, fewer than asked for only at
    /// the end of the file.
    pub fn read_at(
        &mut self,
        file: NodeId,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset.saturating_add(done as u64);
            let want = (buffer.len() - done) as u64;
            let reading = self.map(file, at, want, MOST_PIECES)?;
            let bytes = reading.bytes;
            let target = &mut buffer[done..done + bytes as usize];
            let read = self.with_disk(|disk| {
                for piece in &reading.pieces {
                    let from = piece.offset.max(at);
                    let to = (piece.offset + piece.bytes).min(at + bytes);
                    let part = &mut target[(from - at) as usize..(to - at) as usize];
                    match piece.disk {
                        Some(disk_at) => read_bytes(disk, disk_at + (from - piece.offset), part)?,
                        None => part.fill(0),
                    }
                }
                Ok(())
            });
            self.done(reading);
            read.map_err(Error::Disk)?;
            if bytes == 0 {
                break;
            }
            done += bytes as usize;
        }
        Ok(done)
    }

    /// Writes all of `data` from `offset` on, by copying. If it fails, a part of it may have been
    /// written, from its beginning on.
    pub fn write_at(
        &mut self,
        file: NodeId,
        offset: u64,
        data: &[u8],
        now: u64,
    ) -> Result<(), Error> {
        let end = offset
            .checked_add(data.len() as u64)
            .filter(|e| *e <= LARGEST_FILE);
        let end = end.ok_or(Error::TooLarge)?;
        let size = self.file(file)?.size;
        if offset > size && !data.is_empty() {
            self.writable()?;
            self.settle(file)?;
            self.zero_tail(file, size)?;
        }
        let mut at = offset;
        let mut tries = 0;
        while at < end {
            let first = at - at % BLOCK;
            let bytes = (end.next_multiple_of(BLOCK) - first).min(COPIED);
            let writing = match self.prepare_write(file, first, bytes, MOST_PIECES) {
                Ok(writing) => writing,
                Err(Error::NoSpace) if tries < MOST_TRIES && self.reclaim()? => {
                    tries += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let to = writing.end().min(end);
            let part = &data[(at - offset) as usize..(to - offset) as usize];
            if let Err(fault) = self.with_disk(|disk| write_pieces(disk, &writing.pieces, at, part))
            {
                self.abandon(writing);
                return Err(fault.into());
            }
            self.written(writing, to, now)?;
            at = to;
        }
        Ok(())
    }

    fn file(&mut self, id: NodeId) -> Result<Node, Error> {
        let node = self.node(id)?;
        match node.kind {
            Kind::File => Ok(node),
            Kind::Directory => Err(Error::IsDirectory),
            Kind::Link => Err(Error::NotFile),
        }
    }

    fn checked(&self, key: &[u8], value: &[u8]) -> Result<Extent, Error> {
        let first = second(key).ok_or(Error::Corrupt("an extent has a wrong key"))?;
        let extent = Extent::decode(first, value)?;
        if self.space.can_be_used(extent.start, extent.blocks) {
            Ok(extent)
        } else {
            Err(Error::Corrupt(
                "an extent has blocks that cannot be a file's",
            ))
        }
    }

    /// The last extent that begins at this block of the file or before.
    fn extent_up_to(&mut self, file: NodeId, block: u64) -> Result<Option<Extent>, Error> {
        let begin = key2(tag::EXTENT, file.0, 0);
        let to = key2(tag::EXTENT, file.0, block);
        let found = self.meta.last(&begin, Bound::Included(&to))?;
        found
            .map(|(key, value)| self.checked(&key, &value))
            .transpose()
    }

    /// The extent that has this block of the file, or the first one behind it.
    fn extent_from(&mut self, file: NodeId, block: u64) -> Result<Option<Extent>, Error> {
        if let Some(found) = self.extent_up_to(file, block)?
            && found.end() > block
        {
            return Ok(Some(found));
        }
        let from = key2(tag::EXTENT, file.0, block);
        let end = key2(tag::EXTENT, file.0, u64::MAX);
        let found = self.meta.next(Bound::Included(&from), &end)?;
        found
            .map(|(key, value)| self.checked(&key, &value))
            .transpose()
    }
}

/// Writes a part of the range that the pieces cover. A new block is written whole.
fn write_pieces<D: Disk>(
    disk: &mut D,
    pieces: &[Piece],
    at: u64,
    data: &[u8],
) -> Result<(), crate::DiskFault> {
    let end = at + data.len() as u64;
    for piece in pieces {
        let Some(disk_at) = piece.disk else { continue };
        let from = piece.offset.max(at);
        let to = (piece.offset + piece.bytes).min(end);
        let part = &data[(from - at) as usize..(to - at) as usize];
        if !piece.fresh {
            write_bytes(disk, disk_at + (from - piece.offset), part)?;
        } else if part.len() as u64 == piece.bytes {
            disk.write(disk_at, part)?;
        } else {
            let mut whole = vec![0; piece.bytes as usize];
            let within = (from - piece.offset) as usize;
            whole[within..within + part.len()].copy_from_slice(part);
            disk.write(disk_at, &whole)?;
        }
    }
    Ok(())
}
