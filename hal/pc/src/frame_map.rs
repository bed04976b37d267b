//! The map of free frames: a bit for each frame, and a summary with a bit for each word of the map
//! that is not zero.
//!
//! A frame is taken or freed in a few steps, whatever the pattern. A run of neighbouring frames is
//! found by a search of the map, which is only for rare requests (memory for a device). Freeing a
//! frame twice is detected.

use crate::regions::{PAGE, Regions};
use core::ops::Range;

/// Frames that a word of the first map stands for, and words that one of the second does.
const BITS: u64 = 64;

/// Free frames, by number.
#[derive(Debug)]
pub struct FrameMap<'a> {
    /// A bit for each frame, set where it is free.
    words: &'a mut [u64],
    /// A bit for each word, set where it is not zero.
    summary: &'a mut [u64],
    /// The word of `summary` at which the next search begins.
    hint: usize,
    free: u64,
}

/// Words of memory that a map of `frames` frames needs.
pub const fn words_for(frames: u64) -> u64 {
    frames.div_ceil(BITS) + frames.div_ceil(BITS).div_ceil(BITS)
}

/// The most of memory that the map may take: one byte in so many.
const SHARE: u64 = 16;

/// Where the map of all frames of these regions is to lie, itself in one of them and below `reach`.
/// The map covers all addresses up to the last region, so where that lies so far above the others
/// that its part of the map costs more than it brings, it is left out: the second number is the
/// bytes in such regions.
pub fn place_for_map(regions: &mut Regions, reach: u64) -> Option<(Range<u64>, u64)> {
    let mut left_out = 0;
    loop {
        let last = regions.iter().last()?;
        let size = (words_for(last.end / PAGE) * 8).next_multiple_of(PAGE);
        let place = regions
            .iter()
            .map(|r| r.start..r.end.min(reach))
            .find(|r| r.end.saturating_sub(r.start) >= size);
        match place {
            Some(place) if size <= regions.bytes() / SHARE => {
                return Some((place.start..place.start + size, left_out));
            }
            _ => left_out += regions.cut(last.start),
        }
    }
}

impl<'a> FrameMap<'a> {
    /// A map in which no frame is free, in memory of `words_for(frames)` words.
    pub fn new(memory: &'a mut [u64], frames: u64) -> Self {
        memory.fill(0);
        let (words, summary) = memory.split_at_mut(frames.div_ceil(BITS) as usize);
        FrameMap {
            words,
            summary,
            hint: 0,
            free: 0,
        }
    }

    /// The number of free frames.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Takes a frame: from `first` on if there is one, else from below.
    pub fn take(&mut self, first: u64) -> Option<u64> {
        let least = (first / BITS / BITS) as usize;
        let order = self.hint.max(least)..self.summary.len();
        let found = order
            .chain(least..self.hint)
            .chain((0..least).rev())
            .find(|&i| self.summary.get(i).is_some_and(|s| *s != 0))?;
        self.hint = found;
        let word = found as u64 * BITS + u64::from(self.summary[found].trailing_zeros());
        let frame = word * BITS + u64::from(self.words[word as usize].trailing_zeros());
        self.clear(frame);
        Some(frame)
    }

    /// Takes `count` neighbouring frames, the first a multiple of `align`, all below `limit`: the
    /// highest such run, as low frames are kept for requests with lower limits.
    pub fn take_run(&mut self, count: u64, align: u64, limit: u64) -> Option<u64> {
        let end = limit.min(self.words.len() as u64 * BITS);
        let align = align.max(1);
        let mut at = end.checked_sub(count.max(1))? / align * align;
        loop {
            // The last frame of the run that is not free bounds the next candidate.
            match (at..at + count).rev().find(|&frame| !self.is_free(frame)) {
                None => break,
                Some(taken) => at = taken.checked_sub(count)? / align * align,
            }
        }
        (at..at + count).for_each(|frame| self.clear(frame));
        Some(at)
    }

    /// Whether a frame is free.
    pub fn is_free(&self, frame: u64) -> bool {
        self.words
            .get((frame / BITS) as usize)
            .is_some_and(|w| w >> (frame % BITS) & 1 != 0)
    }

    /// Frees a frame.
    ///
    /// # Panics
    /// If it is free already or not in the map, so the caller has freed what it did not own.
    pub fn give(&mut self, frame: u64) {
        assert!(!self.is_free(frame), "frame {frame:#x} is free already");
        let word = frame / BITS;
        self.words[word as usize] |= 1 << (frame % BITS);
        self.summary[(word / BITS) as usize] |= 1 << (word % BITS);
        // The frame used last is taken next, as it is in the caches.
        self.hint = (word / BITS) as usize;
        self.free += 1;
    }

    /// Frees a range of frames, none of which is free.
    pub fn give_range(&mut self, range: core::ops::Range<u64>) {
        let mut frame = range.start;
        while frame < range.end {
            if frame.is_multiple_of(BITS) && range.end - frame >= BITS {
                let word = frame / BITS;
                self.words[word as usize] = u64::MAX;
                self.summary[(word / BITS) as usize] |= 1 << (word % BITS);
                self.free += BITS;
                frame += BITS;
            } else {
                self.give(frame);
                frame += 1;
            }
        }
        self.hint = 0;
    }

