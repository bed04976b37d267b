//! A SIP's linear memory: committing pages on demand and in steps, placing initial data, growing,
//! and access from the kernel.

use super::Sip;
use sing_abi::trap::Trap;
use sing_runtime::{Instance, memory_cost};

use crate::ground::memory::{KEEP_LITTLE, PIECE, Slot};
use crate::mechanism::interrupt;

impl Sip {
    /// A window on the committed part of the memory that kernel calls refer to, for its own threads.
    #[inline(always)]
    pub(crate) fn window(&self) -> sing_runtime::SipMemory {
        self.memory.window()
    }

    /// A window on the memory that kernel calls refer to with `at .. at + len` committed, for its own
    /// threads. If that takes more than a step, others run in between: the caller must own nothing on its stack, and
    /// repeat its look-ups.
    ///
    /// # Errors
    /// `MemoryOutOfBounds` if the range lies outside it, `OutOfMemory` if pages are short.
    #[inline]
    #[track_caller]
    pub(crate) fn memory(&self, at: u32, len: u64) -> Result<sing_runtime::SipMemory, Trap> {
        let end = u64::from(at) + len;
        if !self.has_committed(end) {
            self.commit_all(end)?;
        }
        Ok(self.memory.window())
    }

    /// Bytes of the memory that kernel calls refer to, whether accessible already or not.
    pub(crate) fn called_len(&self) -> u64 {
        let further = self.memory.called().checked_sub(1);
        let len = self.with_instance(|instance| match further {
            None => Some(instance.memory_len()),
            Some(i) => instance.further_memory(i as usize).map(|(_, len)| len),
        });
        len.flatten().unwrap_or(0)
    }

    /// Whether the memory that kernel calls refer to is accessible up to `end`.
    #[inline(always)]
    pub(crate) fn has_committed(&self, end: u64) -> bool {
        end <= self.memory.called_committed()
    }

    /// Commits that memory up to `end`, in steps between which others run.
    #[cold]
    #[track_caller]
    fn commit_all(&self, end: u64) -> Result<(), Trap> {
        while !self.commit_called(end)? {
            interrupt::let_others_run();
        }
        Ok(())
    }

    /// Commits one step of that memory towards `end`; whether that reaches it.
    #[cold]
    fn commit_called(&self, end: u64) -> Result<bool, Trap> {
        match self.memory.called().checked_sub(1) {
            None => self.commit_some(end),
            Some(i) => self.commit_some_further(i as usize, end),
        }
    }

    /// A window on the first memory with the first `end` bytes committed, as [`Sip::memory`] has it.
    ///
    /// # Errors
    /// As for [`Sip::memory`].
    #[inline]
    #[track_caller]
    pub(crate) fn first_memory(&self, end: u64) -> Result<sing_runtime::SipMemory, Trap> {
        while end > self.memory.committed() && !self.commit_some(end)? {
            interrupt::let_others_run();
        }
        Ok(self.memory.first_window())
    }

    /// Commits one step of the first memory towards `end`; whether that reaches it.
    #[cold]
    pub(crate) fn commit_some(&self, end: u64) -> Result<bool, Trap> {
        let len = self.with_instance(Instance::memory_len).unwrap_or(0);
        if end > len {
            return Err(Trap::MemoryOutOfBounds);
        }
        let (before, done) = self.memory.with(|m| (m.committed(), m.raise(end, len)));
        if before <= KEEP_LITTLE && end > KEEP_LITTLE {
            self.image().has_needed_more();
        }
        done.ok_or(Trap::OutOfMemory)
    }

    /// Commits one step towards an address that was accessed. If that is not enough, the access
    /// faults again: so interrupts are acted on between two steps, as in all code of SIPs.
    pub(crate) fn commit_address(&self, address: u64) -> Result<(), Trap> {
        if let Some(i) = self.memory.further_at(address) {
            let base = self.memory.with_further(i, |m| m.base()).unwrap_or(address);
            return self.commit_some_further(i, address - base + 1).map(|_| ());
        }
        match address.checked_sub(self.memory.base()) {
            Some(offset) if offset < 4 << 30 => self.commit_some(offset + 1).map(|_| ()),
            _ => Err(Trap::MemoryOutOfBounds),
        }
    }

