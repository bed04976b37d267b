//! The parts of an allocation, by their offsets in it: a digital search tree whose nodes are the
//! parts' own records. So attaching a part needs no memory, and at most as many steps as an offset
//! has bits.
//!
//! Invariant: the parts below a branch of a node at depth `d` have offsets whose `d` highest bits
//! agree with the node's; their next bit selects the branch.

use super::{ALLOCATIONS, Allocation};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A link to a part: its index plus 1, or 0 for none.
type Place = AtomicU32;

/// An allocation's node in the tree of another's parts.
#[derive(Default)]
pub(super) struct AsPart {
    offset: AtomicU32,
    branches: [Place; 2],
}

fn part_at(place: &Place) -> Option<(u32, &'static Allocation)> {
    let index = place.load(Relaxed).checked_sub(1)?;
    Some((index, ALLOCATIONS.get(index)?))
}

/// The link to a leaf below a link, or the link itself if its part is a leaf.
fn leaf_below(mut place: &'static Place) -> &'static Place {
    while let Some((_, part)) = part_at(place) {
        let branches = &part.as_part.branches;
        match branches.iter().find(|b| b.load(Relaxed) != 0) {
            Some(branch) => place = branch,
            None => break,
        }
    }
    place
}

impl Allocation {
    /// The link to the part at an offset, or the empty link where it would be inserted.
    fn place_of(&'static self, offset: u32) -> &'static Place {
        let mut place = &self.parts;
        let mut bit = u32::BITS;
        while let Some((_, part)) = part_at(place) {
            if part.as_part.offset.load(Relaxed) == offset || bit == 0 {
                break;
            }
            bit -= 1;
            place = &part.as_part.branches[(offset >> bit & 1) as usize];
        }
        place
    }

    /// Whether there is a part at an offset.
    pub(super) fn has_part_at(&'static self, offset: u32) -> bool {
        self.place_of(offset).load(Relaxed) != 0
    }

    /// Inserts an allocation as the part at an offset that has none.
    pub(super) fn insert_part(&'static self, offset: u32, index: u32, part: &'static Allocation) {
        part.as_part.offset.store(offset, Relaxed);
        self.place_of(offset).store(index + 1, Relaxed);
    }

    /// Removes the part at an offset; its index.
    pub(super) fn remove_part(&'static self, offset: u32) -> Option<u32> {
        let place = self.place_of(offset);
        let (index, part) = part_at(place)?;
        // A leaf below it replaces it, which keeps the invariant.
        let leaf = leaf_below(place);
        let heir = leaf.swap(0, Relaxed);
        if heir != index + 1 {
            let (_, heir_part) = part_at(&AtomicU32::new(heir))?;
            for (to, from) in heir_part
                .as_part
                .branches
                .iter()
                .zip(&part.as_part.branches)
            {
                to.store(from.swap(0, Relaxed), Relaxed);
            }
            place.store(heir, Relaxed);
        }
        Some(index)
    }

    /// Removes any one part; its index.
    pub(super) fn take_part(&'static self) -> Option<u32> {
        let leaf = leaf_below(&self.parts);
        leaf.swap(0, Relaxed).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    #[test]
    fn parts_are_found_by_their_offsets_until_they_are_taken_out() {
        let _alone = crate::alone();
        let (index, whole) = ALLOCATIONS.take().unwrap();
        let mut free: Vec<(u32, &'static Allocation)> =
            (0..300).map(|_| ALLOCATIONS.take().unwrap()).collect();
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        let mut x = 1u64;
        for round in 0..50_000u32 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let few = (x >> 33) as u32 % 500;
            // Neighbours, multiples, and offsets that differ in their highest bits alone.
            let offset = match round % 3 {
                0 => few * 4,
                1 => few << 20,
                _ => ((few % 2) << 29) | (few % 16 * 4),
            };
            assert_eq!(whole.has_part_at(offset), known.contains_key(&offset));
            if let Some(index) = known.remove(&offset) {
                assert_eq!(whole.remove_part(offset), Some(index));
                free.push((index, ALLOCATIONS.get(index).unwrap()));
            } else if let Some((index, part)) = free.pop() {
                whole.insert_part(offset, index, part);
                known.insert(offset, index);
            }
        }
        assert!(known.len() > 100);
        let mut taken: Vec<u32> = core::iter::from_fn(|| whole.take_part()).collect();
        taken.sort_unstable();
        let mut all: Vec<u32> = known.values().copied().collect();
        all.sort_unstable();
        assert_eq!(taken, all);
        assert_eq!(whole.remove_part(0), None);
        let records = free.into_iter().map(|(index, _)| index).chain(taken);
        records.chain([index]).for_each(|i| ALLOCATIONS.give(i));
    }
}
