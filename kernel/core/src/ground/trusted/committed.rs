//! Committed memory: a reservation whose beginning is accessible, and the access to it by the
//! kernel and SIPs. Memory behind that may be kept hidden: it is zero, and nobody has access.

use super::Reservation;
use crate::ground::machine::{hal, noted};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_runtime::{Block, Charged, Instance, Payer, SipMemory, Trap};

/// Reserved addresses, accessible below a mark. Dropping the value releases them.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    reservation: Reservation,
    /// Accessible bytes, from the first on; whole pages.
    mark: u64,
    /// Bytes behind the mark that are hidden ([`hal::Hal::hide`](crate::ground::hal::Hal::hide));
    /// whole pages.
    hidden: u64,
}

impl Committed {
    /// Reserves addresses without access. Returns `None` if there are none left.
    pub(crate) fn reserve(bytes: u64) -> Option<Self> {
        Some(Self {
            reservation: hal().reserve(bytes)?,
            mark: 0,
            hidden: 0,
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

    /// Returns the number of bytes that have memory, those that are hidden included.
    pub(crate) fn occupied(&self) -> u64 {
        self.mark + self.hidden
    }

    /// Moves the mark up to `to`; the newly accessible memory is zeroed. Returns false if memory is
    /// short: then the mark has moved no further than over what was hidden.
    pub(crate) fn commit(&mut self, to: u64) -> bool {
        self.reveal(to);
        let more = to.saturating_sub(self.mark);
        let done = more == 0 || noted(hal().commit(self.reservation.part(self.mark, more)));
        if done {
            self.mark = self.mark.max(to);
        }
        done
    }

    /// Moves the mark up to `to` over hidden memory, as far as there is any.
    fn reveal(&mut self, to: u64) {
        let shown = to.saturating_sub(self.mark).min(self.hidden);
        if shown == 0 {
            return;
        }
        if hal().reveal(self.reservation.part(self.mark, shown)) {
            self.mark += shown;
            self.hidden -= shown;
        } else {
            self.decommit(self.mark);
        }
    }

    /// Takes memory above `to` back to the machine: the mark moves down to there if it is above.
    pub(crate) fn decommit(&mut self, to: u64) {
        let end = self.occupied();
        if to < end {
            hal().decommit(self.reservation.part(to, end - to));
            self.mark = self.mark.min(to);
            self.hidden = to - self.mark;
        }
    }

    /// Moves the mark down to `to`, and hides the memory above, which the caller has cleared, where
    /// the machine can; otherwise it goes back.
    pub(crate) fn hide(&mut self, to: u64) {
        if to >= self.mark {
            return;
        }
        if hal().hide(self.reservation.part(to, self.mark - to)) {
            self.hidden += self.mark - to;
            self.mark = to;
        } else {
            self.decommit(to);
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
    /// Publishes the accessible part of this memory, `len` bytes of it at the most.
    pub(super) fn show(&self, memory: &Committed, len: u64) {
        self.base.store(memory.base(), Relaxed);
        self.bytes.store(memory.committed().min(len), Relaxed);
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
    /// The number of the memory that addresses in kernel calls refer to.
    called: AtomicU32,
    /// The accessible part of that memory.
    called_accessible: Accessible,
    /// Memories behind the first, each with addresses of its own. Windows on them obey the same
    /// rules.
    further: SpinLock<Charged<Committed>>,
    /// The instance that runs in it.
    instance: SpinLock<Option<Instance>>,
}

impl LinearMemory {
    /// Bytes from this to the address of the first memory, for debuggers.
    pub(crate) const BASE: usize = core::mem::offset_of!(LinearMemory, memory)
        + SpinLock::<Committed>::VALUE
        + core::mem::offset_of!(Committed, reservation)
        + Reservation::AT;
    /// Bytes from this to the number of accessible bytes of the first memory, for debuggers.
    pub(crate) const COMMITTED: usize = core::mem::offset_of!(LinearMemory, memory)
        + SpinLock::<Committed>::VALUE
        + core::mem::offset_of!(Committed, mark);

    /// Gives the SIP its memory.
    ///
    /// # Panics
    /// If it has one already: there could be a window on it.
    pub(crate) fn place(&self, memory: Committed) {
        let mut own = self.memory.lock();
        assert!(own.is_nothing(), "a SIP gets a second memory");
        self.show(&memory);
        *own = memory;
    }

    /// Gives the SIP memories behind its first; `payer` pays for the list. Returns false, with some
    /// of them placed, if memory or addresses are short.
    ///
    /// # Panics
    /// If it has an instance already, which would not know of them.
    pub(crate) fn place_further(
        &self,
        count: usize,
        payer: &'static dyn Payer,
        take: impl Fn(usize) -> Option<Committed>,
    ) -> bool {
        assert!(self.instance.lock().is_none(), "memories come too late");
        let mut further = self.further.lock();
        if further.reserve_exact(count, payer).is_err() {
            return false;
        }
        (0..count).all(|i| take(i).is_some_and(|memory| further.push(memory, payer).is_ok()))
    }

    /// Makes the SIP's instance from the addresses and reserved sizes of its memories.
    ///
    /// # Panics
    /// If there is one already.
    pub(super) fn occupy(
        &self,
        make: impl FnOnce(&Committed, &[Committed]) -> Result<Instance, Trap>,
    ) -> Result<(), Trap> {
        let (memory, further) = (self.memory.lock(), self.further.lock());
        let mut own = self.instance.lock();
        assert!(own.is_none(), "a second instance in one memory");
        let made = make(&memory, &further)?;
        self.accessible.show(&memory, made.memory_len());
        let called = made.template().kernel_memory();
        self.called.store(called, Relaxed);
        let in_calls = match called.checked_sub(1).map(|i| i as usize) {
            None => Some((&*memory, made.memory_len())),
            Some(i) => further
                .get(i)
                .zip(made.further_memory(i).map(|(_, len)| len)),
        };
        match in_calls {
            Some((memory, len)) => self.called_accessible.show(memory, len),
            None => self.called_accessible.hide(),
        }
        *own = Some(made);
        Ok(())
    }

    /// Works with the instance in it; `None` where it has none.
    pub(crate) fn with_instance<R>(&self, f: impl FnOnce(&Instance) -> R) -> Option<R> {
        self.instance.lock().as_ref().map(f)
    }

    /// Bytes that the memories of the instance in it cost.
    pub(crate) fn cost(&self) -> u64 {
        self.instance
            .lock()
            .as_ref()
            .map_or(0, Instance::all_memories_cost)
    }

    /// Publishes the part of the first memory that is accessible and belongs to it: what lies
    /// between its end and that of the machine's last page does not.
    fn show(&self, memory: &Committed) {
        let instance = self.instance.lock();
        let len = instance.as_ref().map_or(u64::MAX, Instance::memory_len);
        drop(instance);
        self.accessible.show(memory, len);
        if self.called() == 0 {
            self.called_accessible.show(memory, len);
        }
    }

    /// Does the same with a memory behind the first, if it is the one that kernel calls refer to.
    fn show_further(&self, i: usize, memory: &Committed) {
        if self.called() as usize != i + 1 {
            return;
        }
        let instance = self.instance.lock();
        let found = instance.as_ref().and_then(|own| own.further_memory(i));
        drop(instance);
        let len = found.map_or(0, |(_, len)| len);
        self.called_accessible.show(memory, len);
    }

    /// The number of the memory that addresses in kernel calls refer to.
    #[inline(always)]
    pub(crate) fn called(&self) -> u32 {
        self.called.load(Relaxed)
    }

    /// Returns the number of bytes of that memory that are accessible.
    #[inline(always)]
    pub(crate) fn called_committed(&self) -> u64 {
        self.called_accessible.bytes.load(Relaxed)
    }

    /// Gives a table of the instance back where nobody else keeps that: how many bytes that is.
    /// `None` where there is none.
    pub(crate) fn give_table_back(&self) -> Option<u64> {
        self.instance.lock().as_mut()?.give_table_back()
    }

    /// Calls `f` with the last of the memories behind the first; `None` if there is none. Called
    /// when no thread of the SIP runs any more, to give it back: no window on it is made after
    /// that.
    pub(crate) fn with_last_further<R>(&self, f: impl FnOnce(&mut Committed) -> R) -> Option<R> {
        if self.called() != 0 {
            self.called_accessible.hide();
        }
        self.further.lock().last_mut().map(f)
    }

    /// Removes the last of the memories behind the first. Called when no thread of the SIP runs any
    /// more (guideline `own-window`).
    ///
    /// # Panics
    /// If the instance has another reference: code could still run there.
    pub(crate) fn take_further(&self) -> Option<Committed> {
        let mut further = self.further.lock();
        let instance = self.instance.lock();
        assert!(
            instance.as_ref().is_none_or(Instance::is_alone),
            "memory is taken from code that may run"
        );
        drop(instance);
        if self.called() != 0 {
            self.called_accessible.hide();
        }
        let taken = further.pop();
        if further.is_empty() {
            // Not before: the list is paid for as long as it has room.
            *further = Charged::new();
        }
        taken
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
        self.called_accessible.hide();
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

    /// Returns the number of accessible bytes in memories behind the first.
    pub(crate) fn further_committed(&self) -> u64 {
        self.further.lock().iter().map(Committed::committed).sum()
    }

    /// Calls `f` with a memory behind the first, and publishes the accessible part afterwards;
    /// `None` if there is none of this number.
    pub(crate) fn with_further<R>(
        &self,
        i: usize,
        f: impl FnOnce(&mut Committed) -> R,
    ) -> Option<R> {
        let mut further = self.further.lock();
        let memory = further.get_mut(i)?;
        let result = f(memory);
        self.show_further(i, memory);
        Some(result)
    }

    /// Returns the number of the memory behind the first that was reserved with this address.
    pub(crate) fn further_at(&self, address: u64) -> Option<usize> {
        let reserved = |m: &Committed| m.base()..m.base() + m.reserved();
        let further = self.further.lock();
        further.iter().position(|m| reserved(m).contains(&address))
    }

    /// Returns a window on the accessible part of a memory behind the first, as
    /// [`LinearMemory::window`] does.
    pub(crate) fn further_window(&self, i: usize) -> Option<SipMemory> {
        self.with_further(i, |m| Self::window_on(m.base(), m.committed()))
    }

    /// Calls `f` with the memory, and publishes the accessible part afterwards.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Committed) -> R) -> R {
        let mut memory = self.memory.lock();
        let result = f(&mut memory);
        self.show(&memory);
        result
    }

    /// Returns a window on the accessible part of the memory that kernel calls refer to. For
    /// threads of the SIP itself: a window stays on its thread's stack, as it is not `Send`, and no
    /// thread of a SIP that has ended runs. And for a thread that hands something to a waiting
    /// thread of the SIP without letting any other thread run meanwhile: the memory exists as long
    /// as the SIP has threads.
    #[inline(always)]
    pub(crate) fn window(&self) -> SipMemory {
        let base = self.called_accessible.base.load(Relaxed);
        Self::window_on(base, self.called_committed())
    }

    /// Returns a window on the accessible part of the first memory, as [`LinearMemory::window`]
    /// does.
    #[inline(always)]
    pub(crate) fn first_window(&self) -> SipMemory {
        Self::window_on(self.base(), self.committed())
    }

    #[inline(always)]
    fn window_on(base: u64, committed: u64) -> SipMemory {
        // SAFETY: base and length are those of a reserved memory of the SIP that is accessible now.
        // It stays so while the SIP has a thread: the mark of a live SIP's memory moves up only,
        // and `take` and `take_further` come after its last thread.
        unsafe { SipMemory::new(base, committed) }
    }
}
