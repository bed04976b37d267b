//! Locks and counters of a kernel that runs on one processor and is not pre-empted.
//!
//! So a lock is never contended: it is a plain flag, which detects a lock that is taken twice.
//! Nothing spins, and nothing locks the bus. All `Sync` here rests on two obligations of a HAL: it
//! calls the kernel on one thread of its machine, and an interrupt that finds kernel code running
//! calls only functions that take note of it (`sing_kernel::hal`). Atomics in every object, in
//! preparation for several processors, were measured and made a round trip two thirds more
//! expensive ("Decisions" in the book).

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// `compare_exchange`, without the bus lock.
#[inline(always)]
pub fn exchange_if(cell: &AtomicU32, expected: u32, new: u32) -> bool {
    let as_expected = cell.load(Ordering::Relaxed) == expected;
    if as_expected {
        cell.store(new, Ordering::Relaxed);
    }
    as_expected
}

/// A counter, or a set of bits, that several contexts of the kernel change.
pub trait Counter {
    /// Type of the counter's values.
    type Value;

    /// Adds, wrapping round, and returns the previous value. Needs no bus lock: an interrupt that
    /// finds kernel code running changes nothing of the kernel but the set of pending lines.
    fn add(&self, n: Self::Value) -> Self::Value;

    /// Subtracts, wrapping round, and returns the previous value.
    fn sub(&self, n: Self::Value) -> Self::Value;
}

macro_rules! counters {
    ($($atomic:ident $value:ident;)*) => {$(
        impl Counter for core::sync::atomic::$atomic {
            type Value = $value;

            #[inline(always)]
            fn add(&self, n: $value) -> $value {
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

/// A value that one holder at a time can access.
#[derive(Default)]
pub struct SpinLock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, of which there is at most one at a time: one
// thread of the machine runs kernel code, as the module's head says, and `lock` finds the flag set
// while a guard exists.
unsafe impl<T: Send> Sync for SpinLock<T> {}
// SAFETY: the lock owns its value.
unsafe impl<T: Send> Send for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// Bytes from the lock to its value, for debuggers.
    pub const VALUE: usize = core::mem::offset_of!(SpinLock<T>, value);

    /// Makes a free lock.
    pub const fn new(value: T) -> Self {
        SpinLock {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Releases the lock, whoever holds it.
    ///
    /// # Safety
    /// Whoever holds it never uses or drops the guard.
    pub unsafe fn release(&self) {
        self.held.store(false, Ordering::Relaxed);
    }

    /// Takes the lock.
    ///
    /// # Panics
    /// If it is held already: no other thread could release it.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        if self.held.load(Ordering::Relaxed) {
            taken_twice();
        }
        self.held.store(true, Ordering::Relaxed);
        Guard {
            lock: self,
            here: PhantomData,
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        if self.held.load(Ordering::Relaxed) {
            return None;
        }
        self.held.store(true, Ordering::Relaxed);
        Some(Guard {
            lock: self,
            here: PhantomData,
        })
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
    /// Neither `Send` nor `Sync`: the value need not be.
    here: PhantomData<*mut T>,
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
        self.lock.held.store(false, Ordering::Relaxed);
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
