//! The heap of a program: what is left of its own linear memory behind its data, and then pages by
//! which that grows. Many programs get by with what is left, and need nothing of the machine.
//!
//! What is left is taken from its beginning on, by the page at first, and then at least as much as the heap has:
//! the allocator writes at the end of what it has, and memory that is written to is memory that each
//! process has to have, and that is cleared behind it. So a process that allocates little has little, and
//! one that goes on has all of it soon.
//!
//! Invariants:
//! - Threads of one SIP are pre-emptive, so the allocator's lock is a real one. It spins through
//!   `yield`, which lets the holder run on the one processor that both may share.
//! - A program that has made no thread has nobody to keep out, and takes no lock. The first thread says that
//!   it is not alone any more before it makes the second one ([`not_alone`]), and never while it
//!   allocates: so whoever has taken the lock gives it back, and whoever has not, does not.

use crate::{Error, sys};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether the program has made a thread, or is about to.
static THREADS: AtomicBool = AtomicBool::new(false);

/// Has the allocator take its lock from now on: the caller, who allocates nothing just now, makes
/// another thread.
pub(crate) fn not_alone() {
    THREADS.store(true, Ordering::SeqCst);
}

fn is_alone() -> bool {
    !THREADS.load(Ordering::Relaxed)
}

/// A lock that yields while it waits, of what only the allocator uses.
pub(crate) struct YieldLock(AtomicBool);

// SAFETY: the lock is held exactly from a successful exchange of false for true until `unlock`
// stores false; the orderings make what happened under one holder visible to the next. While the
// program has one thread, that is the only holder there can be, and a holder makes no thread: no
// second one begins before the first has given the lock back.
unsafe impl lock_api::RawMutex for YieldLock {
    #[allow(clippy::declare_interior_mutable_const)] // lock_api asks for a constant.
    const INIT: Self = YieldLock(AtomicBool::new(false));
    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        while !self.try_lock() {
            sys::yield_now();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        is_alone()
            || self
                .0
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    #[inline]
    unsafe fn unlock(&self) {
        if !is_alone() {
            self.0.store(false, Ordering::Release);
        }
    }
}

/// Grows the heap by so many bytes now, so that what is allocated within them later needs nothing
/// of the machine. A service that bounds what it keeps reserves that at its start: no message that
/// it receives, however much of its budget that takes, can then make an allocation fail.
///
/// # Errors
/// [`Error::NoResources`] where memory or the program's budget does not suffice.
pub fn reserve(bytes: usize) -> Result<(), Error> {
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(bytes)
        .map_err(|_| Error::NoResources)?;
    // The memory of a program never shrinks: what is given back here stays the heap's.
    core::hint::black_box(&mut room);
    Ok(())
}

#[cfg(target_arch = "wasm32")]
mod global {
    use super::YieldLock;
    use core::alloc::{GlobalAlloc, Layout};
    use core::arch::wasm32::{memory_grow, memory_size};
    use core::ptr::NonNull;
    use talc::base::Talc;
    use talc::base::binning::Binning;
    use talc::source::Source;
    use talc::sync::TalcLock;
    use talc::wasm::WasmBinning;

    /// Bytes of a page of linear memory.
    const PAGE: usize = 64 << 10;
    /// Bytes of the machine's pages, by which the heap takes what is left behind the data.
    const STEP: usize = 4 << 10;
    /// What the allocator needs beside an allocation, and once for itself.
    const BESIDE: usize = 64;
    const ONCE: usize = 1 << 10;

    unsafe extern "C" {
        /// Where the program's data end, as the linker says.
        static __heap_base: u8;
    }

    /// Where the heap comes from.
    #[derive(Debug)]
    struct Pages {
        begun: bool,
        /// The end of the part of the heap that was taken last.
        end: Option<NonNull<u8>>,
        /// Bytes behind that end that are the heap's, too, and nobody has touched.
        left: usize,
    }

    /// How many of `left` bytes from an address on are taken for an allocation that needs `wanted`: up to
    /// the end of one of the machine's pages.
    fn part(at: usize, wanted: usize, left: usize) -> usize {
        let end = at.saturating_add(wanted).checked_next_multiple_of(STEP);
        end.map_or(left, |end| left.min(end - at))
    }

    // SAFETY: nothing here allocates.
    unsafe impl Source for Pages {
        fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
            let wanted = layout.size().saturating_add(layout.align());
            let wanted = wanted.saturating_add(BESIDE);
            if !core::mem::replace(&mut talc.source.begun, true) {
                let base = &raw const __heap_base as *mut u8;
                let left = (memory_size::<0>() * PAGE).saturating_sub(base.addr());
                let part = part(base.addr(), wanted.saturating_add(ONCE), left);
                // SAFETY: the linker has put nothing there, and nobody else uses it: the stack and
                // the data lie before.
                talc.source.end = unsafe { talc.claim(base, part) };
                if let Some(end) = talc.source.end {
                    talc.source.left = base.addr() + left - end.addr().get();
                    return Ok(());
                }
            }
            let left = talc.source.left;
            if let Some(end) = talc.source.end
                && wanted <= left
            {
                // Up to here all of the heap lies behind the data.
                let taken = end.addr().get() - (&raw const __heap_base).addr();
                let part = part(end.addr().get(), wanted.max(taken), left);
                let to = end.as_ptr().map_addr(|at| at.saturating_add(part));
                // SAFETY: these bytes are the heap's, as they were when the program began.
                talc.source.end = Some(unsafe { talc.extend(end, to) });
                talc.source.left = left - part;
                return Ok(());
            }
            // Before what is left is touched: the machine makes that accessible with the new pages.
            let pages = wanted.div_ceil(PAGE);
            let made = match memory_grow::<0>(pages) {
                // What is left may be enough with what is free before it.
                usize::MAX if left == 0 => return Err(()),
                usize::MAX => None,
                before => Some((before * PAGE) as *mut u8),
            };
            let old = talc.source.end.take();
            talc.source.left = 0;
            // Not where somebody else has made pages, too.
            let behind = old.map(|old| old.addr().get() + left);
            let joins = made.is_some_and(|base| behind == Some(base.addr()));
            let larger = old.filter(|_| joins || left > 0).map(|old| {
                let more = if joins { left + pages * PAGE } else { left };
                let to = old.as_ptr().map_addr(|at| at.saturating_add(more));
                // SAFETY: what is left is the heap's; where it ends at the new pages, those are nobody
                // else's.
                unsafe { talc.extend(old, to) }
            });
            talc.source.end = match made {
                // SAFETY: new pages, which are nobody else's.
                Some(base) if !joins => unsafe { talc.claim(base, pages * PAGE) },
                _ => larger,
            };
            Ok(())
        }
    }

    struct Heap(TalcLock<YieldLock, Pages, WasmBinning>);

    // SAFETY: what keeps the allocator from being `Send` is the address of the heap's end, which
    // means the same to every thread of the SIP, and is used under the lock only.
    unsafe impl Sync for Heap {}

    // SAFETY: all calls are passed on to an allocator.
    unsafe impl GlobalAlloc for Heap {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: passed on.
            unsafe { self.0.alloc(layout) }
        }

        unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
            // SAFETY: passed on.
            unsafe { self.0.dealloc(ptr, layout) }
        }

        unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            // SAFETY: passed on.
            unsafe { self.0.realloc(ptr, layout, new_size) }
        }
    }

    #[global_allocator]
    static HEAP: Heap = Heap(TalcLock::new(Pages {
        begun: false,
        end: None,
        left: 0,
    }));
}
