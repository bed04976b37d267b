//! Blocks of the disk that small reads went through, for the next ones: a program that reads line
//! by line asks the disk once for each block.
//!
//! Invariant: it holds what the disk holds. Whoever writes to the disk says so, before and after;
//! what was asked of the disk before that, and comes after it, is not kept.

use alloc::collections::{BTreeMap, VecDeque};
use sing_sdk::prelude::*;
use sing_store::BLOCK;

/// Blocks at most: a MiB of them.
const MOST: usize = 256;

#[derive(Default)]
pub struct Cache {
    blocks: BTreeMap<u64, Vec<u8>>,
    /// In the order in which they came; a block that has been forgotten may still be in it.
    order: VecDeque<u64>,
    /// How often something was forgotten.
    epoch: u64,
}

impl Cache {
    /// The block that lies there on the disk.
    pub fn get(&self, disk: u64) -> Option<&[u8]> {
        self.blocks.get(&disk).map(Vec::as_slice)
    }

    /// To be taken when the disk is asked for what shall be kept.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Keeps whole blocks that have been read, unless something was written since `epoch`: it may
    /// be these, and the disk may have answered the read with what was there before.
    pub fn keep(&mut self, disk: u64, block: &Block, bytes: usize, epoch: u64) {
        if epoch != self.epoch {
            return;
        }
        let size = BLOCK as usize;
        for at in (0..bytes / size).map(|n| n * size) {
            let mut copy = vec![0; size];
            block.read(at, &mut copy);
            let place = disk + at as u64;
            if self.blocks.insert(place, copy).is_none() {
                self.order.push_back(place);
            }
        }
        while self.blocks.len() > MOST || self.order.len() > 2 * MOST {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.blocks.remove(&oldest);
        }
    }

    /// These bytes of the disk are being written, or have been.
    pub fn forget(&mut self, disk: u64, bytes: u64) {
        self.epoch += 1;
        let from = disk / BLOCK * BLOCK;
        while let Some((place, _)) = self.blocks.range(from..disk + bytes).next() {
            let place = *place;
            self.blocks.remove(&place);
        }
    }
}
