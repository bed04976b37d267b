//! What is asked for: the files of SPECweb99, and how often each is wanted.
//!
//! The papers' server was measured with that benchmark ([S] 5.1). A directory has 36 files, nine of
//! each of four classes; classes, directories and files within a class are not equally popular.

use anyhow::{Context, Result};
use std::path::Path;

/// The share of each class, in percent: files of up to 1 KB, 10 KB, 100 KB and 1 MB.
const CLASSES: [u32; 4] = [35, 50, 14, 1];
/// The place of each of a class's nine files among them, the most wanted first: as Zipf has it, the
/// one at the n-th place is wanted 1/n as often as the first.
const PLACES: [u32; 9] = [9, 6, 4, 2, 1, 3, 5, 7, 8];
/// How many of a hundred requests of the mix are for files.
pub const STATIC: u32 = 70;
/// How many of a hundred requests for programs send a form.
pub const FORMS: u32 = 16;
/// The form: what a client of SPECweb99 posts is about as long.
pub const FORM: &[u8; 176] = &[b'a'; 176];

/// A file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its directory.
    pub directory: u32,
    /// Its class, from 0.
    pub class: u32,
    /// Its number in the class, from 1.
    pub number: u32,
}

impl Wanted {
    /// Its path below the server's directory.
    pub fn path(self) -> String {
        format!(
            "file_set/dir{:05}/class{}_{}",
            self.directory, self.class, self.number
        )
    }

    /// Its size: steps of a tenth of the class's largest one.
    pub fn bytes(self) -> usize {
        self.number as usize * 102 * 10_usize.pow(self.class) + self.number as usize / 2
    }

    /// Its content: letters, the same at the same place in all files.
    pub fn content(self) -> Vec<u8> {
        (0..self.bytes()).map(|at| b'a' + (at % 26) as u8).collect()
    }
}

/// Random numbers, always the same from the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below `most`.
    pub fn below(&mut self, most: u32) -> u32 {
        (self.next() % u64::from(most.max(1))) as u32
    }

    /// A position, drawn with these weights.
    fn weighted(&mut self, weights: impl Iterator<Item = f64> + Clone) -> u32 {
        let sum: f64 = weights.clone().sum();
        let mut left = self.next() as f64 / u64::MAX as f64 * sum;
        let mut last = 0;
        for (at, weight) in weights.enumerate() {
            last = at as u32;
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        last
    }
}

/// The next wanted file among those of so many directories.
pub fn draw(random: &mut Random, directories: u32) -> Wanted {
    let directory = random.weighted((1..=directories).map(|place| 1.0 / f64::from(place)));
    let class = random.weighted(CLASSES.iter().map(|share| f64::from(*share)));
    let number = random.weighted(PLACES.iter().map(|place| 1.0 / f64::from(*place)));
    Wanted {
        directory,
        class,
        number: number + 1,
    }
}

/// Makes the files of so many directories below a folder.
pub fn make(folder: &Path, directories: u32) -> Result<()> {
    for directory in 0..directories {
        for class in 0..4 {
            for number in 1..=9 {
                let wanted = Wanted {
                    directory,
                    class,
                    number,
                };
                let path = folder.join(wanted.path());
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent)
                        .with_context(|| format!("cannot create {}", parent.display()))?;
                }
                crate::files::write(&path, wanted.content())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_classes() {
        let size = |class, number| {
            let directory = 0;
            Wanted {
                directory,
                class,
                number,
            }
            .bytes()
        };
        for (class, least, most) in [
            (0, 100, 1_000),
            (1, 1_000, 10_000),
            (2, 10_000, 100_000),
            (3, 100_000, 1_000_000),
        ] {
            assert!(size(class, 1) >= least && size(class, 9) <= most, "{class}");
        }
    }

    #[test]
    fn what_is_wanted_is_wanted_as_often_as_the_benchmark_says() {
        let mut random = Random(1);
        let (mut classes, mut middle, mut first) = ([0; 4], 0, 0);
        const DRAWN: u32 = 100_000;
        for _ in 0..DRAWN {
            let wanted = draw(&mut random, 4);
            classes[wanted.class as usize] += 1;
            middle += u32::from(wanted.number == 5);
            first += u32::from(wanted.directory == 0);
        }
        let percent = |count: u32| (f64::from(count) * 1000.0 / f64::from(DRAWN)).round() / 10.0;
        for (count, share) in classes.into_iter().zip([35.0, 50.0, 14.0, 1.0]) {
            assert!((percent(count) - share).abs() < 0.6, "{classes:?}");
        }
        // 1 of 1 + 1/2 + ... + 1/9, and of 1 + ... + 1/4.
        assert!((percent(middle) - 35.3).abs() < 0.6, "{middle}");
        assert!((percent(first) - 48.0).abs() < 0.6, "{first}");
    }
}
