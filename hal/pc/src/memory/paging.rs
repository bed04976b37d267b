//! Page tables of four levels.
//!
//! Invariant: all tables belong to this record, and only one entry refers to each, so a walk can
//! change a table without affecting other addresses. Tables of the reservable addresses are made
//! when something is committed, and freed by [`PageTables::prune`] when they are empty.

use super::frames::{self, Frames};
use super::{PAGE, direct};
use core::ops::Range;
use x86_64::VirtAddr;
use x86_64::instructions::tlb;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const UNCACHED: u64 = 1 << 3 | 1 << 4;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Bytes that an entry maps, for each level (0: page table, 1: page directory, …).
const SPAN: [u64; 4] = [PAGE, PAGE << 9, PAGE << 18, PAGE << 27];
/// For more pages than this, the whole TLB is flushed instead of single entries.
const FLUSH_EACH: u64 = 32;

/// What a page allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    Read,
    Execute,
    Write,
    /// Read and write, past the caches.
    Device,
}

impl Rights {
    fn bits(self) -> u64 {
        PRESENT
            | match self {
                Rights::Read => NO_EXECUTE,
                Rights::Execute => 0,
                Rights::Write => WRITABLE | NO_EXECUTE,
                Rights::Device => WRITABLE | NO_EXECUTE | UNCACHED,
            }
    }
}

type Table = [u64; 512];

/// The page tables.
pub struct PageTables {
    root: u64,
    /// The frame of zeros, to which every blank page is mapped read-only.
    zeros: u64,
}

fn index(at: u64, level: usize) -> usize {
    (at / SPAN[level] % 512) as usize
}

/// The first part of `range`, up to where the next entry of this level begins.
fn first_piece(range: &Range<u64>, level: usize) -> Range<u64> {
    range.start..range.end.min((range.start / SPAN[level] + 1) * SPAN[level])
}

impl PageTables {
    /// Tables that map nothing.
    pub fn new(frames: &mut Frames) -> Option<Self> {
        Some(PageTables {
            root: frames.take_zeroed()?,
            zeros: frames.take_zeroed()?,
        })
    }

