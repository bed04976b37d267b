//! Stacks, and what is suspended on them.
//!
//! A [`Fiber`] is a stack with the place where its execution goes on. Its state is one word: nothing to go on with, it
//! runs, or the saved stack pointer. Exactly one fiber of a processor runs, the one whose stack the processor is on: the
//! idle context's from the start, and each switch hands that on. So a switch needs no trust in its caller, and a stack
//! can be taken away from every fiber but the one that runs.

use super::Reservation;
use crate::ground::machine::{hal, noted};
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::lock::SpinLock;
use sing_arch::switch;

/// A stack, with a page below that is not accessible. It is used when it is whole; a large one becomes so in steps, and is
/// given back in steps. Dropping it gives it up.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    reservation: Reservation,
    bytes: u64,
    /// Bytes accessible, from the lowest on.
    mark: u64,
}

impl Stack {
    /// A stack of this many bytes, whole pages. `None` where addresses or memory are short.
    pub(crate) fn new(bytes: u64) -> Option<Stack> {
        let mut stack = Self::reserve(bytes)?;
        stack.extend(bytes)?.then_some(stack)
    }

    /// Addresses for one, nothing of which is accessible. `None` where there are none left.
    pub(crate) fn reserve(bytes: u64) -> Option<Stack> {
        Some(Stack {
            reservation: hal().reserve(bytes + PAGE)?,
            bytes,
            mark: 0,
        })
    }

    /// Makes `piece` bytes more accessible, whole pages; whether all are. `None`, and nothing changed, where memory is short.
    pub(crate) fn extend(&mut self, piece: u64) -> Option<bool> {
        let more = piece.min(self.bytes - self.mark);
        if more > 0 {
            let part = self.reservation.part(PAGE + self.mark, more);
            noted(hal().commit(part)).then_some(())?;
            self.mark += more;
        }
        Some(self.is_whole())
    }

    /// Gives `piece` bytes back to the machine, whole pages, where there are more. False where there are not.
    pub(crate) fn shrink(&mut self, piece: u64) -> bool {
        let more = self.mark > piece;
        if more {
            self.mark -= piece;
            let part = self.reservation.part(PAGE + self.mark, piece);
            hal().decommit(part);
        }
        more
    }

    /// Whether all of it is accessible.
    pub(crate) fn is_whole(&self) -> bool {
        self.mark == self.bytes
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its addresses, the lowest first.
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

/// Nothing to go on with.
const NONE: u64 = 0;
/// It runs: no stack pointer, as those of suspended executions are multiples of 8.
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
    /// [`NONE`], [`RUNS`], or where it goes on.
    saved: Saved,
    stack: SpinLock<Stack>,
}

#[cfg(test)]
impl Fiber {
    /// One that runs, for tests, which do not run in the idle context.
    pub(super) const fn running() -> Self {
        Fiber::with(RUNS)
    }

    /// One that has ended.
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

/// Where the fiber that runs keeps its word.
pub(super) static RUNNING: AtomicPtr<u64> =
    AtomicPtr::new((&raw const IDLE.saved).cast_mut().cast());

impl Fiber {
    /// Gives it a stack, on which it is to call `entry(argument)` when it is first switched to.
    ///
    /// # Panics
    /// Where it has one, or this one is not whole.
    pub(crate) fn prepare(&self, stack: Stack, entry: switch::Entry, argument: u64) {
        let mut own = self.stack.lock();
        assert!(own.bytes == 0, "a fiber gets a second stack");
        assert!(stack.is_whole(), "a fiber gets a part of a stack");
        *own = stack;
        drop(own);
        self.restart(entry, argument);
    }

    /// Gives up what it was about, and lets it call `entry(argument)` when it is switched to next.
    ///
    /// # Panics
    /// Where it runs, or has no stack.
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
        // SAFETY: the top page of a stack that is this fiber's alone, accessible, and used by nobody, as it does not
        // run; the top is a page's end.
        let sp = unsafe { switch::first_frame(stack.range().end, entry, argument) };
        self.saved.0.store(sp, Relaxed);
    }

    /// Gives a piece of its stack back to the machine or, where there is no more than that, takes its stack; it has nothing to go
    /// on with then.
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

    /// Whether it is the one that the processor executes.
    pub(super) fn runs(&self) -> bool {
        self.saved.0.load(Relaxed) == RUNS
    }

    /// The addresses of its stack.
    pub(crate) fn stack(&self) -> Range<u64> {
        self.stack.lock().range()
    }

    /// Looks at its stack.
    pub(super) fn with_stack<R>(&self, f: impl FnOnce(&Stack) -> R) -> R {
        f(&self.stack.lock())
    }

    /// Bytes of its stack.
    pub(crate) fn stack_bytes(&self) -> u64 {
        self.stack.lock().bytes()
    }

    /// A word of its stack, for a backtrace; `None` where there is none.
    pub(crate) fn word(&self, at: u64) -> Option<u64> {
        let stack = self.stack.lock();
        let range = stack.range();
        let inside = at >= range.start && at < range.end && at.is_multiple_of(8);
        let inside = inside && stack.is_whole();
        // SAFETY: an aligned word of an accessible stack, whose bounds are whole pages; it stays while the lock is held.
        inside.then(|| unsafe { (at as *const u64).read_volatile() })
    }

    /// Switches from this fiber, which runs, to another, which goes on and is told this. Returns when this one is switched
    /// to again.
    ///
    /// # Panics
    /// Where this one does not run, or the other has nothing to go on with: nothing has happened then.
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
        // SAFETY: `sp` was saved by a switch away from `other` or made by `restart`, is in no other fiber, and is used up
        // by the store above. Its stack is the fiber's until it is taken, which takes `sp` too. `self` runs, so that
        // what is saved is an execution on its stack; and it is a static, so that the word stays.
        unsafe { switch::switch_with(self.saved.0.as_ptr(), sp, u64::from(told)) };
    }

    /// Its word, for a switch to it from the fiber that runs.
    #[inline(always)]
    pub(super) fn saved(&'static self) -> &'static Saved {
        &self.saved
    }
}

#[cold]
#[inline(never)]
pub(super) fn no_switch() -> ! {
    panic!("a switch from a fiber that does not run, or to one that cannot")
}
