//! The sizes of files, and what is given back when they shrink or go.
//!
//! Blocks beyond the end of a file are either none (the normal case) or being given back, for which
//! a record of [`tag::TIDY`] stands; a file with that record does not grow before it is tidied. The
//! part of the last block beyond the end holds anything: it is filled with zeros when the file
//! grows past it.

use crate::bits::by_group;
use crate::disk::Disk;
use crate::error::Error;
use crate::records::{GROUP, key, tag};
use crate::region::write_bytes;
use crate::store::Store;
use crate::types::*;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Bound;

/// Records that a step of tidying changes at most, about.
const STEP: u64 = 64;
/// The same, if there is hardly any room for metadata.
const SMALL_STEP: u64 = 2;
/// Records that a call of tidy looks at.
pub(crate) const MOST_LOOKS: usize = 1024;

/// How far tidying has come: it goes through all records, over as many calls as that takes, and again until
/// nothing is left to do.
#[derive(Debug, Default)]
pub(crate) struct Tidying {
    /// The key behind which it goes on; empty at the beginning. A made-up one may have any length.
    behind: Vec<u8>,
    /// Whether something was found, or added, since it was last at the beginning.
    again: bool,
}

impl Tidying {
    /// There is a further record, perhaps before the one that it has come to.
    pub fn added(&mut self) {
        self.again = true;
    }
}

impl<D: Disk> Store<D> {
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
                store.tidying.added();
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
    pub(crate) fn settle(&mut self, file: NodeId) -> Result<(), Error> {
        let busy = self.meta.get(&key(tag::TIDY, file.0))?.is_some()
            && self.has_blocks_beyond(file)?
            && self.tidy_node(file)? == Progress::More;
        if busy { Err(Error::Busy) } else { Ok(()) }
    }

    /// Fills the last block with zeros from the end of the file on.
    pub(crate) fn zero_tail(&mut self, file: NodeId, size: u64) -> Result<(), Error> {
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

    /// Gives back blocks of files that were truncated or removed, a bounded number in a call. Records that are
    /// there for nothing, of which a made-up image may have any number, are passed over.
    pub fn tidy(&mut self) -> Result<Progress, Error> {
        self.writable()?;
        let end = key(tag::TIDY, u64::MAX);
        for _ in 0..MOST_LOOKS {
            if self.tidying.behind.is_empty() {
                self.tidying.behind = key(tag::TIDY, 0).to_vec();
            }
            let behind = Bound::Excluded(&self.tidying.behind[..]);
            let Some((found, _)) = self.meta.next(behind, &end)? else {
                self.tidying.behind.clear();
                match core::mem::take(&mut self.tidying.again) {
                    true => continue,
                    false => return Ok(Progress::Done),
                }
            };
            // The next one's turn comes even if this one fails.
            let before = core::mem::replace(&mut self.tidying.behind, found);
            // A key that is no node's is there for nothing, and a check names it.
            let Ok(id) = Self::node_of(&self.tidying.behind) else {
                continue;
            };
            // Nor has a node anything that is not there.
            if self.node(id) == Err(Error::NotFound) {
                continue;
            }
            if self.is_kept(id)? && !self.has_blocks_beyond(id)? {
                continue;
            }
            self.tidying.again = true;
            if self.tidy_node(id)? == Progress::More {
                self.tidying.behind = before;
            }
            break;
        }
        Ok(Progress::More)
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
}