    /// Makes the processor use these tables.
    ///
    /// # Safety
    /// They map what the kernel uses, where it expects it.
    pub unsafe fn activate(&self) {
        // SAFETY: the caller's promise.
        unsafe { core::arch::asm!("mov cr3, {}", in(reg) self.root, options(nostack)) };
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "tables are memory of their own, borrowed one at a time"
    )]
    fn table(&self, frame: u64) -> &mut Table {
        // SAFETY: `frame` comes from an entry of a table of ours, so it is one, in the direct map.
        // The whole record is borrowed by whoever walks it, and no walk holds two references to one
        // table.
        unsafe { &mut *(direct(frame) as *mut Table) }
    }

    /// The table of this level (0 is a page table) that holds the entry of `at`; if there is none,
    /// the level of the entry that is missing or large.
    fn find(&self, at: u64, level: usize) -> Result<u64, usize> {
        let mut frame = self.root;
        for above in (level + 1..4).rev() {
            let entry = self.table(frame)[index(at, above)];
            if entry & PRESENT == 0 || entry & LARGE != 0 {
                return Err(above);
            }
            frame = entry & ADDRESS;
        }
        Ok(frame)
    }

    /// Like `find`, but makes missing tables. `None` if frames are short.
    fn make(&mut self, frames: &mut Frames, at: u64, level: usize) -> Option<u64> {
        let mut frame = self.root;
        for above in (level + 1..4).rev() {
            let entry = self.table(frame)[index(at, above)];
            let next = if entry & PRESENT == 0 {
                let next = frames.take_zeroed()?;
                self.table(frame)[index(at, above)] = next | PRESENT | WRITABLE;
                next
            } else {
                debug_assert_eq!(entry & LARGE, 0);
                entry & ADDRESS
            };
            frame = next;
        }
        Some(frame)
    }

    /// Maps a page to a frame. `None` if frames for tables are short.
    pub fn map(&mut self, frames: &mut Frames, at: u64, frame: u64, rights: Rights) -> Option<()> {
        let table = self.make(frames, at, 0)?;
        self.table(table)[index(at, 0)] = frame | rights.bits();
        Some(())
    }

    /// Maps physical memory, with pages of 2 MiB where possible.
    pub fn map_large(
        &mut self,
        frames: &mut Frames,
        mut at: u64,
        physical: Range<u64>,
        rights: Rights,
    ) -> Option<()> {
        let mut from = physical.start;
        while from < physical.end {
            if from.is_multiple_of(SPAN[1]) && physical.end - from >= SPAN[1] {
                let table = self.make(frames, at, 1)?;
                self.table(table)[index(at, 1)] = from | rights.bits() | LARGE;
                from += SPAN[1];
                at += SPAN[1];
            } else {
                self.map(frames, at, from, rights)?;
                from += PAGE;
                at += PAGE;
            }
        }
        Some(())
    }

    /// Unmaps a page of the direct map, without freeing its frame. `None` if a frame for a table is
    /// short.
    pub fn hide(&mut self, frames: &mut Frames, at: u64) -> Option<()> {
        let directory = self.find(at, 1).ok()?;
        let entry = self.table(directory)[index(at, 1)];
        if entry & LARGE != 0 {
            let small = frames.take()?;
            for (i, e) in self.table(small).iter_mut().enumerate() {
                *e = (entry & !LARGE) + i as u64 * PAGE;
            }
            self.table(directory)[index(at, 1)] = small | PRESENT | WRITABLE;
        }
        let table = self.find(at, 0).ok()?;
        self.table(table)[index(at, 0)] = 0;
        tlb::flush(VirtAddr::new(at));
        Some(())
    }

    /// Maps a page of the direct map again that `hide` has unmapped, so its tables exist.
    pub fn show(&mut self, at: u64, frame: u64) {
        if let Ok(table) = self.find(at, 0) {
            self.table(table)[index(at, 0)] = frame | Rights::Write.bits();
        }
    }

    /// Lets all that is mapped in a range of whole entries of level 2 through, or hides it, by
    /// these entries alone. Nothing else walks the tables of such a range once it is mapped.
    pub fn let_through(&mut self, range: Range<u64>, through: bool) {
        for at in range.step_by(SPAN[2] as usize) {
            let Ok(table) = self.find(at, 2) else {
                continue;
            };
            let entry = &mut self.table(table)[index(at, 2)];
            match (*entry & ADDRESS, through) {
                (0, _) => {}
                (_, true) => *entry |= PRESENT,
                (_, false) => *entry &= !PRESENT,
            }
        }
        // An entry that was not present is not in the TLB.
        if !through {
            tlb::flush_all();
        }
    }

    /// Unmaps a page: its frame, which is not freed.
    pub fn unmap(&mut self, at: u64) -> Option<u64> {
        let table = self.find(at, 0).ok()?;
        let old = core::mem::take(&mut self.table(table)[index(at, 0)]);
        tlb::flush(VirtAddr::new(at));
        (old & PRESENT != 0).then_some(old & ADDRESS)
    }

    /// The physical address of a mapped one.
    pub fn translate(&self, at: u64) -> Option<u64> {
        let level = match self.find(at, 0) {
            Ok(_) => 0,
            Err(level) => level,
        };
        let entry = self.table(self.find(at, level).ok()?)[index(at, level)];
        (entry & PRESENT != 0).then_some((entry & ADDRESS) + at % SPAN[level])
    }

    /// The frame that a page has for itself; `None` if it has none.
    pub fn frame(&self, page: u64) -> Option<u64> {
        let table = self.find(page, 0).ok()?;
        let entry = self.table(table)[index(page, 0)];
        (entry & PRESENT != 0 && self.has_frame(entry)).then_some(entry & ADDRESS)
    }

    /// Calls `f` with each page table of a range and the range of entries in it.
    fn each_table(&self, range: Range<u64>, mut f: impl FnMut(&mut Table, Range<usize>)) {
        let mut rest = range;
        while !rest.is_empty() {
            let piece = match self.find(rest.start, 0) {
                Ok(table) => {
                    let piece = first_piece(&rest, 1);
                    let first = index(piece.start, 0);
                    let count = ((piece.end - piece.start) / PAGE) as usize;
                    f(self.table(table), first..first + count);
                    piece
                }
                Err(level) => first_piece(&rest, level),
            };
            rest.start = piece.end;
        }
    }

    /// Whether a page-table entry maps a frame of its own, not the frame of zeros.
    fn has_frame(&self, entry: u64) -> bool {
        entry != 0 && entry & ADDRESS != self.zeros
    }

    /// Maps each page of a range that is not mapped or blank to a cleared frame. False, with
    /// nothing changed, if frames are short.
    pub fn commit(&mut self, frames: &mut Frames, range: Range<u64>) -> bool {
        let mut there = 0;
        let mut tables = 0;
        self.each_table(range.clone(), |table, entries| {
            there += table[entries]
                .iter()
                .filter(|&&e| self.has_frame(e))
                .count() as u64;
            tables += 1;
        });
        let pages = (range.end - range.start) / PAGE - there;
        // An upper bound of the missing tables: a range of n whole spans may touch two more.
        let missing: u64 = (1..4)
            .map(|l| (range.end - range.start) / SPAN[l] + 2)
            .sum();
        if pages.saturating_add(missing.saturating_sub(tables)) > frames.free() {
            return false;
        }
        let mut rest = range;
        while !rest.is_empty() {
            let piece = first_piece(&rest, 1);
            rest.start = piece.end;
            let Some(table) = self.make(frames, piece.start, 0) else {
                return false;
            };
            for page in piece.step_by(PAGE as usize) {
                let entry = &mut self.table(table)[index(page, 0)];
                if !self.has_frame(*entry) {
                    let Some(frame) = frames.take_zeroed() else {
                        return false;
                    };
                    let old = core::mem::replace(entry, frame | Rights::Write.bits());
                    if old != 0 {
                        tlb::flush(VirtAddr::new(page));
                    }
                }
            }
        }
        true
    }

    /// Unmaps every page of a range and frees its frame.
    pub fn decommit(&mut self, frames: &mut Frames, range: Range<u64>) {
        self.replace(frames, range, 0);
    }

    /// Frees the frame of each page of a range, which reads as zeros from then on.
    pub fn blank(&mut self, frames: &mut Frames, range: Range<u64>) {
        self.replace(frames, range, self.zeros | Rights::Read.bits());
    }

    /// Gives a blank page a frame of its own. False if it is not blank, or there is no frame.
    pub fn fill(&mut self, frames: &mut Frames, page: u64) -> bool {
        let Ok(table) = self.find(page, 0) else {
            return false;
        };
        let old = self.table(table)[index(page, 0)];
        if old == 0 || self.has_frame(old) {
            return false;
        }
        let Some(frame) = frames.take_zeroed() else {
            return false;
        };
        self.table(table)[index(page, 0)] = frame | Rights::Write.bits();
        tlb::flush(VirtAddr::new(page));
        true
    }

    /// Replaces each entry that is not 0, and frees its frame.
    fn replace(&mut self, frames: &mut Frames, range: Range<u64>, new: u64) {
        // The TLB is flushed before a frame can be reused, as nothing but this code runs meanwhile.
        self.each_table(range.clone(), |table, entries| {
            for entry in &mut table[entries] {
                let old = *entry;
                if old != 0 {
                    *entry = new;
                }
                if self.has_frame(old) {
                    // SAFETY: `commit` took the frame for this page alone, which is not mapped any
                    // more.
                    unsafe { frames.give(old & ADDRESS) };
                }
            }
        });
        flush(range);
    }

    /// Clears each page of a range that has a frame of its own.
    pub fn clear(&mut self, range: Range<u64>) {
        self.each_table(range, |table, entries| {
            for entry in table[entries].iter().filter(|&&e| self.has_frame(e)) {
                frames::clear(*entry & ADDRESS);
            }
        });
    }

    /// Frees tables of a range that map nothing.
    pub fn prune(&mut self, frames: &mut Frames, range: Range<u64>) {
        let mut freed = false;
        for level in 0..3 {
            let mut rest = range.clone();
            while !rest.is_empty() {
                let (piece, found) = match self.find(rest.start, level) {
                    Ok(table) => (first_piece(&rest, level + 1), Some(table)),
                    Err(missing) => (first_piece(&rest, missing), None),
                };
                if let Some(table) = found
                    && self.table(table).iter().all(|&e| e == 0)
                    && let Ok(above) = self.find(rest.start, level + 1)
                {
                    self.table(above)[index(rest.start, level + 1)] = 0;
                    freed = true;
                    // SAFETY: `make` took the frame for this table, and the only entry that led to
                    // it is gone.
                    unsafe { frames.give(table) };
                }
                rest.start = piece.end;
            }
        }
        if freed {
            tlb::flush_all();
        }
    }
}

/// Flushes a range from the TLB.
fn flush(range: Range<u64>) {
    if (range.end - range.start) / PAGE > FLUSH_EACH {
        tlb::flush_all();
    } else {
        for page in range.step_by(PAGE as usize) {
            tlb::flush(VirtAddr::new(page));
        }
    }
}
