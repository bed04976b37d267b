//! The kernel's heap: `talc`, grown from frames when it is used up.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{NonNull, null_mut};
use sing_arch::lock::SpinLock;
use talc::base::Talc;
use talc::base::binning::{Binning, DefaultBinning};
use talc::source::Source;

/// The heap grows by at least so much at once.
const STEP: usize = 1 << 20;

#[derive(Debug)]
struct Frames {
    end: Option<NonNull<u8>>,
}

// SAFETY: `end` is the end of the heap, which belongs to the allocator wherever it runs.
unsafe impl Send for Frames {}

// SAFETY: `acquire` uses no other allocator, and what it adds is committed memory at addresses of its own, which are
// never taken back.
unsafe impl Source for Frames {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let wanted = layout
            .size()
            .saturating_add(layout.align())
            .saturating_add(STEP);
        let new = super::grow_heap(wanted as u64).ok_or(())?;
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

struct Heap(SpinLock<Talc<Frames, DefaultBinning>>);

#[global_allocator]
static HEAP: Heap = Heap(SpinLock::new(Talc::new(Frames { end: None })));

// SAFETY: talc keeps an allocator's promises; the lock lets one caller at a time use it. Interrupt handlers do not
// allocate unless they interrupted SIP code, when nobody holds the lock.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is not of size 0.
        unsafe {
            self.0
                .lock()
                .allocate(layout)
                .map_or(null_mut(), NonNull::as_ptr)
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller got `at` from `alloc` with this layout.
        unsafe { self.0.lock().deallocate(at, layout) }
    }
}
