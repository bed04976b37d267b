//! Where the data of files lies: mappings to read, and places to write.
//!
//! A request holds a ticket from its beginning to its end, so that blocks it was told of are not
//! given to anybody else meanwhile. New blocks are a file's only when they have been written.

use crate::disk::Disk;
use crate::error::Error;
use crate::records::{Extent, Node, key, key2, second, tag};
use crate::store::Store;
use crate::types::*;
use alloc::vec::Vec;
use core::ops::Bound;

/// Times of a file that is written again and again are this exact, in nanoseconds.
const TICK: u64 = 4_000_000;

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

    /// Where a byte of a file lies on the disk now, and how many behind it lie there, too, up to the
    /// end of the file; `None` in a hole or behind the end. For who looks at memory of its own: the
    /// blocks may be somebody else's after the next operation.
    pub fn locate(&mut self, file: NodeId, offset: u64) -> Result<Option<(u64, u64)>, Error> {
        let size = self.size(file)?;
        if offset >= size {
            return Ok(None);
        }
        let block = offset / BLOCK;
        let found = self.extent_from(file, block)?;
        Ok(found.filter(|found| found.first <= block).map(|found| {
            let place = found.start * BLOCK + (offset - found.first * BLOCK);
            (place, (found.end() * BLOCK).min(size) - offset)
        }))
    }

    /// The size of a file, for who needs no more of its attributes.
    pub fn size(&mut self, file: NodeId) -> Result<u64, Error> {
        match self.recent.node(file, self.meta.versions()) {
            Some(node) if node.kind == Kind::File => Ok(node.size),
            _ => self.file(file).map(|node| node.size),
        }
    }

    /// Bytes that the file has already have other contents from now on: its times change. What has
    /// changed less than [`TICK`] ago, and is to be synced, may keep the time that it has.
    pub fn rewritten(&mut self, file: NodeId, now: u64) -> Result<(), Error> {
        let mut node = self.file(file)?;
        self.writable()?;
        let recent = (node.modified..node.modified.saturating_add(TICK)).contains(&now);
        if recent && self.meta.has_changed(&key(tag::NODE, file.0)) {
            return Ok(());
        }
        self.change(0, |store| {
            node.modified = now;
            node.changed = now;
            store.put_node(file, &node);
            Ok(())
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
        let range = (offset / BLOCK, end / BLOCK);
        // What stands is written in place, even if there is no room for anything new.
        let mut standing = Vec::new();
        self.find_pieces(file, &node, range, most, false, &mut standing)?;
        let mut pieces = Vec::new();
        let covered = standing.last().is_some_and(|p| p.offset + p.bytes == end);
        let found = if covered || standing.len() == most {
            Ok(())
        } else {
            self.change(4, |store| {
                store.find_pieces(file, &node, range, most, true, &mut pieces)
            })
        };
        let found = match found {
            Err(Error::NoSpace) if !standing.is_empty() => Ok(()),
            found => found,
        };
        if found.is_ok() && pieces.is_empty() {
            pieces = standing;
        }
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
        new: bool,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Error> {
        let mut goal = if new { self.goal(file, at)? } else { None };
        while at < end && pieces.len() < most {
            let extent = self.extent_from(file, at)?;
            let (start, to, fresh) = match extent {
                Some(found) if found.first <= at => (
                    found.start + (at - found.first),
                    found.end().min(end),
                    false,
                ),
                _ if !new => return Ok(()),
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
        let grows = fresh > 0 || self.file(writing.node).is_ok_and(|n| end > n.size);
        let done = if end > writing.end() {
            Err(Error::Invalid)
        } else if !grows {
            self.rewritten(writing.node, now)
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
    pub(crate) fn cut(
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

    pub(crate) fn file(&mut self, id: NodeId) -> Result<Node, Error> {
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
    pub(crate) fn extent_up_to(
        &mut self,
        file: NodeId,
        block: u64,
    ) -> Result<Option<Extent>, Error> {
        let begin = key2(tag::EXTENT, file.0, 0);
        let to = key2(tag::EXTENT, file.0, block);
        let found = self.meta.last(&begin, Bound::Included(&to))?;
        found
            .map(|(key, value)| self.checked(&key, &value))
            .transpose()
    }

    /// The extent that has this block of the file, or the first one behind it.
    pub(crate) fn extent_from(
        &mut self,
        file: NodeId,
        block: u64,
    ) -> Result<Option<Extent>, Error> {
        if let Some(found) = self.recent.extent(file, block, self.meta.versions()) {
            return Ok(Some(found));
        }
        if let Some(found) = self.extent_up_to(file, block)?
            && found.end() > block
        {
            let now = self.meta.versions();
            self.recent.keep_extent(file, block, now, found);
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
