//! The kernel's heap: the allocator `talc`, grown from frames when it is exhausted.
//!
//! Large allocations, above all tables of processes, have their own addresses and frames, which are
//! freed with them; their address tells the two kinds apart. Of the rest, the free end is returned
//! when the kernel has time for it ([`trim`]).

use crate::hal;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{NonNull, null_mut};
use sing_arch::lock::SpinLock;
use talc::base::Talc;
use talc::base::binning::{Binning, DefaultBinning};
use talc::source::Source;

/// The least that the heap grows by, in bytes, as long as there are frames for it.
const STEP: usize = 1 << 20;
/// The most that [`trim`] returns at once, in bytes.
const PIECE: usize = 4 << 20;
/// An allocation of this many bytes or more has its own frames.
const LARGE: usize = 64 << 10;

#[derive(Debug)]
struct Frames {
    end: Option<NonNull<u8>>,
}

// SAFETY: `end` is the end of the heap, which belongs to the allocator wherever it runs.
unsafe impl Send for Frames {}

// SAFETY: `acquire` uses no other allocator, and what it adds is committed memory at addresses of
// its own, which are taken back by `trim` alone.
unsafe impl Source for Frames {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        // A page for what the allocator notes beside an allocation.
        let least = layout.size().saturating_add(layout.align());
        let least = least.saturating_add(super::PAGE as usize) as u64;
        let wanted = least.saturating_add(STEP as u64);
        let new = super::grow_heap(wanted).or_else(|| super::grow_heap(least));
        let new = new.ok_or(())?;
        let size = (new.end - new.start) as usize;
        let end = match talc.source.end {
            // SAFETY: the new memory begins where the heap ends.
            Some(end) => Some(unsafe { talc.extend(end, new.end as *mut u8) }),
            // SAFETY: the new memory is the heap's alone.
            None => unsafe { talc.claim(new.start as *mut u8, size) },
        };
        talc.source.end = end;
        end.map(|_| ()).ok_or(())
    }
}

/// Returns some of the heap's end if it has more free memory than the heap grows by. False if it
/// has not.
pub fn trim() -> bool {
    let mut talc = HEAP.0.lock();
    let Some(end) = talc.source.end else {
        return false;
    };
    // SAFETY: this is where the heap ends; what is used of it stays.
    let least = unsafe { talc.truncate(end, null_mut()) };
    let Some(least) = least else {
        talc.source.end = None;
        return false;
    };
    let (at, old) = (least.as_ptr() as usize, end.as_ptr() as usize);
    let new = (at + STEP)
        .max(old.saturating_sub(PIECE))
        .next_multiple_of(super::PAGE as usize);
    let more = new + STEP <= old;
    let new = if more { new } else { old };
    // SAFETY: what was free a moment ago begins where the heap ends now, and is accessible up to
    // where it ended.
    talc.source.end = Some(unsafe { talc.extend(least, new as *mut u8) });
    if more {
        super::shorten_heap(new as u64);
    }
    more
}

struct Heap(SpinLock<Talc<Frames, DefaultBinning>>);

#[global_allocator]
static HEAP: Heap = Heap(SpinLock::new(Talc::new(Frames { end: None })));

// SAFETY: talc keeps an allocator's promises; the lock lets one caller at a time use it. Interrupt
// handlers do not allocate unless they interrupted SIP code, when nobody holds the lock.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE
            && layout.align() as u64 <= super::PAGE
            && let Some(at) = hal::take_for_heap(layout.size() as u64)
        {
            return at as *mut u8;
        }
        // SAFETY: the caller's layout is not of size 0.
        unsafe {
            self.0
                .lock()
                .allocate(layout)
                .map_or(null_mut(), NonNull::as_ptr)
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if super::RESERVABLE.contains(&(at as u64)) {
            return hal::give_from_heap(at as u64, layout.size() as u64);
        }
        // SAFETY: the caller got `at` from `alloc` with this layout, and it is `talc`'s.
        unsafe { self.0.lock().deallocate(at, layout) }
    }
}
