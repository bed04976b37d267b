//! Type-stable stores of kernel objects: an object is found by its index and never given back to the heap.

use crate::lock::{Counter, SpinLock};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

const CHUNK: usize = 256;

/// Objects of one kind, at most `CHUNKS` times 256 of them: 1,048,576 where nothing else is said.
pub struct Slab<T: 'static, const CHUNKS: usize = 4096> {
    chunks: [AtomicPtr<[T; CHUNK]>; CHUNKS],
    free: SpinLock<Free>,
    live: AtomicU32,
}

struct Free {
    indices: Vec<u32>,
    fresh: u32,
}

impl<T: Default + Sync, const CHUNKS: usize> Slab<T, CHUNKS> {
    /// An empty store.
    #[must_use]
    pub const fn new() -> Self {
        Slab {
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            free: SpinLock::new(Free {
                indices: Vec::new(),
                fresh: 0,
            }),
            live: AtomicU32::new(0),
        }
    }

    /// Number of objects in use.
    pub fn live(&self) -> u32 {
        self.live.load(Ordering::Relaxed)
    }

    /// The object with this index, in use or not.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<&'static T> {
        let p = self
            .chunks
            .get(index as usize / CHUNK)?
            .load(Ordering::Relaxed);
        // SAFETY: a chunk is leaked before its address is stored, initialised, and never freed.
        let chunk: &'static [T; CHUNK] = unsafe { p.as_ref()? };
        Some(&chunk[index as usize % CHUNK])
    }

    /// Takes an object into use, as the one who used it last left it. `None` when all are, or memory is short.
    pub fn take(&self) -> Option<(u32, &'static T)> {
        let mut free = self.free.lock();
        let index = match free.indices.pop() {
            Some(i) => i,
            None => {
                let i = free.fresh;
                let chunk = self.chunks.get(i as usize / CHUNK)?;
                if (i as usize).is_multiple_of(CHUNK) {
                    // Giving back never allocates: there is room for every index.
                    let fresh = i as usize + CHUNK;
                    if free.indices.capacity() < fresh {
                        let room = fresh.max(i as usize * 2) - free.indices.len();
                        free.indices.try_reserve_exact(room).ok()?;
                    }
                    let mut items: Vec<T> = Vec::new();
                    items.try_reserve_exact(CHUNK).ok()?;
                    items.resize_with(CHUNK, T::default);
                    let items: Box<[T; CHUNK]> = items.try_into().ok()?;
                    chunk.store(Box::into_raw(items), Ordering::Release);
                }
                free.fresh += 1;
                i
            }
        };
        drop(free);
        self.live.add(1);
        self.get(index).map(|t| (index, t))
    }

    /// Gives an object back.
    pub fn give(&self, index: u32) {
        self.live.sub(1);
        self.free.lock().indices.push(index);
    }

    /// Every object that was ever in use, by index.
    pub fn all(&self) -> impl Iterator<Item = &'static T> + '_ {
        let n = self.free.lock().fresh;
        (0..n).filter_map(|i| self.get(i))
    }
}

impl<T: Default + Sync, const CHUNKS: usize> Default for Slab<T, CHUNKS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_and_keeps_addresses() {
        let s: Box<Slab<AtomicU32>> = Box::default();
        let (a, ra) = s.take().unwrap();
        let (b, _) = s.take().unwrap();
        assert_ne!(a, b);
        ra.store(7, Ordering::Relaxed);
        s.give(a);
        assert_eq!(s.live(), 1);
        let (c, rc) = s.take().unwrap();
        assert_eq!((a, 7), (c, rc.load(Ordering::Relaxed)));
        let more: Vec<u32> = (0..1000).map(|_| s.take().unwrap().0).collect();
        assert!(more.is_sorted());
        assert_eq!(s.live(), 1002);
        assert!(s.get(5000).is_none() && s.get(u32::MAX).is_none());
    }
}
