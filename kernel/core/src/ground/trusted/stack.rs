//! Stacks, and the executions suspended on them.
//!
//! A [`Fiber`] is a stack with an execution on it. Its state is one word: none (it cannot be
//! resumed), running, or the saved stack pointer. Exactly one fiber of a processor runs, the one
//! whose stack the processor is on: the idle context's from the start, and each switch passes that
//! on. So a switch needs no trust in its caller, and a stack can be taken away from every fiber but
//! the running one.

use super::{Ended, Reservation};
use crate::ground::machine::{hal, noted};
use core::mem::offset_of;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::lock::SpinLock;
use sing_arch::switch;

/// A stack with an inaccessible page below. It is usable when it is whole; a large one is committed
/// in steps, and given back in steps. Dropping the value releases it.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    reservation: Reservation,
    bytes: u64,
    /// Accessible bytes, from the lowest on.
    mark: u64,
}

impl Stack {
    /// Bytes from a stack to the addresses that it has, an inaccessible page first, for debuggers.
    const RESERVED: usize = offset_of!(Stack, reservation) + Reservation::AT;
    /// Bytes from a stack to its size, for debuggers.
    const BYTES: usize = offset_of!(Stack, bytes);

    /// Makes a stack of this many bytes, whole pages. Returns `None` if addresses or memory are
    /// short.
    pub(crate) fn new(bytes: u64) -> Option<Stack> {
        let mut stack = Self::reserve(bytes)?;
        stack.extend(bytes)?.then_some(stack)
    }

    /// Reserves addresses for a stack, without access. Returns `None` if there are none left.
    pub(crate) fn reserve(bytes: u64) -> Option<Stack> {
        Some(Stack {
            reservation: hal().reserve(bytes + PAGE)?,
            bytes,
            mark: 0,
        })
    }

    /// Makes `piece` bytes more accessible, whole pages; returns whether all are. Returns `None`,
    /// and changes nothing, if memory is short.
    pub(crate) fn extend(&mut self, piece: u64) -> Option<bool> {
        let more = piece.min(self.bytes - self.mark);
        if more > 0 {
            let part = self.reservation.part(PAGE + self.mark, more);
            noted(hal().commit(part)).then_some(())?;
            self.mark += more;
        }
        Some(self.is_whole())
    }

    /// Gives `piece` bytes back to the machine, whole pages. Returns false, and does nothing, if
    /// there are no more than that.
    pub(crate) fn shrink(&mut self, piece: u64) -> bool {
        let more = self.mark > piece;
        if more {
            self.mark -= piece;
            let part = self.reservation.part(PAGE + self.mark, piece);
            hal().decommit(part);
        }
        more
    }

    /// Whether all of the stack is accessible.
    pub(crate) fn is_whole(&self) -> bool {
        self.mark == self.bytes
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the addresses, the lowest first.
    pub(crate) fn range(&self) -> Range<u64> {
        let bottom = self.reservation.at() + PAGE;
        bottom..bottom + self.bytes
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if self.reservation.bytes() != 0 {
            hal().release(core::mem::take(&mut self.reservation));
        }
    }
}

/// Word of a fiber that cannot be resumed.
const NONE: u64 = 0;
/// Word of the running fiber: no stack pointer, as those of suspended executions are multiples of
/// 8.
pub(super) const RUNS: u64 = 1;

/// A fiber's word.
#[repr(transparent)]
#[derive(Default)]
pub(super) struct Saved(AtomicU64);

/// What became of the stack of a fiber that has nothing to go on with ([`Fiber::give_up_stack`]).
pub(crate) enum GivenUp {
    /// There was none any more.
    All,
    /// A piece of it went back to the machine.
    Piece,
    /// This is what was left of it.
    Rest(Stack),
}

/// An execution on a stack of its own.
#[derive(Default)]
pub(crate) struct Fiber {
    /// [`NONE`], [`RUNS`], or the saved stack pointer.
    saved: Saved,
    stack: SpinLock<Stack>,
}

#[cfg(test)]
impl Fiber {
    /// Makes a running fiber, for tests, which do not run in the idle context.
    pub(super) const fn running() -> Self {
        Fiber::with(RUNS)
    }

    /// Makes a fiber that has ended.
    pub(super) const fn ended() -> Self {
        Fiber::with(NONE)
    }

    const fn with(saved: u64) -> Self {
        Fiber {
            saved: Saved(AtomicU64::new(saved)),
            stack: SpinLock::new(Stack {
                reservation: Reservation::EMPTY,
                bytes: 0,
                mark: 0,
            }),
        }
    }
}

/// The execution that the processor starts with, on the HAL's boot stack: the idle context.
pub(crate) static IDLE: Fiber = Fiber {
    saved: Saved(AtomicU64::new(RUNS)),
    stack: SpinLock::new(Stack {
        reservation: Reservation::EMPTY,
        bytes: 0,
        mark: 0,
    }),
};

/// The idle context runs again, on another stack: the system has ended.
pub(super) fn restart(_: &Ended) {
    IDLE.saved.0.store(RUNS, Relaxed);
    RUNNING.store(IDLE.saved.0.as_ptr(), Relaxed);
}

/// Address of the running fiber's word.
pub(super) static RUNNING: AtomicPtr<u64> =
    AtomicPtr::new((&raw const IDLE.saved).cast_mut().cast());

impl Fiber {
    /// Bytes from a fiber to its saved stack pointer, for debuggers.
    pub(crate) const SAVED: usize = offset_of!(Fiber, saved);
    /// Bytes from a fiber to the address of its stack's inaccessible page, for debuggers.
    pub(crate) const RESERVED: usize =
        offset_of!(Fiber, stack) + SpinLock::<Stack>::VALUE + Stack::RESERVED;
    /// Bytes from a fiber to its stack's size, for debuggers.
    pub(crate) const STACK_BYTES: usize =
        offset_of!(Fiber, stack) + SpinLock::<Stack>::VALUE + Stack::BYTES;