    fn clear(&mut self, frame: u64) {
        let word = frame / BITS;
        self.words[word as usize] &= !(1 << (frame % BITS));
        if self.words[word as usize] == 0 {
            self.summary[(word / BITS) as usize] &= !(1 << (word % BITS));
        }
        self.free -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_map(frames: u64, f: impl FnOnce(FrameMap)) {
        let mut memory = vec![u64::MAX; words_for(frames) as usize];
        f(FrameMap::new(&mut memory, frames));
    }

    fn placed(ranges: &[Range<u64>]) -> (Option<(Range<u64>, u64)>, u64) {
        let mut regions = Regions::new();
        ranges.iter().for_each(|r| regions.add(r.clone()));
        let place = place_for_map(&mut regions, 4 << 30);
        (place, regions.bytes())
    }

    #[test]
    fn the_map_lies_in_the_first_region_that_has_room() {
        const MIB: u64 = 1 << 20;
        let (place, used) = placed(&[MIB..MIB + PAGE, 2 * MIB..66 * MIB]);
        // 16,896 frames: a bit each, and their summary.
        assert_eq!(place, Some((MIB..MIB + PAGE, 0)));
        assert_eq!(used, 64 * MIB + PAGE);
        let (place, _) = placed(&[MIB..MIB + PAGE, 2 * MIB..512 * MIB]);
        assert_eq!(place, Some((2 * MIB..2 * MIB + 5 * PAGE, 0)));
        assert_eq!(placed(&[]).0, None);
        let high = 5 << 30..6 << 30;
        let (place, _) = placed(core::slice::from_ref(&high));
        assert_eq!(place, None, "the boot code maps none of it");
    }

    #[test]
    fn a_region_for_which_the_map_would_be_too_large_is_left_out() {
        const GIB: u64 = 1 << 30;
        let low = 1 << 20..512 << 20;
        let (far, further) = (4096 * GIB, 6000 * GIB);
        // Its part of the map would be 128 MiB.
        let (place, used) = placed(&[low.clone(), far..far + (16 << 20)]);
        let (place, left_out) = place.unwrap();
        assert!(low.contains(&place.start) && place.end - place.start < 64 << 10);
        assert_eq!((left_out, used), (16 << 20, 511 << 20));
        // Where there is much of it, the map is worth its price.
        let (place, used) = placed(&[low.clone(), far..far + 64 * GIB]);
        assert_eq!(place.map(|p| p.1), Some(0));
        assert_eq!(used, 64 * GIB + (511 << 20));
        // No room for the map below 4 GiB, or two such regions: as many as must be.
        let small = 1 << 20..32 << 20;
        let (place, _) = placed(&[small.clone(), far..far + 64 * GIB]);
        assert_eq!(place.map(|p| p.1), Some(64 * GIB));
        let (place, used) = placed(&[small, far..far + 1, further..further + 2]);
        assert_eq!((place.map(|p| p.1), used), (Some(3), 31 << 20));
    }

    #[test]
    fn every_frame_is_taken_once() {
        with_map(10_000, |mut map| {
            map.give_range(3..9_990);
            let mut taken: Vec<u64> = std::iter::from_fn(|| map.take(0)).collect();
            taken.sort_unstable();
            assert!(taken.into_iter().eq(3..9_990));
            assert_eq!(map.free(), 0);
            map.give(77);
            assert_eq!((map.take(0), map.take(0)), (Some(77), None));
        });
    }

    #[test]
    fn frames_above_are_taken_first_and_low_ones_at_last() {
        with_map(100_000, |mut map| {
            map.give_range(0..100);
            map.give_range(81_920..81_930);
            let taken: Vec<u64> = std::iter::from_fn(|| map.take(81_920)).collect();
            assert!(taken[..10].iter().all(|&f| f >= 81_920));
            assert_eq!(taken.len(), 110);
        });
    }

    #[test]
    fn runs_keep_to_alignment_and_limit() {
        with_map(1_000, |mut map| {
            map.give_range(0..1_000);
            assert_eq!(map.take_run(16, 16, 500), Some(480));
            assert_eq!(map.take_run(16, 16, 500), Some(464));
            assert_eq!(map.take_run(505, 1, 1_000), None);
            assert_eq!(map.take_run(500, 1, 1_000), Some(500));
            assert_eq!(map.free(), 1_000 - 532);
            assert!(!map.is_free(470) && map.is_free(496) && map.is_free(463));
            // A gap is found if it is large enough, and not otherwise.
            for frame in 464..470 {
                map.give(frame);
            }
            assert_eq!(map.take_run(7, 1, 470), Some(463));
            assert_eq!(map.take_run(1, 512, 1_000), Some(0));
            assert_eq!(map.take_run(1, 512, 1_000), None);
            assert_eq!(map.take_run(1, 1, 0), None);
        });
    }

    #[test]
    fn random_patterns_agree_with_a_list() {
        with_map(5_000, |mut map| {
            let mut model = vec![false; 5_000];
            let mut seed = 7u64;
            let mut random = |n: u64| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) % n
            };
            for _ in 0..20_000 {
                let frame = random(5_000);
                match random(3) {
                    0 if !model[frame as usize] => {
                        map.give(frame);
                        model[frame as usize] = true;
                    }
                    1 => match map.take(frame) {
                        Some(taken) => assert!(std::mem::take(&mut model[taken as usize])),
                        None => assert!(model.iter().all(|free| !free)),
                    },
                    _ => {
                        let (count, align) = (1 + random(20), 1 << random(4));
                        let fits = |at: u64| {
                            at + count <= frame && (at..at + count).all(|f| model[f as usize])
                        };
                        let best = (0..5_000 / align)
                            .rev()
                            .map(|i| i * align)
                            .find(|&at| fits(at));
                        assert_eq!(map.take_run(count, align, frame), best);
                        let taken = best.into_iter().flat_map(|at| at..at + count);
                        taken.for_each(|f| model[f as usize] = false);
                    }
                }
                assert_eq!(
                    map.free(),
                    model.iter().filter(|free| **free).count() as u64
                );
            }
        });
    }

    #[test]
    #[should_panic(expected = "free already")]
    fn a_second_release_is_noticed() {
        with_map(100, |mut map| {
            map.give(5);
            map.give(5);
        });
    }
}
