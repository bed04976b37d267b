//! Spin locks that cost nothing but a flag while there is one processor.
//!
//! The kernel is not pre-empted, so with one processor a lock is never contended; it then is a plain flag,
//! which still finds a lock taken twice. With the feature `smp` it is a test-and-set lock.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Whether several processors may run the kernel.
#[inline(always)]
#[must_use]
pub const fn several_processors() -> bool {
    cfg!(feature = "smp")
}

/// `compare_exchange`, without the bus lock while there is one processor.
#[inline(always)]
pub fn exchange_if(cell: &AtomicU32, expected: u32, new: u32) -> bool {
    if several_processors() {
        cell.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    } else if cell.load(Ordering::Relaxed) == expected {
        cell.store(new, Ordering::Relaxed);
        true
    } else {
        false
    }
}

/// A counter, or a cell of bits that several contexts of the kernel change.
pub trait Counter {
    /// Its values.
    type Value;

    /// Adds, and returns the value before; wraps round. Without the bus lock while there is one processor: an
    /// interrupt that finds the kernel changes nothing of the kernel's but the set of pending lines.
    fn add(&self, n: Self::Value) -> Self::Value;

    /// Subtracts, likewise.
    fn sub(&self, n: Self::Value) -> Self::Value;
}

macro_rules! counters {
    ($($atomic:ident $value:ident;)*) => {$(
        impl Counter for core::sync::atomic::$atomic {
            type Value = $value;

            #[inline(always)]
            fn add(&self, n: $value) -> $value {
                if several_processors() {
                    return self.fetch_add(n, Ordering::Relaxed);
                }
                let before = self.load(Ordering::Relaxed);
                self.store(before.wrapping_add(n), Ordering::Relaxed);
                before
            }

            #[inline(always)]
            fn sub(&self, n: $value) -> $value {
                self.add(n.wrapping_neg())
            }
        }
    )*};
}

counters! {
    AtomicU32 u32;
    AtomicU64 u64;
}

/// A value that one holder at a time can reach.
#[derive(Default)]
pub struct SpinLock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, of which there is at most one at a time (see `lock`).
unsafe impl<T: Send> Sync for SpinLock<T> {}
// SAFETY: the lock owns its value.
unsafe impl<T: Send> Send for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Self {
        SpinLock {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock.
    ///
    /// # Panics
    /// With one processor, when it is held already: there is nobody who could release it.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        if several_processors() {
            self.lock_contended();
        } else {
            if self.held.load(Ordering::Relaxed) {
                taken_twice();
            }
            self.held.store(true, Ordering::Relaxed);
        }
        Guard { lock: self }
    }

    #[cold]
    fn lock_contended(&self) {
        while self.held.swap(true, Ordering::Acquire) {
            while self.held.load(Ordering::Relaxed) {
                core::hint::spin_loop();
            }
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        if several_processors() {
            if self.held.swap(true, Ordering::Acquire) {
                return None;
            }
        } else {
            if self.held.load(Ordering::Relaxed) {
                return None;
            }
            self.held.store(true, Ordering::Relaxed);
        }
        Some(Guard { lock: self })
    }
}

#[cold]
#[inline(never)]
fn taken_twice() -> ! {
    panic!("a kernel lock was taken twice")
}

/// Access to the value, until dropped.
pub struct Guard<'a, T> {
    lock: &'a SpinLock<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a guard exists, so the lock is held by its owner alone.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes() {
        let l = SpinLock::new(1);
        let g = l.lock();
        assert!(l.try_lock().is_none());
        drop(g);
        *l.lock() += 1;
        assert_eq!(*l.lock(), 2);
    }

    #[test]
    #[should_panic(expected = "taken twice")]
    fn finds_a_lock_taken_twice() {
        let l = SpinLock::new(());
        let _a = l.lock();
        let _b = l.lock();
    }
}
