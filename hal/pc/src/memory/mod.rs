//! Memory: the layout of the address space, and the record of frames and page tables, behind one
//! lock.
//!
//! | addresses | what |
//! |---|---|
//! | from 1 MiB | the kernel, where it was loaded; all else below 1 TiB is not mapped, the null page included |
//! | [`CODE_ARENA`] | code of SIPs, executable and read-only |
//! | [`RESERVABLE`] | what the kernel reserves and commits, and what is large of its heap |
//! | [`DIRECT_MAP`] | all usable memory, by physical address, but for frames that hold code; the system image, read-only |
//! | [`HEAP`] | the kernel's heap |
//! | [`DEVICES`] | device registers, by physical address |
//! | [`VIEWS`] | registers that drivers reach themselves, by device and range |
//! | [`TABLES`] | the firmware's tables, by physical address, read-only |
//!
//! No memory is writable and executable. Page tables and the frame map have their own frames;
//! nothing here uses the heap, which itself grows from here.

mod frames;
mod heap;
mod paging;
mod views;

use crate::bootinfo::BootInfo;
use crate::frame_map::place_for_map;
use crate::processor;
pub use crate::regions::PAGE;
use crate::regions::{REACH, pages_within};
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use frames::Frames;
pub use frames::LOW;
pub use heap::trim as trim_heap;
use paging::{PageTables, Rights};
use sing_arch::lock::SpinLock;
pub use views::{hide, is_view, make_view, show};

/// Code of SIPs.
pub const CODE_ARENA: Range<u64> = 0x0100_0000_0000..0x0100_4000_0000;
/// Addresses that `reserve` gives out: 2 TiB to 127 TiB.
pub const RESERVABLE: Range<u64> = 0x0200_0000_0000..0x7f00_0000_0000;
/// The direct map of physical memory. The boot code maps the first 4 GiB here, `init` all usable
/// memory.
const DIRECT_MAP: u64 = 0xffff_8000_0000_0000;
/// The kernel's heap, at most 1 TiB.
const HEAP: Range<u64> = 0xffff_c000_0000_0000..0xffff_c100_0000_0000;
const DEVICES: u64 = 0xffff_e000_0000_0000;
const VIEWS: u64 = 0xffff_d000_0000_0000;
const TABLES: u64 = 0xffff_e800_0000_0000;
// All that is within reach has its place there, and in the direct map.
const _: () = assert!(REACH <= TABLES - DEVICES && REACH <= HEAP.start - DIRECT_MAP);

/// Physical addresses that the boot code maps.
const MAPPED_BY_BOOT: u64 = 4 << 30;
/// Memory below this belongs to firmware and loaders.
const LOW_MEMORY: u64 = 1 << 20;

/// The least number of free frames to start with: page tables, and the first piece of the heap.
const LEAST: u64 = 512;

struct Memory {
    frames: Frames,
    tables: PageTables,
    /// The end of the loaded code in the arena.
    code_end: u64,
    /// The end of the heap.
    heap_end: u64,
}

static MEMORY: SpinLock<Option<Memory>> = SpinLock::new(None);

unsafe extern "C" {
    static image_start: u8;
    static text_start: u8;
    static text_end: u8;
    static image_end: u8;
}

/// Addresses of the kernel's code.
pub fn kernel_text() -> Range<u64> {
    (&raw const text_start) as u64..(&raw const text_end) as u64
}

/// Addresses of the kernel's image: read-only data, code, data.
pub fn kernel_image() -> Range<u64> {
    (&raw const image_start) as u64..(&raw const image_end) as u64
}

/// The address of physical memory in the direct map.
fn direct(physical: u64) -> u64 {
    DIRECT_MAP + physical
}

/// Reads the loader's memory at physical address `at`, while the boot code's page tables are in
/// use. `None` beyond what those map.
pub fn boot_memory<'a>(at: u64, len: usize) -> Option<&'a [u8]> {
    let end = at.checked_add(len as u64)?;
    if at == 0 || end > MAPPED_BY_BOOT {
        return None;
    }
    // SAFETY: the boot code maps these addresses, and until `init` nothing but the kernel's image
    // and stack is written, where no loader leaves anything.
    Some(unsafe { core::slice::from_raw_parts(direct(at) as *const u8, len) })
}

/// Memory cannot be set up, as there is too little.
#[derive(Debug)]
pub struct TooLittle;

