//! Charged memory: kernel allocations on behalf of a SIP, which the SIP pays for.
//!
//! Invariants:
//! - The capacity of a vector is charged before it is allocated, and discharged when it is freed.
//! - Nothing here panics or ends the system for want of memory: a request that cannot be served or
//!   paid for is refused, and changes nothing.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// An account that memory is charged to.
pub trait Payer: Sync {
    /// Charges `bytes`. Returns false, and charges nothing, if there is no room.
    fn charge(&'static self, bytes: u64) -> bool;
    /// Discharges `bytes`.
    fn discharge(&'static self, bytes: u64);
}

/// Pays for memory that no SIP has caused: instances outside a system.
pub struct Kernel;

impl Payer for Kernel {
    fn charge(&'static self, _: u64) -> bool {
        true
    }

    fn discharge(&'static self, _: u64) {}
}

/// Memory is short, or the payer's budget is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The most that an allocation costs beside its bytes.
pub const HEADER: u64 = 32;

/// A vector whose memory is charged.
pub struct Charged<T> {
    items: Vec<T>,
    /// The payer; none while there is no memory.
    payer: Option<&'static dyn Payer>,
}

impl<T> Default for Charged<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Charged<T> {
    /// Returns an empty vector. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Charged {
            items: Vec::new(),
            payer: None,
        }
    }

    /// Returns the cost of room for this many items.
    #[must_use]
    pub fn cost(items: usize) -> u64 {
        match (items as u64).saturating_mul(size_of::<T>() as u64) {
            0 => 0,
            bytes => bytes.saturating_add(HEADER),
        }
    }

    /// Returns the bytes that the vector is charged for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        Self::cost(self.items.capacity())
    }

    /// Makes room for exactly `more` items. `payer` is charged if the vector has no payer yet.
    ///
    /// # Errors
    /// Where the payer or the heap has no room.
    #[inline]
    pub fn reserve_exact(&mut self, more: usize, payer: &'static dyn Payer) -> Result<(), NoRoom> {
        if more <= self.items.capacity() - self.items.len() {
            return Ok(());
        }
        self.grow(more, payer)
    }

    fn grow(&mut self, more: usize, payer: &'static dyn Payer) -> Result<(), NoRoom> {
        let (old, wanted) = (self.items.capacity(), self.items.len().checked_add(more));
        let wanted = wanted.ok_or(NoRoom)?;
        let payer = self.payer.unwrap_or(payer);
        let cost = Self::cost(wanted) - Self::cost(old);
        if !payer.charge(cost) {
            return Err(NoRoom);
        }
        if self.items.try_reserve_exact(more).is_err() {
            payer.discharge(cost);
            return Err(NoRoom);
        }
        self.payer = Some(payer);
        // An allocator may give more room than was asked for: what is charged is what `bytes` says.
        let extra = self.bytes() - Self::cost(wanted);
        if extra > 0 && !payer.charge(extra) {
            self.items.shrink_to(wanted);
        }
        Ok(())
    }

    /// Makes room for at least one more item, and for more in proportion to the length.
    ///
    /// # Errors
    /// If the payer or the heap has no room.
    pub fn reserve_one(&mut self, payer: &'static dyn Payer) -> Result<(), NoRoom> {
        if self.items.len() < self.items.capacity() {
            return Ok(());
        }
        let more = self.items.len().max(4);
        self.reserve_exact(more, payer)
            .or_else(|NoRoom| self.reserve_exact(1, payer))
    }

    /// Adds an item at the end.
    ///
    /// # Errors
    /// If the payer or the heap has no room.
    pub fn push(&mut self, item: T, payer: &'static dyn Payer) -> Result<(), NoRoom> {
        self.reserve_one(payer)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "there is room, and it is paid for"
        )]
        self.items.push(item);
        Ok(())
    }

    /// Makes a vector of `len` items, each by `make`.
    ///
    /// # Errors
    /// Where the payer or the heap has no room.
    #[inline]
    pub fn from_fn(
        len: usize,
        payer: &'static dyn Payer,
        make: impl FnMut(usize) -> T,
    ) -> Result<Self, NoRoom> {
        let mut all = Self::new();
        all.reserve_exact(len, payer)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "there is room, and it is paid for"
        )]
        all.items.extend((0..len).map(make));
        Ok(all)
    }

    /// Removes and returns the last item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// Removes and returns an item; the last one takes its place.
    pub fn swap_remove(&mut self, at: usize) -> T {
        self.items.swap_remove(at)
    }

    /// Removes all items; keeps the capacity.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Keeps the items for which `keep` returns true, in their order.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }
}

impl<T> Deref for Charged<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Charged<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T> Drop for Charged<T> {
    fn drop(&mut self) {
        let bytes = self.bytes();
        self.items = Vec::new();
        if let Some(payer) = self.payer.filter(|_| bytes > 0) {
            payer.discharge(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

    struct Purse(AtomicU64);

    impl Payer for Purse {
        fn charge(&'static self, bytes: u64) -> bool {
            let left = self.0.load(Relaxed).checked_sub(bytes);
            left.inspect(|&left| self.0.store(left, Relaxed)).is_some()
        }

        fn discharge(&'static self, bytes: u64) {
            self.0.fetch_add(bytes, Relaxed);
        }
    }

    #[test]
    fn pays_for_its_room_and_no_more() {
        static PURSE: Purse = Purse(AtomicU64::new(1000));
        let mut v: Charged<u64> = Charged::new();
        assert_eq!((v.bytes(), PURSE.0.load(Relaxed)), (0, 1000));
        let mut n = 0;
        while v.push(n, &PURSE).is_ok() {
            n += 1;
            assert_eq!(v.bytes() + PURSE.0.load(Relaxed), 1000);
        }
        // At most the bytes of an incomplete item are unused.
        assert_eq!((n, v.len()), ((1000 - HEADER) / 8, n as usize));
        assert!(v.iter().copied().eq(0..n));
        v.clear();
        assert!(v.push(7, &PURSE).is_ok());
        drop(v);
        assert_eq!(PURSE.0.load(Relaxed), 1000);
    }

    #[test]
    fn who_has_refused_does_not_pay_later() {
        static POOR: Purse = Purse(AtomicU64::new(0));
        static RICH: Purse = Purse(AtomicU64::new(1000));
        let mut v: Charged<u64> = Charged::new();
        assert_eq!(v.push(1, &POOR), Err(NoRoom));
        assert_eq!(v.push(1, &RICH), Ok(()));
        assert_eq!(v.bytes() + RICH.0.load(Relaxed), 1000);
    }

    #[test]
    fn what_nobody_can_have_is_refused() {
        static PURSE: Purse = Purse(AtomicU64::new(u64::MAX));
        let mut v: Charged<u64> = Charged::new();
        assert_eq!(v.reserve_exact(usize::MAX, &PURSE), Err(NoRoom));
        assert_eq!(v.reserve_exact(usize::MAX / 16, &PURSE), Err(NoRoom));
        assert_eq!(PURSE.0.load(Relaxed), u64::MAX);
        assert!(Charged::<()>::from_fn(5, &PURSE, |_| ()).is_ok());
    }
}
