//! The implementation of [`Hal`], which the kernel calls, and the record of free addresses.

use crate::memory::{self, RESERVABLE};
use crate::serial::Serial;
use crate::spaces::Spaces;
use crate::{apic, clock, devices, exit, interrupts, iommu, processor, serial};
use core::ops::Range;
use sing_arch::lock::SpinLock;
use sing_kernel::console::ConsoleDevice;
use sing_kernel::device::Device;
use sing_kernel::hal::{DeviceAccess, Hal, LINE_CONSOLE, LINE_OUTPUT, Part, Refused, Reservation};
use sing_kernel::output::Class;

/// Reservations are aligned to this many bytes.
const GRAIN: u64 = 64 * 1024;

static SPACES: SpinLock<Spaces> = SpinLock::new(Spaces::new());

/// The HAL of a PC.
pub struct Pc;

/// Makes all reservable addresses free.
pub fn init() {
    SPACES
        .lock()
        .give(RESERVABLE.start, RESERVABLE.end - RESERVABLE.start);
}

/// Committed memory for a large allocation of the kernel's heap; `None` if addresses or frames are
/// short.
pub fn take_for_heap(bytes: u64) -> Option<u64> {
    let room = bytes.checked_next_multiple_of(GRAIN)?;
    let at = SPACES.lock().take(room)?;
    if memory::commit_for_heap(at..at + bytes.next_multiple_of(memory::PAGE)) {
        return Some(at);
    }
    SPACES.lock().give(at, room);
    None
}

/// Frees memory of [`take_for_heap`]; `bytes` as it was requested.
pub fn give_from_heap(at: u64, bytes: u64) {
    let bytes = bytes.next_multiple_of(GRAIN);
    memory::release(at..at + bytes);
    SPACES.lock().give(at, bytes);
}

/// The addresses of a part. Its type guarantees that they are reserved, so the assertion fails only
/// by a defect of this HAL.
fn pages(part: &Part<'_>) -> Range<u64> {
    let range = part.range();
    assert!(
        RESERVABLE.start <= range.start && range.end <= RESERVABLE.end,
        "{range:x?} was never reserved"
    );
    range
}

// SAFETY: reservations come out of addresses that nothing else of this HAL uses (`memory`); code is
// never writable under any address once it is executable; one processor runs, and interrupts call
// the kernel as they must (`interrupts`).
unsafe impl Hal for Pc {
    fn name(&self) -> &'static str {
        "pc"
    }

    fn cpus(&self) -> u32 {
        1
    }

    fn has_cpu_feature(&self, name: &str) -> bool {
        processor::has_feature(name)
    }

    fn cycles_per_second(&self) -> u64 {
        clock::rate()
    }

    fn now(&self) -> u64 {
        clock::now()
    }

    fn utc(&self) -> u64 {
        clock::utc()
    }

    fn set_timer(&self, at: u64) {
        apic::set_timer(at);
    }

    fn mask(&self, line: u32) {
        devices::mask(line);
    }

    fn unmask(&self, line: u32) {
        devices::unmask(line);
    }

    fn interrupt_lines(&self) -> u32 {
        1 << LINE_CONSOLE | 1 << LINE_OUTPUT | devices::lines()
    }

    fn devices(&self) -> &[Device] {
        devices::all()
    }

    fn io_read(&self, device: usize, range: usize, offset: u32, width: u32) -> u64 {
        devices::read(device, range, offset, width)
    }

    unsafe fn io_write(&self, device: usize, range: usize, offset: u32, width: u32, value: u64) {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { devices::write(device, range, offset, width, value) };
    }

    fn show_registers(&self, device: usize, range: usize) -> Option<u64> {
        devices::show_registers(device, range)
    }

    fn hide_registers(&self, device: usize, range: usize) {
        devices::hide_registers(device, range);
    }

    fn settle(&self, device: usize) -> Option<u64> {
        devices::settle(device)
    }

    fn connect(&self, device: usize) -> bool {
        devices::connect(device)
    }

    fn disconnect(&self, device: usize, reset: bool) -> bool {
        devices::disconnect(device, reset)
    }

    fn confines(&self, device: usize) -> bool {
        devices::is_confined(device)
    }

    fn confines_interrupts(&self) -> bool {
        iommu::interrupts::are_remapped()
    }

    fn open_window(&self, device: usize) -> bool {
        devices::open_window(device)
    }

    unsafe fn map(&self, device: usize, page: u32, at: u64, access: DeviceAccess) -> bool {
        memory::device_address(at).is_some_and(|frame| iommu::map(device, page, frame, access))
    }

    fn unmap(&self, device: usize, pages: Range<u32>) -> bool {
        iommu::unmap(device, pages)
    }

    fn refused(&self, device: usize) -> Option<Refused> {
        iommu::refused(device)
    }

    fn device_address(&self, at: u64) -> Option<u64> {
        memory::device_address(at)
    }

    fn idle(&self) {
        interrupts::idle();
    }

    fn held(&self) -> u64 {
        interrupts::held()
    }

    fn total_pages(&self) -> u64 {
        memory::frame_counts().0
    }

    fn free_pages(&self) -> u64 {
        memory::frame_counts().1
    }

    fn is_short(&self) -> bool {
        memory::is_short()
    }

    fn reserve(&self, bytes: u64) -> Option<Reservation> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRAIN)?;
        let at = SPACES.lock().take(bytes)?;
        // SAFETY: taken out of what is free, so in no other reservation; nothing else of the
        // machine lies among these addresses.
        Some(unsafe { Reservation::new(at, bytes) })
    }

    fn release(&self, mut addresses: Reservation) {
        let (at, bytes) = (addresses.at(), addresses.bytes());
        memory::release(pages(&addresses.part(0, bytes)));
        SPACES.lock().give(at, bytes);
    }

    fn commit(&self, part: Part<'_>) -> bool {
        memory::commit(pages(&part))
    }

    fn decommit(&self, part: Part<'_>) {
        memory::decommit(pages(&part));
    }

    fn heap_room(&self) -> u64 {
        memory::heap_room()
    }

    fn discard(&self, part: Part<'_>) {
        memory::discard(pages(&part));
    }

    fn blank(&self, part: Part<'_>) {
        memory::blank(pages(&part));
    }

    fn trim(&self) -> bool {
        memory::trim_heap()
    }

    fn load_code(&self, code: &[u8]) -> Option<u64> {
        memory::load_code(code)
    }

    unsafe fn unload_code(&self, from: u64) {
        memory::unload_code(from);
    }

    fn code_room(&self) -> u64 {
        memory::code_room()
    }

    fn code_arena(&self) -> Range<u64> {
        memory::CODE_ARENA
    }

    fn console(&self) -> &dyn ConsoleDevice {
        &Serial
    }

    fn log(&self, class: Class, line: &[u8]) -> bool {
        serial::log(class, line)
    }

    fn exit(&self, status: i32) -> ! {
        exit::exit(status)
    }
}
