//! A SIP's linear memory: its committed part, growing it, reaching it from the kernel.

use super::Sip;
use sing_abi::trap::Trap;
use sing_runtime::Instance;

use crate::ground::memory::PIECE;
use crate::mechanism::interrupt;

impl Sip {
    /// The committed part of its memory, for one of its own threads.
    #[inline(always)]
    pub(crate) fn window(&self) -> sing_runtime::SipMemory {
        self.memory.window()
    }

    /// Its memory, for one of its own threads, with `at .. at + len` committed. Where that takes more than a step, others
    /// run in between: the caller owns nothing on its stack, and what it has looked up before may be gone.
    ///
    /// # Errors
    /// `MemoryOutOfBounds` where the range lies outside it, `OutOfMemory` where no page is to be had.
    #[inline]
    #[track_caller]
    pub(crate) fn memory(&self, at: u32, len: u64) -> Result<sing_runtime::SipMemory, Trap> {
        let end = u64::from(at) + len;
        if !self.has_committed(end) {
            self.commit_all(end)?;
        }
        Ok(self.memory.window())
    }

    /// Whether its memory is accessible up to `end`.
    #[inline(always)]
    pub(crate) fn has_committed(&self, end: u64) -> bool {
        end <= self.memory.committed()
    }

    /// Makes its memory accessible up to `end`, in steps.
    #[cold]
    #[track_caller]
    fn commit_all(&self, end: u64) -> Result<(), Trap> {
        while !self.commit_some(end)? {
            interrupt::let_others_run();
        }
        Ok(())
    }

    /// Makes its memory accessible towards `end`; whether it is up to there.
    #[cold]
    pub(crate) fn commit_some(&self, end: u64) -> Result<bool, Trap> {
        let len = self.with_instance(Instance::memory_len).unwrap_or(0);
        if end > len {
            return Err(Trap::MemoryOutOfBounds);
        }
        let done = self.memory.with(|m| m.raise(end, len));
        done.ok_or(Trap::OutOfMemory)
    }

    /// Makes memory accessible towards an address of it that was accessed. Where it is not yet, the access faults again:
    /// between two steps of a far one, interrupts are acted on as in all code of SIPs.
    pub(crate) fn commit_address(&self, address: u64) -> Result<(), Trap> {
        match address.checked_sub(self.memory.base()) {
            Some(offset) if offset < 4 << 30 => self.commit_some(offset + 1).map(|_| ()),
            _ => Err(Trap::MemoryOutOfBounds),
        }
    }

    /// Puts its image's initial data from `at` on into its memory, [`PIECE`] at the most. Where to go on; `None` when all of
    /// it is there.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn place_data(&self, at: u64) -> Result<Option<u64>, Trap> {
        let Some((start, bytes)) = self.template().initial_from(at, PIECE) else {
            return Ok(None);
        };
        let end = start + bytes.len() as u64;
        if !self.has_committed(end) && !self.commit_some(end)? {
            return Ok(Some(at));
        }
        // In the memory, as the check of the image has found: below 4 GiB.
        self.window().write(start as u32, bytes)?;
        Ok(Some(end))
    }

    /// `memory.grow`.
    pub(crate) fn grow_memory(&self, pages: u32) -> i32 {
        let grown = self.with_instance(|instance| {
            let old = instance.memory_len();
            let new = old + u64::from(pages) * sing_abi::WASM_PAGE;
            // What is declared may be more than there are addresses for.
            let max = instance
                .template()
                .memory_max()
                .min(instance.memory_reserved());
            if new > max || !self.account().charge(new - old) {
                return -1;
            }
            instance.set_memory_len(new);
            (old / sing_abi::WASM_PAGE) as i32
        });
        grown.unwrap_or(-1)
    }
}
