//! Committed memory: a reservation whose beginning is accessible, and the access to it by the
//! kernel and SIPs.

use super::Reservation;
use crate::ground::machine::{hal, noted};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_runtime::{Block, Instance, SipMemory, Trap};

/// Reserved addresses, accessible below a mark. Dropping the value releases them.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    reservation: Reservation,
    /// Accessible bytes, from the first on; whole pages.
    mark: u64,
}

impl Committed {
    /// Reserves addresses without access. Returns `None` if there are none left.
    pub(crate) fn reserve(bytes: u64) -> Option<Self> {
        Some(Self {
            reservation: hal().reserve(bytes)?,
            mark: 0,
        })
    }

    /// Reserves addresses and makes the first `bytes` (all that is reserved, if that is less)
    /// accessible and zeroed.
    pub(crate) fn with(bytes: u64) -> Option<Self> {
        let mut memory = Self::reserve(bytes)?;
        memory.commit(bytes).then_some(memory)
    }

    /// Returns the address of the first byte.
    pub(crate) fn base(&self) -> u64 {
        self.reservation.at()
    }

    /// Returns the number of reserved addresses.
    pub(crate) fn reserved(&self) -> u64 {
        self.reservation.bytes()
    }

    /// Whether no addresses are reserved.
    pub(crate) fn is_nothing(&self) -> bool {
        self.reservation.bytes() == 0
    }

    /// Returns the number of accessible bytes.
    pub(crate) fn committed(&self) -> u64 {
        self.mark
    }

    /// Moves the mark up to `to`; the newly accessible memory is zeroed. Returns false, and changes
    /// nothing, if memory is short.
    pub(crate) fn commit(&mut self, to: u64) -> bool {
        let more = to.saturating_sub(self.mark);
        let done = more == 0 || noted(hal().commit(self.reservation.part(self.mark, more)));
        if done {
            self.mark = self.mark.max(to);
        }
        done
    }

    /// Moves the mark down to `to`: memory above goes back to the machine.
    pub(crate) fn decommit(&mut self, to: u64) {
        if to < self.mark {
            hal().decommit(self.reservation.part(to, self.mark - to));
            self.mark = to;
        }
    }

    /// Gives the memory of a part back to the machine. The part stays accessible and reads as zero;
    /// data written there may be lost until [`Committed::renew_part`].
    ///
    /// # Panics
    /// If not all of the part is accessible.
    pub(crate) fn blank_part(&mut self, offset: u64, bytes: u64) {
        self.check(offset, bytes);
        hal().blank(self.reservation.part(offset, bytes));
    }

    /// Commits memory for a blank part, zeroed. Returns false, and changes nothing, if memory is
    /// short.
    ///
    /// # Panics
    /// If not all of the part is accessible.
    pub(crate) fn renew_part(&mut self, offset: u64, bytes: u64) -> bool {
        self.check(offset, bytes);
        noted(hal().commit(self.reservation.part(offset, bytes)))
    }

    /// Writes zeros below the mark.
    pub(crate) fn clear(&mut self) {
        self.clear_part(0, self.mark);
    }

    /// Writes zeros into a part.
    ///
    /// # Panics
    /// If not all of the part is accessible.
    pub(crate) fn clear_part(&mut self, offset: u64, bytes: u64) {
        self.check(offset, bytes);
        let at = (self.base() + offset) as *mut u8;
        // SAFETY: accessible, as just checked, and part of a reservation, where no Rust object lies
        // (`Reservation`).
        unsafe { core::ptr::write_bytes(at, 0, bytes as usize) };
    }

    /// Returns a part as a block for an allocation of the exchange heap.
    ///
    /// # Panics
    /// If not all of the part is accessible.
    pub(crate) fn block(&self, offset: u64, bytes: u64) -> Block {
        self.check(offset, bytes);
        let len = u32::try_from(bytes).expect("a block has at most 1 GiB");
        // SAFETY: accessible, as just checked, and part of a reservation. The exchange heap ensures
        // that the memory stays for as long as an allocation refers to it (guideline
        // `region-last`).
        unsafe { Block::new(self.base() + offset, len) }
    }

    fn check(&self, offset: u64, bytes: u64) {
        assert!(
            bytes <= self.mark && offset <= self.mark - bytes,
            "{bytes:#x} bytes at {offset:#x} of memory that is accessible up to {:#x}",
            self.mark
        );
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        if !self.is_nothing() {
            hal().release(core::mem::take(&mut self.reservation));
        }
    }
}

