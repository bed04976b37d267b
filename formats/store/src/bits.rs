//! Sets of blocks, in memory for the groups that have any.

use crate::records::{Bitmap, GROUP};
use alloc::collections::BTreeMap;

/// A bitmap without blocks.
pub const NONE: Bitmap = [0; GROUP as usize / 64];

/// The parts of a range of blocks by group: the group, the first block within it, how many.
pub fn by_group(start: u64, blocks: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = start + blocks;
    let mut at = start;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let group = at / GROUP;
        let part = ((group + 1) * GROUP).min(end) - at;
        let found = (group, (at % GROUP) as usize, part as usize);
        at += part;
        Some(found)
    })
}

/// The words of a bitmap that a range within it touches, each with the bits of the range.
fn words(from: usize, count: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = from + count;
    (from / 64..end.div_ceil(64)).map(move |word| {
        let low = from.saturating_sub(word * 64).min(63);
        let high = (end - word * 64).min(64);
        (word, (u64::MAX >> (64 - (high - low))) << low)
    })
}

/// Adds blocks to a bitmap; whether none of them were in it.
pub fn set(bits: &mut Bitmap, from: usize, count: usize) -> bool {
    let mut fresh = true;
    for (word, mask) in words(from, count) {
        fresh &= bits[word] & mask == 0;
        bits[word] |= mask;
    }
    fresh
}

/// Removes blocks from a bitmap; whether all of them were in it.
pub fn clear(bits: &mut Bitmap, from: usize, count: usize) -> bool {
    let mut all = true;
    for (word, mask) in words(from, count) {
        all &= bits[word] & mask == mask;
        bits[word] &= !mask;
    }
    all
}

/// Whether a bitmap has any of these blocks.
pub fn any(bits: &Bitmap, from: usize, count: usize) -> bool {
    words(from, count).any(|(word, mask)| bits[word] & mask != 0)
}

/// How many blocks from here on are not in the bitmap, at most `most`.
pub fn run(bits: &Bitmap, from: usize, most: usize) -> usize {
    let end = (from + most).min(GROUP as usize);
    let mut at = from;
    while at < end {
        let rest = bits[at / 64] >> (at % 64);
        if rest != 0 {
            return (at + rest.trailing_zeros() as usize).min(end) - from;
        }
        at = (at / 64 + 1) * 64;
    }
    end.saturating_sub(from)
}

/// The first block from here on that is not in the bitmap.
pub fn first_free(bits: &Bitmap, from: usize) -> Option<usize> {
    let mut at = from;
    while at < GROUP as usize {
        let rest = !bits[at / 64] >> (at % 64);
        if rest != 0 {
            return Some(at + rest.trailing_zeros() as usize);
        }
        at = (at / 64 + 1) * 64;
    }
    None
}

/// How many blocks are in a bitmap.
pub fn count(bits: &Bitmap) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// A set of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    groups: BTreeMap<u64, Bitmap>,
    count: u64,
}

impl Bits {
    /// How many blocks there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The blocks of a group.
    pub fn group(&self, group: u64) -> Option<&Bitmap> {
        self.groups.get(&group)
    }

    /// The groups that have blocks.
    pub fn groups(&self) -> impl Iterator<Item = (u64, &Bitmap)> {
        self.groups.iter().map(|(group, bits)| (*group, bits))
    }

    pub fn insert(&mut self, start: u64, blocks: u64) {
        for (group, from, part) in by_group(start, blocks) {
            let bits = self.groups.entry(group).or_insert(NONE);
            self.count -= count(bits);
            set(bits, from, part);
            self.count += count(bits);
        }
    }

    pub fn remove(&mut self, start: u64, blocks: u64) {
        for (group, from, part) in by_group(start, blocks) {
            if let Some(bits) = self.groups.get_mut(&group) {
                self.count -= count(bits);
                clear(bits, from, part);
                self.count += count(bits);
                if *bits == NONE {
                    self.groups.remove(&group);
                }
            }
        }
    }

    /// Whether any of these blocks are in the set.
    pub fn any(&self, start: u64, blocks: u64) -> bool {
        if self.groups.is_empty() || blocks == 0 {
            return false;
        }
        // Over the groups that have blocks, as the range may be of any length.
        let last = (start + blocks - 1) / GROUP;
        self.groups
            .range(start / GROUP..=last)
            .any(|(group, bits)| {
                let from = start.max(group * GROUP) % GROUP;
                let end = (start + blocks).min((group + 1) * GROUP) - group * GROUP;
                any(bits, from as usize, (end - from) as usize)
            })
    }

    /// Removes the blocks of another set.
    pub fn subtract(&mut self, other: &Bits) {
        for (group, gone) in &other.groups {
            if let Some(bits) = self.groups.get_mut(group) {
                self.count -= count(bits);
                for (word, mask) in bits.iter_mut().zip(gone) {
                    *word &= !mask;
                }
                self.count += count(bits);
                if *bits == NONE {
                    self.groups.remove(group);
                }
            }
        }
    }

    /// Adds the blocks of another set.
    pub fn append(&mut self, other: &Bits) {
        for (group, more) in &other.groups {
            let bits = self.groups.entry(*group).or_insert(NONE);
            self.count -= count(bits);
            for (word, mask) in bits.iter_mut().zip(more) {
                *word |= mask;
            }
            self.count += count(bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_go_in_and_out() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut bits = Bits::default();
        let mut model = [false; 3 * GROUP as usize];
        for _ in 0..2000 {
            let start = random.usize(..model.len());
            let blocks = random.usize(1..=(model.len() - start).min(700));
            let (at, n) = (start as u64, blocks as u64);
            let range = &mut model[start..start + blocks];
            assert_eq!(bits.any(at, n), range.iter().any(|&b| b));
            if random.bool() {
                range.fill(true);
                bits.insert(at, n);
            } else {
                range.fill(false);
                bits.remove(at, n);
            }
            assert_eq!(bits.count(), model.iter().filter(|&&b| b).count() as u64);
        }
        let group = bits.group(1).copied().unwrap_or(NONE);
        let here = &model[GROUP as usize..2 * GROUP as usize];
        for from in 0..GROUP as usize {
            let free = here[from..].iter().take(100).take_while(|&&b| !b).count();
            assert_eq!(run(&group, from, 100), free);
            let first = here[from..].iter().position(|&b| !b).map(|p| p + from);
            assert_eq!(first_free(&group, from), first);
        }
    }
}