    /// A memory by its index, for one of its own threads, with the first `end` bytes committed, as
    /// [`Sip::memory`] has it.
    ///
    /// # Errors
    /// As for [`Sip::memory`].
    #[track_caller]
    pub(crate) fn memory_at(&self, index: u32, end: u64) -> Result<sing_runtime::SipMemory, Trap> {
        let Some(i) = index.checked_sub(1).map(|i| i as usize) else {
            return self.first_memory(end);
        };
        while !self.commit_some_further(i, end)? {
            interrupt::let_others_run();
        }
        let window = self.memory.further_window(i);
        window.ok_or(Trap::MemoryOutOfBounds)
    }

    /// Makes a memory behind the first accessible towards `end`; whether it is up to there.
    fn commit_some_further(&self, i: usize, end: u64) -> Result<bool, Trap> {
        let memory = self.with_instance(|instance| instance.further_memory(i));
        let len = memory.flatten().map_or(0, |(_, len)| len);
        if end > len {
            return Err(Trap::MemoryOutOfBounds);
        }
        let raised = self.memory.with_further(i, |m| {
            // Another thread may have faulted here before, and calls name committed bytes, too.
            if end <= m.committed() {
                return Some(true);
            }
            m.raise(end, len)
        });
        raised.flatten().ok_or(Trap::OutOfMemory)
    }

    /// Puts initial data into memories behind the first, from a byte of one of them on, [`PIECE`]
    /// at the most. Where to go on; `None` when all of it is there.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn place_further_data(&self, at: (u32, u64)) -> Result<Option<(u32, u64)>, Trap> {
        let Some(((memory, start), bytes)) = self.template().further_initial_from(at, PIECE) else {
            return Ok(None);
        };
        let (i, end) = (memory as usize, start + bytes.len() as u64);
        if !self.commit_some_further(i, end)? {
            return Ok(Some(at));
        }
        let window = self.memory.further_window(i);
        // In the memory, as the check of the image has found: below 4 GiB.
        window
            .ok_or(Trap::MemoryOutOfBounds)?
            .write(start as u32, bytes)?;
        Ok(Some((memory, end)))
    }

    /// Puts its image's initial data from `at` on into its memory, [`PIECE`] at the most. Where to
    /// go on; `None` when all of it is there.
    ///
    /// # Errors
    /// `OutOfMemory` if pages are short.
    pub(crate) fn place_data(&self, at: u64) -> Result<Option<u64>, Trap> {
        let Some((start, bytes)) = self.template().initial_from(at, PIECE) else {
            return Ok(None);
        };
        let end = start + bytes.len() as u64;
        if end > self.memory.committed() {
            // All of the data is going to be there: what the machine commits as quickly is one step. A large
            // memory so has large pages from the start, into which nothing needs to be moved.
            self.commit_some(self.template().data_end())?;
            if end > self.memory.committed() {
                return Ok(Some(at));
            }
        }
        // In bounds and below 4 GiB, as the image was checked.
        self.memory.first_window().write(start as u32, bytes)?;
        Ok(Some(end))
    }

    /// `memory.grow` of the first memory, if its pages are the usual ones.
    pub(crate) fn grow_memory(&self, pages: u32) -> i32 {
        self.grow_memory_at(0, pages.into()) as i32
    }

    /// `memory.grow` of a memory by its index.
    pub(crate) fn grow_memory_at(&self, index: u32, pages: u64) -> i64 {
        let grown = self.with_instance(|instance| {
            let ty = *instance.template().memory_type(index)?;
            let further = index.checked_sub(1).map(|i| i as usize);
            // What is declared may be more than there are addresses for.
            let (old, reserved) = match further {
                None => (instance.memory_len(), instance.memory_reserved()),
                Some(i) => (instance.further_memory(i)?.1, instance.further_reserved(i)),
            };
            let new = old.saturating_add(ty.bytes(pages));
            if new > ty.max_bytes().min(reserved) {
                return None;
            }
            // The machine's pages are paid for, of which a memory with small ones has no whole
            // number.
            let more = memory_cost(new) - memory_cost(old);
            if !self.account().charge(more) {
                return None;
            }
            match further {
                None => instance.set_memory_len(new),
                Some(i) => instance.set_further_len(i, new),
            }
            Some((old, new, (old >> ty.page_bits) as i64))
        });
        let Some((old, new, pages)) = grown.flatten() else {
            return -1;
        };
        // Who has touched all that it had will touch what it asks for, too; and what is hidden costs one
        // call now, and a fault besides later. Where memory is short, the access says so.
        if index == 0 {
            let raise = |m: &mut Slot| m.raise(new.min(old + PIECE), new);
            self.memory
                .with(|m| (m.occupied() >= old).then(|| raise(m)));
        }
        pages
    }
}