/// What was found in memory.
pub struct Taken {
    /// The system image.
    pub image: Option<&'static [u8]>,
    /// Bytes that are not used, as their record would be too large.
    pub unrecorded: u64,
}

/// Takes over memory: frames, page tables, heap.
pub fn init(boot: &BootInfo) -> Result<Taken, TooLittle> {
    let mut usable = boot.memory.clone();
    usable.subtract(0..LOW_MEMORY);
    usable.subtract(kernel_image());
    usable.align_to(PAGE);

    let mut free = usable.clone();
    let module = boot.module.clone().filter(|m| !m.is_empty());
    let image_pages = match &module {
        Some(m) => pages_within(m.start, m.end - m.start, REACH).ok_or(TooLittle)?,
        None => 0..0,
    };
    free.subtract(image_pages.clone());
    let (record, unrecorded) = place_for_map(&mut free, MAPPED_BY_BOOT).ok_or(TooLittle)?;
    usable.cut(free.iter().map(|r| r.end).max().ok_or(TooLittle)?);
    usable.subtract(image_pages.clone());
    let mut frames = Frames::new(&free, record).ok_or(TooLittle)?;
    if frames.free() < LEAST {
        return Err(TooLittle);
    }
    let mut tables = PageTables::new(&mut frames).ok_or(TooLittle)?;
    for (range, rights) in [
        (kernel_image().start..kernel_text().start, Rights::Read),
        (kernel_text(), Rights::Execute),
        (kernel_text().end..kernel_image().end, Rights::Write),
    ] {
        for page in range.step_by(PAGE as usize) {
            if !processor::guards().any(|guard| guard == page) {
                tables
                    .map(&mut frames, page, page, rights)
                    .ok_or(TooLittle)?;
            }
        }
    }
    let writable = usable.iter().map(|range| (range, Rights::Write));
    for (range, rights) in writable.chain([(image_pages, Rights::Read)]) {
        tables
            .map_large(&mut frames, direct(range.start), range, rights)
            .ok_or(TooLittle)?;
    }
    // SAFETY: the kernel's image and stacks are mapped where they were, all else that it uses in
    // the direct map.
    unsafe { tables.activate() };
    frames.prefer_high();
    *MEMORY.lock() = Some(Memory {
        frames,
        tables,
        code_end: CODE_ARENA.start,
        heap_end: HEAP.start,
    });
    let image = module.map(|m| {
        // SAFETY: mapped above, to be read only, and taken out of what frames are made of.
        unsafe {
            let at = direct(m.start) as *const u8;
            core::slice::from_raw_parts(at, (m.end - m.start) as usize)
        }
    });
    Ok(Taken { image, unrecorded })
}

fn with<R>(f: impl FnOnce(&mut Memory) -> R) -> R {
    f(MEMORY
        .lock()
        .as_mut()
        .expect("memory is set up before anything asks for it"))
}

/// The number of frames in total, and of those that are free.
pub fn frame_counts() -> (u64, u64) {
    with(|m| (m.frames.total(), m.frames.free()))
}

/// Maps the pages with `len` bytes of a device's registers at a physical address: the virtual
/// address. `None` if the firmware's address is out of range, or memory for page tables is short.
pub fn map_device(physical: u64, len: u64) -> Option<u64> {
    let pages = pages_within(physical, len, REACH)?;
    with(|m| {
        for page in pages.step_by(PAGE as usize) {
            m.tables
                .map(&mut m.frames, DEVICES + page, page, Rights::Device)?;
        }
        Some(DEVICES + physical)
    })
}

/// Copies the firmware's memory at a physical address. Leaves `out` as it is if that cannot be
/// mapped.
pub fn read_tables(physical: u64, out: &mut [u8]) {
    let Some(pages) = pages_within(physical, out.len() as u64, REACH) else {
        return;
    };
    let mapped = with(|m| {
        pages.step_by(PAGE as usize).all(|page| {
            m.tables
                .map(&mut m.frames, TABLES + page, page, Rights::Read)
                .is_some()
        })
    });
    if mapped {
        // SAFETY: mapped above, to read from; nothing here writes where the firmware keeps its
        // tables.
        let there =
            unsafe { core::slice::from_raw_parts((TABLES + physical) as *const u8, out.len()) };
        out.copy_from_slice(there);
    }
}

/// Takes `count` neighbouring frames, cleared, the first at a multiple of `align` bytes, all below
/// physical address `limit`: memory for a device. `None` if there is no such run, or fewer frames
/// would be left than are kept for the kernel's heap.
pub fn take_run(count: u64, align: u64, limit: u64) -> Option<Run> {
    take_run_leaving(count, align, limit, kept_for_heap())
}