/// Address and length of the accessible part of a [`Committed`], readable without its lock.
#[derive(Default)]
pub(crate) struct Accessible {
    base: AtomicU64,
    bytes: AtomicU64,
}

impl Accessible {
    /// Publishes the accessible part of this memory.
    pub(super) fn show(&self, memory: &Committed) {
        self.base.store(memory.base(), Relaxed);
        self.bytes.store(memory.committed(), Relaxed);
    }

    /// Publishes an empty range.
    pub(super) fn hide(&self) {
        self.bytes.store(0, Relaxed);
        self.base.store(0, Relaxed);
    }
}

/// The linear memory of a SIP: the owner of the addresses, and windows on the accessible part.
#[derive(Default)]
pub(crate) struct LinearMemory {
    memory: SpinLock<Committed>,
    accessible: Accessible,
    /// The instance that runs in it.
    instance: SpinLock<Option<Instance>>,
}

impl LinearMemory {
    /// Gives the SIP its memory.
    ///
    /// # Panics
    /// If it has one already: there could be a window on it.
    pub(crate) fn place(&self, memory: Committed) {
        let mut own = self.memory.lock();
        assert!(own.is_nothing(), "a SIP gets a second memory");
        self.accessible.show(&memory);
        *own = memory;
    }

    /// Makes the SIP's instance from the memory's address and reserved size.
    ///
    /// # Panics
    /// If there is one already.
    pub(super) fn occupy(
        &self,
        make: impl FnOnce(u64, u64) -> Result<Instance, Trap>,
    ) -> Result<(), Trap> {
        let memory = self.memory.lock();
        let mut own = self.instance.lock();
        assert!(own.is_none(), "a second instance in one memory");
        *own = Some(make(memory.base(), memory.reserved())?);
        Ok(())
    }

    /// Works with the instance in it; `None` where it has none.
    pub(crate) fn with_instance<R>(&self, f: impl FnOnce(&Instance) -> R) -> Option<R> {
        self.instance.lock().as_ref().map(f)
    }

    /// Bytes that the instance in it has.
    pub(crate) fn len(&self) -> u64 {
        self.instance
            .lock()
            .as_ref()
            .map_or(0, Instance::memory_len)
    }

    /// Gives a table of the instance back where nobody else keeps that: how many bytes that is. `None` where there is none.
    pub(crate) fn give_table_back(&self) -> Option<u64> {
        self.instance.lock().as_mut()?.give_table_back()
    }

    /// Removes the memory. Called when no thread of the SIP runs any more (guideline `own-window`).
    ///
    /// # Panics
    /// If the instance has another reference: code could still run there.
    pub(crate) fn take(&self) -> Committed {
        if let Some(instance) = self.instance.lock().take() {
            assert!(
                instance.is_alone(),
                "memory is taken from code that may run"
            );
        }
        self.accessible.hide();
        core::mem::take(&mut *self.memory.lock())
    }

    /// Returns the address of byte 0.
    #[inline(always)]
    pub(crate) fn base(&self) -> u64 {
        self.accessible.base.load(Relaxed)
    }

    /// Returns the number of accessible bytes.
    #[inline(always)]
    pub(crate) fn committed(&self) -> u64 {
        self.accessible.bytes.load(Relaxed)
    }

    /// Calls `f` with the memory, and publishes the accessible part afterwards.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Committed) -> R) -> R {
        let mut memory = self.memory.lock();
        let result = f(&mut memory);
        self.accessible.show(&memory);
        result
    }

    /// Returns a window on the accessible part. For threads of the SIP itself: a window stays on
    /// its thread's stack, as it is not `Send`, and no thread of a SIP that has ended runs. And for
    /// a thread that hands something to a waiting thread of the SIP without letting any other
    /// thread run meanwhile: the memory exists as long as the SIP has threads.
    #[inline(always)]
    pub(crate) fn window(&self) -> SipMemory {
        // SAFETY: base and length are those of reserved memory that is accessible now. It stays so
        // while the SIP has a thread: the mark of a live SIP's memory moves up only, and `take`
        // comes after its last thread.
        unsafe { SipMemory::new(self.base(), self.committed()) }
    }
}