    /// Gives the fiber a stack, on which it will call `entry(argument)` when it is first switched
    /// to.
    ///
    /// # Panics
    /// If the fiber has a stack, or this one is not whole.
    pub(crate) fn prepare(&self, stack: Stack, entry: switch::Entry, argument: u64) {
        let mut own = self.stack.lock();
        assert!(own.bytes == 0, "a fiber gets a second stack");
        assert!(stack.is_whole(), "a fiber gets a part of a stack");
        *own = stack;
        drop(own);
        self.restart(entry, argument);
    }

    /// Abandons the fiber's execution, and makes it call `entry(argument)` when it is switched to
    /// next.
    ///
    /// # Panics
    /// If the fiber runs, or has no stack.
    pub(crate) fn restart(&self, entry: switch::Entry, argument: u64) {
        let stack = self.stack.lock();
        assert!(
            self.saved.0.load(Relaxed) != RUNS,
            "a running fiber is started"
        );
        assert!(
            stack.bytes >= PAGE && stack.is_whole(),
            "a fiber without a stack is started"
        );
        // SAFETY: the top page of a stack that is this fiber's alone, accessible, and not in use,
        // as the fiber does not run; the top is a page's end.
        let sp = unsafe { switch::first_frame(stack.range().end, entry, argument) };
        self.saved.0.store(sp, Relaxed);
    }

    /// Gives a piece of its stack back to the machine or, where there is no more than that, takes
    /// its stack; it has nothing to go on with then.
    ///
    /// # Panics
    /// Where it runs.
    pub(crate) fn give_up_stack(&self, piece: u64) -> GivenUp {
        assert!(!self.runs(), "the stack of a running fiber is given up");
        let mut stack = self.stack.lock();
        if stack.bytes == 0 {
            return GivenUp::All;
        }
        self.saved.0.store(NONE, Relaxed);
        if stack.shrink(piece) {
            GivenUp::Piece
        } else {
            GivenUp::Rest(core::mem::take(&mut stack))
        }
    }

    /// Whether this is the running fiber.
    pub(super) fn runs(&self) -> bool {
        self.saved.0.load(Relaxed) == RUNS
    }

    /// Returns the addresses of the fiber's stack.
    pub(crate) fn stack(&self) -> Range<u64> {
        self.stack.lock().range()
    }

    /// Calls `f` with the fiber's stack.
    pub(super) fn with_stack<R>(&self, f: impl FnOnce(&Stack) -> R) -> R {
        f(&self.stack.lock())
    }

    /// Returns the size of the fiber's stack.
    pub(crate) fn stack_bytes(&self) -> u64 {
        self.stack.lock().bytes()
    }

    /// Returns a word of the fiber's stack, for a backtrace; `None` if the address is not in it.
    pub(crate) fn word(&self, at: u64) -> Option<u64> {
        let stack = self.stack.lock();
        let range = stack.range();
        let inside = at >= range.start && at < range.end && at.is_multiple_of(8);
        let inside = inside && stack.is_whole();
        // SAFETY: an aligned word of an accessible stack, whose bounds are whole pages; it stays
        // while the lock is held.
        inside.then(|| unsafe { (at as *const u64).read_volatile() })
    }

    /// Switches from this fiber, which runs, to another, which resumes and receives `told`. Returns
    /// when this one is switched to again.
    ///
    /// # Panics
    /// If this fiber does not run, or the other cannot be resumed; nothing has changed then.
    #[inline(always)]
    pub(crate) fn switch_to(&'static self, other: &'static Fiber, told: u32) {
        if self.saved.0.load(Relaxed) != RUNS {
            no_switch();
        }
        let sp = other.saved.0.load(Relaxed);
        if sp <= RUNS {
            no_switch();
        }
        other.saved.0.store(RUNS, Relaxed);
        RUNNING.store(other.saved.0.as_ptr(), Relaxed);
        // SAFETY: `sp` was saved by a switch away from `other` or made by `restart`, is in no other
        // fiber, and is used up by the store above. Its stack is the fiber's until it is taken,
        // which takes `sp` too. `self` runs, so the saved execution is on its stack; and it is a
        // static, so that the word stays.
        unsafe { switch::switch_with(self.saved.0.as_ptr(), sp, u64::from(told)) };
    }

    /// Returns the fiber's word, for a switch to it from the running fiber.
    #[inline(always)]
    pub(super) fn saved(&'static self) -> &'static Saved {
        &self.saved
    }
}

#[cold]
#[inline(never)]
pub(super) fn no_switch() -> ! {
    panic!("a switch from a fiber that does not run, or to one that cannot be resumed")
}
