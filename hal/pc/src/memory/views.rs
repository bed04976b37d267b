//! Views of registers: addresses at which code of drivers reaches them, beside those of the kernel.
//!
//! Each range of each device has a view, in a slot of its own. Its tables are made at the start,
//! once, whatever its size; showing and hiding it changes the few entries that lead to them.
//!
//! Invariants:
//! - A slot maps the pages of its range, or nothing.
//! - When [`hide`] returns, the processor has forgotten the slot.

use super::{DEVICES, MEMORY, Memory, VIEWS, with};
use crate::memory::paging::Rights;
use sing_kernel::device::{MOST_DEVICES, MOST_RANGES};

/// Addresses of a slot: a range has less than half as many, and begins as far in as it does in a
/// large page.
const SLOT: u64 = 4 << 30;
/// Bytes of a large page.
const LARGE_PAGE: u64 = 2 << 20;

const _: () = assert!((MOST_DEVICES * MOST_RANGES) as u64 * SLOT <= DEVICES - VIEWS);

/// The first address of a slot; `None` if there is none for this range.
fn slot(device: usize, range: usize) -> Option<u64> {
    let known = device < MOST_DEVICES && range < MOST_RANGES;
    known.then(|| VIEWS + (device * MOST_RANGES + range) as u64 * SLOT)
}

/// Makes the view of a range that `map_device` has mapped at `at`, hidden; the address of its first
/// byte. `None` if memory for page tables is short, or the range is too large.
pub fn make_view(device: usize, range: usize, at: u64, len: u64) -> Option<u64> {
    let slot = slot(device, range)?;
    let physical = at.checked_sub(DEVICES)?;
    let pages = super::pages_within(physical, len, super::REACH)?;
    let inside = pages.start % LARGE_PAGE;
    if inside + (pages.end - pages.start) > SLOT {
        return None;
    }
    let first = slot + inside + (physical - pages.start);
    with(|m: &mut Memory| {
        let mapped = m
            .tables
            .map_large(&mut m.frames, slot + inside, pages, Rights::Device);
        m.tables.let_through(slot..slot + SLOT, false);
        mapped
    })?;
    Some(first)
}

/// Whether an address is one of a view's.
pub fn is_view(at: u64) -> bool {
    (VIEWS..VIEWS + (MOST_DEVICES * MOST_RANGES) as u64 * SLOT).contains(&at)
}

/// Makes the registers of a view accessible.
pub fn show(device: usize, range: usize) {
    switch(device, range, true);
}

/// Makes them inaccessible.
pub fn hide(device: usize, range: usize) {
    switch(device, range, false);
}

fn switch(device: usize, range: usize, shown: bool) {
    if let Some(slot) = slot(device, range)
        && let Some(memory) = &mut *MEMORY.lock()
    {
        memory.tables.let_through(slot..slot + SLOT, shown);
    }
}
