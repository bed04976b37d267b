//! A SIP's linear memory: its committed part, growing it, reaching it from the kernel.

use super::Sip;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::trap::Trap;
use sing_runtime::Instance;

use crate::trusted;

impl Sip {
    /// The committed part of its memory.
    #[inline(always)]
    pub(crate) fn window(&self) -> sing_runtime::SipMemory {
        trusted::window(self.memory_base.load(Relaxed), self.committed.load(Relaxed))
    }

    /// Its memory, with `at .. at + len` committed.
    ///
    /// # Errors
    /// `MemoryOutOfBounds` where the range lies outside it, `OutOfMemory` where no page is to be had.
    #[inline]
    pub(crate) fn memory(&self, at: u32, len: u64) -> Result<sing_runtime::SipMemory, Trap> {
        let end = u64::from(at) + len;
        if end > self.committed.load(Relaxed) {
            self.commit_to(end)?;
        }
        Ok(self.window())
    }

    /// Makes its memory accessible up to `end`.
    #[cold]
    pub(crate) fn commit_to(&self, end: u64) -> Result<(), Trap> {
        let len = self.with_instance(Instance::memory_len).unwrap_or(0);
        if end > len {
            return Err(Trap::MemoryOutOfBounds);
        }
        let mut slot = self.slot.lock();
        let done = slot.commit(end, len);
        self.committed.store(slot.committed, Relaxed);
        if done { Ok(()) } else { Err(Trap::OutOfMemory) }
    }

    /// Makes the page with this address accessible, where it is one of its memory's.
    pub(crate) fn commit_address(&self, address: u64) -> Result<(), Trap> {
        match address.checked_sub(self.memory_base.load(Relaxed)) {
            Some(offset) if offset < 4 << 30 => self.commit_to(offset + 1),
            _ => Err(Trap::MemoryOutOfBounds),
        }
    }

    /// `memory.grow`.
    pub(crate) fn grow_memory(&self, pages: u32) -> i32 {
        let inner = self.inner.lock();
        let Some(instance) = &inner.instance else {
            return -1;
        };
        let old = instance.memory_len();
        let new = old + u64::from(pages) * sing_abi::WASM_PAGE;
        let max = instance
            .template()
            .memory_max()
            .min(self.budget.load(Relaxed));
        if new > max || !self.charge(new - old) {
            return -1;
        }
        instance.set_memory_len(new);
        (old / sing_abi::WASM_PAGE) as i32
    }
}