/// The same where `left` frames are to be left.
pub fn take_run_leaving(count: u64, align: u64, limit: u64, left: u64) -> Option<Run> {
    with(|m| {
        let wanted = count.checked_add(left)?;
        if count == 0 || wanted > m.frames.free() {
            return None;
        }
        let start = m.frames.take_run(count, align, limit)?;
        for frame in (start..start + count * PAGE).step_by(PAGE as usize) {
            frames::clear(frame);
        }
        Some(Run { start, count })
    })
}

/// Addresses of the loaded code.
pub fn loaded_code() -> Range<u64> {
    CODE_ARENA.start..with(|m| m.code_end)
}

/// A byte of loaded code. `None` outside.
///
/// # Safety
/// It belongs to code that is running: code of others may have been unloaded.
pub unsafe fn code_byte(at: u64) -> Option<u8> {
    // SAFETY: loaded code is mapped to be read, and the caller's is not unloaded.
    let byte = || unsafe { (at as *const u8).read() };
    loaded_code().contains(&at).then(byte)
}

/// Neighbouring frames, freed when this is dropped.
#[derive(Debug)]
pub struct Run {
    start: u64,
    count: u64,
}

impl Run {
    /// Physical addresses.
    pub fn physical(&self) -> Range<u64> {
        self.start..self.start + self.count * PAGE
    }

    /// The words, through the direct map: for what the machine reads meanwhile.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the frames are this run's alone, in the direct map as long as nobody hides them,
        // and whole pages of words.
        unsafe {
            let at = direct(self.start) as *const AtomicU64;
            core::slice::from_raw_parts(at, (self.count * PAGE / 8) as usize)
        }
    }

    /// The bytes, through the direct map.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the frames are this run's alone, and in the direct map as long as nobody hides
        // them.
        unsafe {
            let at = direct(self.start) as *mut u8;
            core::slice::from_raw_parts_mut(at, (self.count * PAGE) as usize)
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        with(|m| {
            for frame in self.physical().step_by(PAGE as usize) {
                // SAFETY: `take_run` took it, and the only reference went by way of this run.
                unsafe { m.frames.give(frame) };
            }
        });
    }
}

/// The number of frames that are kept for the kernel's heap: even if SIPs have all others, the
/// kernel can complete what it has begun.
fn reserve(frames: &Frames) -> u64 {
    (frames.total() / 64).max(512)
}

/// The number of frames that are kept for the kernel's heap.
pub fn kept_for_heap() -> u64 {
    with(|m| reserve(&m.frames))
}

/// Whether the kernel's heap has begun to use the frames that are kept for it.
pub fn is_short() -> bool {
    with(|m| m.frames.free() < reserve(&m.frames) * 3 / 4)
}

/// Makes reserved pages accessible and zero. False, with nothing changed, if frames are short.
pub fn commit(range: Range<u64>) -> bool {
    with(|m| {
        let pages = (range.end - range.start) / PAGE;
        pages + reserve(&m.frames) <= m.frames.free() && m.tables.commit(&mut m.frames, range)
    })
}

/// Frees the frames of a range, which becomes inaccessible.
pub fn decommit(range: Range<u64>) {
    with(|m| m.tables.decommit(&mut m.frames, range));
}

/// Frees the frames of a range, which reads as zero from then on. A write there allocates a frame
/// ([`fill_blank`]).
pub fn blank(range: Range<u64>) {
    with(|m| m.tables.blank(&mut m.frames, range));
}

/// Gives a blank page a frame, because it is written to. False if the page is not blank, or there
/// is no frame.
pub fn fill_blank(at: u64) -> bool {
    let page = at / PAGE * PAGE;
    RESERVABLE.contains(&page) && with(|m| m.tables.fill(&mut m.frames, page))
}

/// The physical address of a committed byte, whose page gets a frame of its own if it is blank.
/// `None` if there is no frame.
pub fn device_address(at: u64) -> Option<u64> {
    let page = at / PAGE * PAGE;
    if !RESERVABLE.contains(&page) {
        return None;
    }
    with(|m| {
        m.tables.fill(&mut m.frames, page);
        m.tables.frame(page).map(|frame| frame + at % PAGE)
    })
}

/// Clears the committed pages of a range.
pub fn discard(range: Range<u64>) {
    with(|m| m.tables.clear(range));
}

