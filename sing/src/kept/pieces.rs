//! The machine code of a program's functions, kept for the next time that a program of this name is
//! compiled: of one that has changed a little, most functions have their code already.
//!
//! All of it is one file of the cache: for each function the digest by which the compiler knows it,
//! the number of bytes in four, least first, and the bytes. The file holds the functions of the last
//! compilation, sorted by their digests.

use super::cache::{Cache, Key};
use sing_compiler::{Keeper, Name};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The functions that were kept, and those that come.
pub struct Pieces {
    bytes: Vec<u8>,
    /// Where a function's code is in the bytes, and whether it was used.
    old: HashMap<Name, (Range<usize>, AtomicBool)>,
    new: Mutex<BTreeMap<Name, Vec<u8>>>,
}

impl Pieces {
    /// Reads what was kept under this name, if anything.
    pub fn read(cache: &Cache, key: &Key) -> Pieces {
        Pieces::of(cache.read(key).unwrap_or_default())
    }

    fn of(bytes: Vec<u8>) -> Pieces {
        let mut old = HashMap::new();
        let mut at = 0;
        while let Some((name, range)) = entry(&bytes, at) {
            at = range.end;
            old.insert(name, (range, AtomicBool::new(false)));
        }
        Pieces {
            bytes,
            old,
            new: Mutex::new(BTreeMap::new()),
        }
    }

    /// Keeps the functions that were used and those that came, if that is another set than before.
    pub fn write(self, cache: &Cache, key: &Key) -> io::Result<()> {
        match self.all() {
            Some(bytes) => cache.put(key, &bytes).map(drop),
            None => Ok(()),
        }
    }

    /// The bytes of the new file; `None` if nothing has come.
    fn all(self) -> Option<Vec<u8>> {
        let new = self
            .new
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if new.is_empty() {
            return None;
        }
        let old = self.old.iter();
        let used = old.filter(|(_, (_, used))| used.load(Ordering::Relaxed));
        let used = used.map(|(name, (range, _))| (name, &self.bytes[range.clone()]));
        let mut all: BTreeMap<&Name, &[u8]> = used.collect();
        all.extend(new.iter().map(|(name, bytes)| (name, bytes.as_slice())));
        let mut bytes = Vec::new();
        for (name, piece) in all {
            // The code of one function has at most 16 MiB.
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(&(piece.len() as u32).to_le_bytes());
            bytes.extend_from_slice(piece);
        }
        Some(bytes)
    }
}

/// The function at this place: its name, and where its code is.
fn entry(bytes: &[u8], at: usize) -> Option<(Name, Range<usize>)> {
    let (name, rest) = bytes.get(at..)?.split_first_chunk::<32>()?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    let len = u32::from_le_bytes(*len) as usize;
    let start = bytes.len() - rest.len();
    (len <= rest.len()).then_some((*name, start..start + len))
}

impl Keeper for Pieces {
    fn get(&self, name: &Name) -> Option<&[u8]> {
        let (range, used) = self.old.get(name)?;
        used.store(true, Ordering::Relaxed);
        self.bytes.get(range.clone())
    }

    fn put(&self, name: Name, code: Vec<u8>) {
        let mut new = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        new.insert(name, code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_the_last_time_are_kept() {
        let first = Pieces::of(Vec::new());
        for n in [3, 1, 2] {
            assert_eq!(first.get(&[n; 32]), None);
            first.put([n; 32], vec![n; usize::from(n)]);
        }
        let bytes = first.all().unwrap();
        let second = Pieces::of(bytes.clone());
        assert_eq!(second.get(&[3; 32]), Some(&[3, 3, 3][..]));
        assert_eq!(second.get(&[1; 32]), Some(&[1][..]));
        assert_eq!(second.get(&[4; 32]), None);
        // Nothing has come: the file stays.
        assert_eq!(second.all(), None);
        let third = Pieces::of(bytes.clone());
        assert!(third.get(&[3; 32]).is_some());
        third.put([4; 32], vec![9]);
        let fourth = Pieces::of(third.all().unwrap());
        let found: Vec<bool> = (1..5).map(|n| fourth.get(&[n; 32]).is_some()).collect();
        assert_eq!(found, [false, false, true, true]);
        // What is cut short has the functions before the cut.
        for len in 0..bytes.len() {
            let cut = Pieces::of(bytes[..len].to_vec());
            assert!(cut.old.len() < 3);
        }
    }
}
