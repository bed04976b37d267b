//! Large pages: a large memory whose pages are small costs a walk of the page tables for each page
//! that a program comes to, which is a third of the time of a copy of 64 KiB (T14).
//!
//! Invariants:
//! - Only what is accessible and counted is asked for: a range without blanks, of one reservation.
//!   Small memories keep small pages, so that what they have not touched costs nothing.
//! - All of this is advice. Where Linux does not take it, pages are small, and nothing else changes.

use std::ops::Range;

/// Bytes from which a memory gets large pages.
pub(crate) const LARGE: u64 = 8 << 20;
/// Memories that have them: each may take two mappings more than are counted.
pub(crate) const MOST: usize = 512;
/// Bytes of a large page.
const HUGE: u64 = 2 << 20;

/// Asks Linux for large pages in a range, or for none any more.
pub(crate) fn advise(range: &Range<u64>, large: bool) {
    let advice = if large {
        libc::MADV_HUGEPAGE
    } else {
        libc::MADV_NOHUGEPAGE
    };
    tell(range, advice);
}

/// A memory that begins at `start` has grown by a range: makes one page of the small ones at whose
/// end it was. The rest of it nobody has touched: Linux gives it large pages when it is.
///
/// What was there before the memory was large comes in its turn, a page whenever the memory has
/// grown by another: all at once would hold the system for milliseconds.
pub(crate) fn grown(start: u64, by: &Range<u64>) {
    let page = by.start / HUGE * HUGE;
    if start <= page && page < by.start && page + HUGE <= by.end {
        collapse(page);
    }
    // Half a page away from the other, so that a step of growth does one of the two.
    let middle = (by.start + HUGE / 2 - 1) / HUGE * HUGE + HUGE / 2;
    if middle < by.end && start + LARGE + HUGE / 2 <= middle {
        collapse(middle - HUGE / 2 - LARGE);
    }
}

fn collapse(page: u64) {
    tell(&(page..page + HUGE), libc::MADV_COLLAPSE);
}

fn tell(range: &Range<u64>, advice: i32) {
    let bytes = (range.end - range.start) as usize;
    // SAFETY: all that is advised here changes no contents and no access, wherever the range is.
    let _ = unsafe { libc::madvise(range.start as *mut _, bytes, advice) };
}
