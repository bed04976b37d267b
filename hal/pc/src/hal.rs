//! What the kernel calls.

use crate::memory::{self, PAGE, RESERVABLE};
use crate::spaces::Spaces;
use crate::{apic, clock, exit, interrupts, processor, serial};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_kernel::hal::Hal;

/// Reservations are aligned to this.
const GRAIN: u64 = 64 * 1024;

static SPACES: SpinLock<Spaces> = SpinLock::new(Spaces::new());
/// Columns and rows, 32 bits each; 0 where the console is no terminal.
static TERMINAL: AtomicU64 = AtomicU64::new(0);

/// This machine.
pub struct Pc;

/// Makes all reservable addresses free, and notes the size of the terminal.
pub fn init(terminal: Option<(u32, u32)>) {
    SPACES
        .lock()
        .give(RESERVABLE.start, RESERVABLE.end - RESERVABLE.start);
    let (columns, rows) = terminal.unwrap_or((0, 0));
    TERMINAL.store(u64::from(columns) << 32 | u64::from(rows), Relaxed);
}

/// The pages that lie in a range of the kernel's.
fn pages(at: u64, bytes: u64) -> Range<u64> {
    let end = at
        .checked_add(bytes)
        .expect("the kernel passes addresses that it has reserved");
    let range = at / PAGE * PAGE..end.next_multiple_of(PAGE);
    assert!(
        RESERVABLE.start <= range.start && range.end <= RESERVABLE.end,
        "{range:x?} was never reserved"
    );
    range
}

impl Hal for Pc {
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

    fn idle(&self) {
        interrupts::idle();
    }

    fn total_pages(&self) -> u64 {
        memory::frame_counts().0
    }

    fn is_short(&self) -> bool {
        memory::is_short()
    }

    fn reserve(&self, bytes: u64) -> Option<u64> {
        SPACES
            .lock()
            .take(bytes.max(1).checked_next_multiple_of(GRAIN)?)
    }

    fn release(&self, at: u64, bytes: u64) {
        let size = bytes.max(1).next_multiple_of(GRAIN);
        memory::release(pages(at, size));
        SPACES.lock().give(at, size);
    }

    fn commit(&self, at: u64, bytes: u64) -> bool {
        memory::commit(pages(at, bytes))
    }

    fn decommit(&self, at: u64, bytes: u64) {
        memory::decommit(pages(at, bytes));
    }

    fn discard(&self, at: u64, bytes: u64) {
        memory::discard(pages(at, bytes));
    }

    fn load_code(&self, code: &[u8]) -> Option<u64> {
        memory::load_code(code)
    }

    fn code_arena(&self) -> Range<u64> {
        memory::CODE_ARENA
    }

    fn console_write(&self, bytes: &[u8]) {
        serial::write(bytes);
    }

    fn console_read(&self, out: &mut [u8]) -> Option<usize> {
        Some(serial::read(out))
    }

    fn console_size(&self) -> Option<(u32, u32)> {
        match TERMINAL.load(Relaxed) {
            0 => None,
            size => Some(((size >> 32) as u32, size as u32)),
        }
    }

    fn log(&self, line: &str) {
        serial::line!("{line}");
    }

    fn exit(&self, status: i32) -> ! {
        exit::exit(status)
    }
}
