//! The buffers of a client that receives.

use crate::MOST_LENT;
use alloc::collections::VecDeque;
use sing_sdk::frames::Frames;
use sing_sdk::prelude::*;

/// A client's buffers, in the order in which they were handed in; frames go into the first that has
/// room, and those behind one with room are empty.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    list: VecDeque<Frames>,
    /// The one that is being filled.
    filling: usize,
    /// Frames for which there was no room since the client was last answered.
    lost: u32,
}

impl Buffers {
    /// Whether the client may hand in another one beside that of a request to receive.
    pub(crate) fn have_room(&self) -> bool {
        self.list.len() < MOST_LENT
    }

    /// Puts an empty one behind the others.
    pub(crate) fn add(&mut self, frames: Frames) {
        self.list.push_back(frames);
    }

    /// Puts a frame into the next buffer with room for it. Whether there was one.
    pub(crate) fn put(&mut self, frame: &[u8]) -> bool {
        while let Some(frames) = self.list.get_mut(self.filling) {
            if frames.push(frame) {
                return true;
            }
            // Each holds a frame of any length when it is empty: this one is not.
            self.filling += 1;
        }
        self.lost = self.lost.saturating_add(1);
        false
    }

    /// Takes the first, if it has frames: with their number, and how many were lost.
    pub(crate) fn take(&mut self) -> Option<(Block, u32, u32)> {
        if self.list.front()?.count() == 0 {
            return None;
        }
        let (block, count) = self.list.pop_front()?.into_parts();
        self.filling = self.filling.saturating_sub(1);
        Some((block, count, core::mem::take(&mut self.lost)))
    }
}
