//! Requests that need no driver: all their blocks are in the cache.
//!
//! Invariants:
//! - A write changes the cache only if no other write of the file is under way or waits, and all of
//!   it is inside the file: so it needs no new blocks, and is done in the order of its coming.
//! - Its file is noted as changed before anything changes, so that a sync comes.

use crate::volume::{At, Volume, now};
use sing_sdk::prelude::*;

impl Volume {
    /// Reads so many bytes of the file into a block, from `start` on. False, and the block has
    /// anything there, if the disk is needed.
    pub fn quick_read(
        &mut self,
        at: At,
        block: &mut Block,
        offset: u64,
        start: u32,
        bytes: usize,
    ) -> bool {
        let mut done = 0;
        while done < bytes {
            let Some((disk, part)) = self.part(at, offset + done as u64, bytes - done) else {
                return false;
            };
            let place = start as usize + done;
            let read = |drive: &mut crate::drive::Drive| drive.cache.read(disk, block, place, part);
            if !self.store.with_disk(read) {
                return false;
            }
            done += part;
        }
        true
    }

    /// Writes so many bytes of a block, from `start` on. False, and nothing has changed, if the
    /// disk is needed.
    pub fn quick_write(
        &mut self,
        at: At,
        block: &Block,
        offset: u64,
        start: u32,
        count: u32,
    ) -> bool {
        let bytes = count as usize;
        if bytes == 0 || self.ranges.contains_key(&at.node) {
            return false;
        }
        let mut done = 0;
        while done < bytes {
            let Some((disk, part)) = self.part(at, offset + done as u64, bytes - done) else {
                return false;
            };
            let room = |drive: &mut crate::drive::Drive| {
                drive.cache.may_wait(bytes) && drive.cache.has(disk, part)
            };
            if !self.store.with_disk(room) {
                return false;
            }
            done += part;
        }
        if self.store.rewritten(at.node, now()).is_err() {
            return false;
        }
        self.changed();
        let mut done = 0;
        while done < bytes {
            let Some((disk, part)) = self.part(at, offset + done as u64, bytes - done) else {
                return false;
            };
            let place = start as usize + done;
            self.store
                .with_disk(|drive| drive.cache.write(disk, block, place, part));
            done += part;
        }
        true
    }

    /// Where a byte of the file lies on the disk, and how many of the next ones lie behind it.
    fn part(&mut self, at: At, offset: u64, most: usize) -> Option<(u64, usize)> {
        let (disk, bytes) = self.store.locate(at.node, offset).ok()??;
        Some((disk, bytes.min(most as u64) as usize))
    }
}