/// Frees the frames of a range, and page tables that are empty then.
pub fn release(range: Range<u64>) {
    with(|m| {
        m.tables.decommit(&mut m.frames, range.clone());
        m.tables.prune(&mut m.frames, range);
    });
}

/// Bytes of code that can still be loaded: limited by addresses, and by frames beside those kept
/// for the kernel's heap.
pub fn code_room() -> u64 {
    with(|m| {
        let frames = m.frames.free().saturating_sub(reserve(&m.frames));
        (CODE_ARENA.end - m.code_end).min(frames * PAGE)
    })
}

/// Bytes that the heap can grow by, beside the frames that are kept for it.
pub fn heap_room() -> u64 {
    with(|m| m.frames.free().saturating_sub(reserve(&m.frames)) * PAGE)
}

/// Unloads all code from this address on, which nobody runs.
pub fn unload_code(from: u64) {
    with(|m| {
        assert!(
            from >= CODE_ARENA.start && from.is_multiple_of(PAGE),
            "code that was loaded"
        );
        let pages = from..core::mem::replace(&mut m.code_end, from);
        pages.step_by(PAGE as usize).for_each(|p| m.unload_page(p));
    });
}

/// Copies code into the arena: its address. `None`, with nothing changed, if the arena is full or
/// frames are short.
pub fn load_code(code: &[u8]) -> Option<u64> {
    with(|m| {
        let at = m.code_end;
        let end = at.checked_add((code.len() as u64).next_multiple_of(PAGE))?;
        if end > CODE_ARENA.end {
            return None;
        }
        let pages = (at..end).step_by(PAGE as usize);
        for (page, bytes) in pages.zip(code.chunks(PAGE as usize)) {
            if m.load_page(page, bytes).is_none() {
                (at..page)
                    .step_by(PAGE as usize)
                    .for_each(|loaded| m.unload_page(loaded));
                return None;
            }
        }
        m.code_end = end;
        Some(at)
    })
}

impl Memory {
    /// Loads a page of code. At no time is the frame both writable under one address and executable
    /// under another. If frames are short, nothing has changed.
    fn load_page(&mut self, page: u64, bytes: &[u8]) -> Option<()> {
        let frame = self.frames.take()?;
        frames::fill(frame, bytes);
        let hidden = self.tables.hide(&mut self.frames, direct(frame));
        let mapped = hidden.and_then(|()| {
            let done = self
                .tables
                .map(&mut self.frames, page, frame, Rights::Execute);
            if done.is_none() {
                self.tables.show(direct(frame), frame);
            }
            done
        });
        if mapped.is_none() {
            // SAFETY: taken above, and not mapped but in the direct map, as all free frames are.
            unsafe { self.frames.give(frame) };
        }
        mapped
    }

    /// Undoes `load_page`.
    fn unload_page(&mut self, page: u64) {
        if let Some(frame) = self.tables.unmap(page) {
            self.tables.show(direct(frame), frame);
            // SAFETY: `load_page` took it for this page, which is not mapped any more.
            unsafe { self.frames.give(frame) };
        }
    }
}

/// The direct-map address of a mapped page, or of a page of the kernel's image; `None` if its frame
/// is not in the direct map.
pub fn direct_alias(page: u64) -> Option<u64> {
    with(|m| {
        let physical = if kernel_image().contains(&page) {
            page
        } else {
            m.tables.translate(page)?
        };
        m.tables
            .translate(direct(physical))
            .map(|_| direct(physical))
    })
}

/// Makes pages accessible for the heap, which may use the frames kept for it. False, with nothing
/// changed, if frames are short.
pub fn commit_for_heap(range: Range<u64>) -> bool {
    with(|m| m.tables.commit(&mut m.frames, range))
}

/// Shortens the heap, and frees its frames from `end` on.
fn shorten_heap(end: u64) {
    with(|m| {
        let old = core::mem::replace(&mut m.heap_end, end);
        m.tables.decommit(&mut m.frames, end..old);
    });
}

/// Extends the heap by at least `bytes`: the new part, or `None` if frames are short.
fn grow_heap(bytes: u64) -> Option<Range<u64>> {
    with(|m| {
        let start = m.heap_end;
        let end = start
            .checked_add(bytes.next_multiple_of(PAGE))
            .filter(|&e| e <= HEAP.end)?;
        m.tables.commit(&mut m.frames, start..end).then(|| {
            m.heap_end = end;
            start..end
        })
    })
}
