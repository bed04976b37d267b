//! Frames of a network in a block, as `NicContract` carries them: each behind its length, at a
//! multiple of four bytes.
//!
//! Driver and client trust each other with nothing: a length is tested against the block and
//! against what a network carries before a byte is read.
//!
//! ```
//! use sing_sdk::frames::{self, Frames};
//! use sing_sdk::prelude::*;
//!
//! /// Two frames, ready to be sent, and how long they are.
//! fn two(a: &[u8], b: &[u8]) -> Result<Vec<usize>, Error> {
//!     let mut frames = Frames::new(Block::new(4096)?).map_err(|_| Error::BadState)?;
//!     assert!(frames.push(a) && frames.push(b));
//!     let (block, count) = frames.into_parts();
//!     let mut lengths = Vec::new();
//!     let mut at = 0;
//!     for _ in 0..count {
//!         let frame = frames::next(&block, at).ok_or(Error::BadArgument)?;
//!         lengths.push(frame.len());
//!         at = frame.end;
//!     }
//!     Ok(lengths)
//! }
//! ```

use crate::rt::Block;
use core::ops::Range;

/// The bytes of the longest frame: head and 1,500 bytes.
pub const LONGEST: usize = 1514;
/// The bytes of the shortest: a head.
pub const SHORTEST: usize = 14;
/// The bytes of a length.
const LENGTH: usize = 4;
/// The bytes of the smallest buffer: one with room for a frame of any length.
pub const ROOM: usize = LENGTH + LONGEST;

/// Where the length of the next frame lies, behind a frame that ends there.
fn aligned(end: usize) -> usize {
    end.next_multiple_of(LENGTH)
}

/// Whether a network carries frames of this length.
#[must_use]
pub fn is_length(len: usize) -> bool {
    (SHORTEST..=LONGEST).contains(&len)
}

/// Where the bytes of a frame lie in a block of this size that has this length at `at`.
fn place(size: usize, at: usize, len: usize) -> Option<Range<usize>> {
    let start = at.checked_add(LENGTH)?;
    let end = start.checked_add(len)?;
    (is_length(len) && end <= size).then_some(start..end)
}

/// Where the bytes of the frame lie that follows what ends at `end`: 0 for the first frame. `None`
/// if there is none, or one that no network carries.
#[must_use]
pub fn next(block: &Block, end: usize) -> Option<Range<usize>> {
    let (size, at) = (block.len(), aligned(end));
    if at.checked_add(LENGTH)? > size {
        return None;
    }
    place(size, at, block.load_u32(at) as usize)
}

/// Frames that are being put into a block.
#[derive(Debug)]
pub struct Frames {
    block: Block,
    size: usize,
    end: usize,
    count: u32,
}

impl Frames {
    /// None yet, in this block.
    ///
    /// # Errors
    /// The block itself if another has a view of it: it cannot be written.
    pub fn new(mut block: Block) -> Result<Frames, Block> {
        if block.unshare().is_err() {
            return Err(block);
        }
        Ok(Frames {
            size: block.len(),
            block,
            end: 0,
            count: 0,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The bytes that are left for the next frame's length and the frame.
    #[must_use]
    pub fn room(&self) -> usize {
        self.size.saturating_sub(aligned(self.end))
    }

    /// Puts a frame behind the others. Whether it was one, and there was room.
    #[must_use]
    pub fn push(&mut self, frame: &[u8]) -> bool {
        let at = aligned(self.end);
        let Some(place) = place(self.size, at, frame.len()) else {
            return false;
        };
        self.block.store_u32(at, frame.len() as u32);
        self.block.write(place.start, frame);
        self.end = place.end;
        self.count += 1;
        true
    }

    /// The block, and how many frames it holds.
    #[must_use]
    pub fn into_parts(self) -> (Block, u32) {
        (self.block, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_lies_in_its_block() {
        assert_eq!(place(ROOM, 0, LONGEST), Some(4..ROOM));
        assert_eq!(place(ROOM - 1, 0, LONGEST), None);
        assert_eq!(place(100, 60, SHORTEST), Some(64..78));
        assert_eq!(place(77, 60, SHORTEST), None);
        assert_eq!(place(usize::MAX, usize::MAX - 3, SHORTEST), None);
        assert_eq!(place(usize::MAX, usize::MAX - 17, SHORTEST), None);
    }

    #[test]
    fn only_what_a_network_carries_is_a_frame() {
        for len in [0, 1, SHORTEST - 1, LONGEST + 1, u32::MAX as usize] {
            assert_eq!(place(usize::MAX, 0, len), None, "{len}");
        }
    }

    #[test]
    fn lengths_lie_at_multiples_of_four() {
        for (end, at) in [(0, 0), (18, 20), (20, 20), (21, 24)] {
            assert_eq!(aligned(end), at);
        }
    }
}
