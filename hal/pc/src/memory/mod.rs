//! Memory: which addresses mean what, and the one record of frames and page tables behind a lock.
//!
//! | addresses | what |
//! |---|---|
//! | from 2 MiB | the kernel, where it was loaded; all else below 1 TiB is not mapped, the null page included |
//! | [`CODE_ARENA`] | code of SIPs, executable and read-only |
//! | [`RESERVABLE`] | what the kernel reserves and commits |
//! | [`DIRECT_MAP`] | all usable memory, by physical address, but for frames that hold code |
//! | [`HEAP`] | the kernel's heap |
//! | [`DEVICES`] | device registers, by physical address |
//!
//! Whatever can be written to cannot be executed. Memory holds page tables and frames of its own accord; nothing here
//! uses the heap, which itself grows from here.

mod frames;
mod heap;
mod paging;

use crate::bootinfo::BootInfo;
use crate::processor;
use core::ops::Range;
use frames::Frames;
use paging::{PageTables, Rights};
use sing_arch::lock::SpinLock;

/// Bytes of a page and a frame.
pub const PAGE: u64 = 4096;
/// Code of SIPs.
pub const CODE_ARENA: Range<u64> = 0x0100_0000_0000..0x0100_4000_0000;
/// Addresses that `reserve` gives out: 2 TiB to 127 TiB.
pub const RESERVABLE: Range<u64> = 0x0200_0000_0000..0x7f00_0000_0000;
/// Physical memory. The boot code maps the first 4 GiB here, `init` all that is usable.
const DIRECT_MAP: u64 = 0xffff_8000_0000_0000;
/// The kernel's heap, at most 1 TiB.
const HEAP: Range<u64> = 0xffff_c000_0000_0000..0xffff_c100_0000_0000;
const DEVICES: u64 = 0xffff_e000_0000_0000;

/// Physical addresses that the boot code maps.
const MAPPED_BY_BOOT: u64 = 4 << 30;
/// Below, firmware and loaders keep their own.
const LOW_MEMORY: u64 = 1 << 20;

struct Memory {
    frames: Frames,
    tables: PageTables,
    /// How far the code arena is filled.
    code_end: u64,
    /// How far the heap reaches.
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

/// Where the kernel lies: read-only data, code, data.
pub fn kernel_image() -> Range<u64> {
    (&raw const image_start) as u64..(&raw const image_end) as u64
}

/// The address of physical memory in the direct map.
fn direct(physical: u64) -> u64 {
    DIRECT_MAP + physical
}

/// Reads what a loader left, while the boot code's tables are in use.
pub fn boot_memory<'a>(at: u64, len: usize) -> Option<&'a [u8]> {
    let end = at.checked_add(len as u64)?;
    if at == 0 || end > MAPPED_BY_BOOT {
        return None;
    }
    // SAFETY: the boot code maps these addresses, and until `init` nothing but the kernel's image and stack is
    // written, where no loader leaves anything.
    Some(unsafe { core::slice::from_raw_parts(direct(at) as *const u8, len) })
}

/// Why memory cannot be set up.
#[derive(Debug)]
pub struct TooLittle;

/// Takes over memory: frames, page tables, heap. Returns the system image.
pub fn init(boot: &BootInfo) -> Result<Option<&'static [u8]>, TooLittle> {
    let mut usable = boot.memory.clone();
    usable.subtract(0..LOW_MEMORY);
    usable.subtract(kernel_image());
    usable.align_to(PAGE);

    let mut free = usable.clone();
    let module = boot.module.clone().filter(|m| !m.is_empty());
    if let Some(m) = &module {
        let pages = m.start / PAGE * PAGE..m.end.next_multiple_of(PAGE);
        free.subtract(pages.clone());
        usable.add(pages);
    }
    let mut frames = Frames::new(free);
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
    for range in usable.iter() {
        tables
            .map_large(&mut frames, direct(range.start), range)
            .ok_or(TooLittle)?;
    }
    // SAFETY: the kernel's image and stacks are mapped where they were, all else that it uses in the direct map.
    unsafe { tables.activate() };
    *MEMORY.lock() = Some(Memory {
        frames,
        tables,
        code_end: CODE_ARENA.start,
        heap_end: HEAP.start,
    });
    Ok(module.map(|m| {
        // SAFETY: mapped above, taken out of what frames are made of, and never written.
        unsafe {
            let at = direct(m.start) as *const u8;
            core::slice::from_raw_parts(at, (m.end - m.start) as usize)
        }
    }))
}

fn with<R>(f: impl FnOnce(&mut Memory) -> R) -> R {
    f(MEMORY
        .lock()
        .as_mut()
        .expect("memory is set up before anything asks for it"))
}

/// Frames there are for everything, and those that are free.
pub fn frame_counts() -> (u64, u64) {
    with(|m| (m.frames.total(), m.frames.free()))
}

/// Maps the page with a device's registers; returns their address.
pub fn map_device(physical: u64) -> u64 {
    let at = DEVICES + physical;
    with(|m| {
        m.tables.map(
            &mut m.frames,
            at / PAGE * PAGE,
            physical / PAGE * PAGE,
            Rights::Device,
        )
    });
    at
}

/// Frames that are left to the kernel's heap: where SIPs have all the rest, it still has room for what it has begun.
fn reserve(frames: &Frames) -> u64 {
    (frames.total() / 64).max(512)
}

/// Frames that are left to the kernel's heap.
pub fn kept_for_heap() -> u64 {
    with(|m| reserve(&m.frames))
}

/// Whether the kernel's heap has begun to use up what is left to it.
pub fn is_short() -> bool {
    with(|m| m.frames.free() < reserve(&m.frames) * 3 / 4)
}

/// Makes reserved pages accessible and zero. False, and nothing changed, where frames are short.
pub fn commit(range: Range<u64>) -> bool {
    with(|m| {
        let pages = (range.end - range.start) / PAGE;
        pages + reserve(&m.frames) <= m.frames.free() && m.tables.commit(&mut m.frames, range)
    })
}

/// Takes the frames of a range away.
pub fn decommit(range: Range<u64>) {
    with(|m| m.tables.decommit(&mut m.frames, range));
}

/// Clears what is committed in a range.
pub fn discard(range: Range<u64>) {
    with(|m| m.tables.clear(range));
}

/// Takes the frames of a range away, and the page tables that are empty then.
pub fn release(range: Range<u64>) {
    with(|m| {
        m.tables.decommit(&mut m.frames, range.clone());
        m.tables.prune(&mut m.frames, range);
    });
}

/// Copies code into the arena. `None` where the arena is full or frames are short.
pub fn load_code(code: &[u8]) -> Option<u64> {
    with(|m| {
        let at = m.code_end;
        let end = at.checked_add((code.len() as u64).next_multiple_of(PAGE))?;
        if end > CODE_ARENA.end {
            return None;
        }
        for (page, bytes) in (at..end)
            .step_by(PAGE as usize)
            .zip(code.chunks(PAGE as usize))
        {
            let frame = m.frames.take()?;
            frames::fill(frame, bytes);
            m.tables.map(&mut m.frames, page, frame, Rights::Execute)?;
            // From here on no address leads to the frame by which it could be written.
            m.tables.hide(&mut m.frames, direct(frame))?;
            m.code_end = page + PAGE;
        }
        m.code_end = end;
        Some(at)
    })
}

/// Where the frame of a mapped page, or of the kernel's image, lies in the direct map; `None` where it does not.
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

/// Makes the heap longer by at least `bytes`: what is new, or `None` where frames are short.
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
