//! Tests that wrong numbers or a wrong order of calls break nothing: with a machine of three
//! megabytes.

mod stubborn;

use super::{Committed, Fiber, LinearMemory, Part, Reservation, Stack};
use crate::ground::console::ConsoleDevice;
use crate::ground::hal::{DeviceAccess, Hal};
use crate::ground::machine;
use alloc::collections::BTreeMap;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::lock::SpinLock;
use sing_runtime::Trap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stubborn::Stubborn;

/// Bytes of the machine.
const MEMORY: u64 = 3 << 20;

#[repr(align(65536))]
#[derive(Clone)]
struct Grain([u8; 65_536]);

/// Addresses of code, which is never stored.
pub(crate) const ARENA: u64 = 0x10_0000;

/// Hands out its megabytes from the start on, and counts released addresses. Of code it keeps only
/// the account: none of it is ever run.
pub(crate) struct Small {
    memory: AtomicU64,
    taken: AtomicU64,
    released: AtomicU64,
    /// Bytes of code loaded.
    pub(crate) loaded: AtomicU64,
    /// Bytes of code for which there is room.
    pub(crate) room: AtomicU64,
    /// Bytes by which the heap claims to grow.
    pub(crate) heap: AtomicU64,
    /// The longest piece of code so far.
    pub(crate) longest: AtomicU64,
    /// Its devices.
    pub(crate) stubborn: Stubborn,
    /// What the only device reaches: addresses of pages, by the pages of its window.
    pub(crate) window: SpinLock<BTreeMap<u32, (u64, DeviceAccess)>>,
    /// Whether the device goes on reaching what is unmapped.
    pub(crate) stuck: AtomicBool,
    /// Whether it was started for measuring.
    pub(crate) measures: AtomicBool,
}

static SMALL: Small = Small {
    memory: AtomicU64::new(0),
    taken: AtomicU64::new(0),
    released: AtomicU64::new(0),
    loaded: AtomicU64::new(0),
    room: AtomicU64::new(1 << 30),
    heap: AtomicU64::new(1 << 30),
    longest: AtomicU64::new(0),
    stubborn: Stubborn::new(),
    window: SpinLock::new(BTreeMap::new()),
    stuck: AtomicBool::new(false),
    measures: AtomicBool::new(false),
};

/// The machine that the tests of this crate share.
pub(crate) fn small() -> &'static Small {
    static STARTED: std::sync::Once = std::sync::Once::new();
    STARTED.call_once(|| {
        let memory = std::vec![Grain([0xee; 65_536]); MEMORY as usize / 65_536].leak();
        SMALL.memory.store(memory[0].0.as_ptr() as u64, Relaxed);
        machine::note(&SMALL);
    });
    &SMALL
}

/// Makes a system image none of whose programs is ever run.
pub(crate) fn system(bytes: &'static [u8]) -> super::System {
    // SAFETY: no program of it is run: the machine above does not even keep the code.
    unsafe { super::BootImage::new(bytes) }.decode().unwrap()
}

fn zero(part: &Part<'_>) {
    let Range { start, end } = part.range();
    // SAFETY: part of its memory, which is given to reservations alone.
    unsafe { core::ptr::write_bytes(start as *mut u8, 0, (end - start) as usize) };
}

// SAFETY: each reservation is a part of the leaked memory that no other is; all of it is always
// accessible.
unsafe impl Hal for Small {
    fn name(&self) -> &'static str {
        "small"
    }
    fn cpus(&self) -> u32 {
        1
    }
    fn has_cpu_feature(&self, name: &str) -> bool {
        name == "known"
    }
    fn measures(&self) -> bool {
        self.measures.load(Relaxed)
    }
    fn cycles_per_second(&self) -> u64 {
        1
    }
    fn now(&self) -> u64 {
        self.stubborn.now()
    }
    fn devices(&self) -> &[crate::ground::device::Device] {
        self.stubborn.devices()
    }
    fn io_read(&self, device: usize, _: usize, offset: u32, _: u32) -> u64 {
        self.stubborn.read(device, offset)
    }
    fn disconnect(&self, device: usize, reset: bool) -> bool {
        Stubborn::disconnect(device, reset)
    }
    fn utc(&self) -> u64 {
        0
    }
    fn set_timer(&self, _: u64) {}
    fn idle(&self) {}
    fn total_pages(&self) -> u64 {
        256
    }
    fn free_pages(&self) -> u64 {
        self.total_pages()
    }
    fn is_short(&self) -> bool {
        false
    }
    fn reserve(&self, bytes: u64) -> Option<Reservation> {
        let bytes = bytes.next_multiple_of(65_536);
        let at = self.taken.load(Relaxed);
        (at + bytes <= MEMORY).then(|| {
            self.taken.store(at + bytes, Relaxed);
            // SAFETY: whole pages behind everything that was given before.
            unsafe { Reservation::new(self.memory.load(Relaxed) + at, bytes) }
        })
    }
    fn release(&self, addresses: Reservation) {
        self.released.fetch_add(addresses.bytes(), Relaxed);
    }
    fn commit(&self, part: Part<'_>) -> bool {
        zero(&part);
        true
    }
    fn decommit(&self, part: Part<'_>) {
        zero(&part);
    }
    fn hides(&self) -> bool {
        true
    }
    fn hide(&self, _: Part<'_>) -> bool {
        true
    }
    fn reveal(&self, part: Part<'_>) -> bool {
        // So that a test sees whether what is hidden was taken for what is given back.
        part.range().end - part.range().start < 3 * PAGE
    }
    fn blank(&self, part: Part<'_>) {
        zero(&part);
    }
    fn discard(&self, part: Part<'_>) {
        zero(&part);
    }
    fn held(&self) -> u64 {
        0
    }
    fn device_address(&self, at: u64) -> Option<u64> {
        Some(at)
    }
    fn open_window(&self, _: usize) -> bool {
        true
    }
    unsafe fn map(&self, _: usize, page: u32, at: u64, access: DeviceAccess) -> bool {
        self.window.lock().insert(page, (at, access));
        true
    }
    fn unmap(&self, _: usize, pages: Range<u32>) -> bool {
        let stuck = self.stuck.load(Relaxed);
        if !stuck {
            self.window.lock().retain(|page, _| !pages.contains(page));
        }
        !stuck
    }
    fn load_code(&self, code: &[u8]) -> Option<u64> {
        let len = (code.len() as u64).next_multiple_of(PAGE);
        self.longest.fetch_max(len, Relaxed);
        let room = self.room.load(Relaxed).checked_sub(len)?;
        self.room.store(room, Relaxed);
        Some(ARENA + self.loaded.fetch_add(len, Relaxed))
    }
    unsafe fn unload_code(&self, from: u64) {
        let end = ARENA + self.loaded.swap(from - ARENA, Relaxed);
        self.room.fetch_add(end - from, Relaxed);
    }
    fn heap_room(&self) -> u64 {
        self.heap.load(Relaxed)
    }
    fn code_room(&self) -> u64 {
        self.room.load(Relaxed)
    }
    fn code_arena(&self) -> Range<u64> {
        0..0
    }
    fn console(&self) -> &dyn ConsoleDevice {
        self
    }
    fn log(&self, _: crate::ground::output::Class, _: &[u8]) -> bool {
        true
    }
    fn exit(&self, status: i32) -> ! {
        std::process::exit(status)
    }
}

impl ConsoleDevice for Small {
    fn write(&self, bytes: &[u8]) -> usize {
        bytes.len()
    }
    fn unwritten(&self) -> usize {
        0
    }
    fn read(&self, _: &mut [u8]) -> Option<usize> {
        None
    }
    fn size(&self) -> Option<(u32, u32)> {
        None
    }
}

fn refused<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

static MAIN: Fiber = Fiber::running();
static OTHER: Fiber = Fiber::ended();
static ROUNDS: AtomicU64 = AtomicU64::new(0);

extern "C" fn other(argument: u64) -> ! {
    loop {
        ROUNDS.fetch_add(argument, Relaxed);
        OTHER.switch_to(&MAIN, 0);
    }
}

// A single test, as one thread of a machine runs the kernel.
#[test]
fn wrong_numbers_and_wrong_order_are_refused() {
    let _alone = crate::alone();
    small();
    assert!(refused(|| machine::note(&SMALL)), "a second machine");
    memory_keeps_to_its_mark();
    hidden_memory_is_nobodys_and_comes_back();
    windows_end_with_their_memory();
    fibers_switch_once();
    assert_eq!(
        SMALL.taken.load(Relaxed),
        SMALL.released.load(Relaxed),
        "all is given up"
    );
}

fn memory_keeps_to_its_mark() {
    let mut m = Committed::reserve(65_536).unwrap();
    assert!(refused(|| m.clear_part(0, 1)), "nothing is accessible yet");
    assert!(m.commit(2 * PAGE));
    assert!(refused(|| m.clear_part(PAGE, PAGE + 1)));
    assert!(refused(|| m.clear_part(u64::MAX, 2)), "no wrap round");
    assert!(refused(|| m.block(2 * PAGE, 1)));
    assert!(refused(|| m.block(0, u64::MAX)));
    assert_eq!(m.block(PAGE, PAGE).base(), m.base() + PAGE);
    assert!(refused(|| m.commit(65_536 + PAGE)), "more than is reserved");
    assert!(refused(|| m.commit(2 * PAGE + 1)), "no whole pages");
    m.decommit(PAGE);
    assert!(refused(|| m.block(PAGE, 1)), "taken back");
}

fn hidden_memory_is_nobodys_and_comes_back() {
    let marks = |m: &Committed| (m.committed() / PAGE, m.occupied() / PAGE);
    let mut m = Committed::with(8 * PAGE).unwrap();
    m.hide(2 * PAGE);
    m.hide(4 * PAGE);
    assert_eq!(marks(&m), (2, 8));
    assert!(refused(|| m.block(2 * PAGE, 1)), "hidden");
    assert!(m.commit(4 * PAGE));
    assert_eq!(marks(&m), (4, 8));
    m.hide(3 * PAGE);
    m.decommit(7 * PAGE);
    assert_eq!(marks(&m), (3, 7), "what is hidden goes first");
    // It cannot be revealed: the machine gives other memory in its place.
    assert!(m.commit(6 * PAGE));
    assert_eq!(marks(&m), (6, 6));
    m.hide(5 * PAGE);
    assert!(m.commit(8 * PAGE), "beyond what is hidden");
    assert_eq!(marks(&m), (8, 8));
    m.hide(6 * PAGE);
    m.decommit(PAGE);
    assert_eq!(marks(&m), (1, 1));
}

fn windows_end_with_their_memory() {
    let linear = LinearMemory::default();
    assert_eq!(linear.window().write_u8(0, 1), Err(Trap::MemoryOutOfBounds));
    linear.place(Committed::with(65_536).unwrap());
    assert!(
        refused(|| linear.place(Committed::default())),
        "a second memory"
    );
    assert_eq!(linear.window().write_u8(65_535, 1), Ok(()));
    assert_eq!(
        linear.window().write_u8(65_536, 1),
        Err(Trap::MemoryOutOfBounds)
    );
    linear.with(|m| m.decommit(PAGE));
    assert_eq!(linear.window().len(), PAGE);
    drop(linear.take());
    assert!(linear.window().is_empty());
}

fn stacks_are_used_whole() {
    let mut stack = Stack::reserve(16 * PAGE).unwrap();
    for done in 1..4 {
        assert_eq!(stack.extend(5 * PAGE), Some(false), "{done}");
    }
    assert!(refused(|| OTHER.prepare(stack, other, 1)), "a part of one");
    let mut stack = Stack::new(16 * PAGE).unwrap();
    let mut pieces = 0;
    while stack.shrink(5 * PAGE) {
        pieces += 1;
        assert!(!stack.is_whole());
    }
    assert_eq!(pieces, 3);
    assert_eq!(stack.extend(15 * PAGE), Some(true));
}

fn fibers_switch_once() {
    assert!(
        refused(|| MAIN.switch_to(&OTHER, 0)),
        "nothing to go on with"
    );
    assert!(refused(|| OTHER.restart(other, 1)), "no stack");
    stacks_are_used_whole();
    OTHER.prepare(Stack::new(61_440).unwrap(), other, 1);
    assert!(
        refused(|| OTHER.prepare(Stack::default(), other, 1)),
        "a second stack"
    );
    OTHER.restart(other, 3);
    for round in 1..100 {
        MAIN.switch_to(&OTHER, 0);
        assert_eq!(ROUNDS.load(Relaxed), 3 * round);
    }
    assert!(
        refused(|| MAIN.switch_to(&MAIN, 0)),
        "from itself to itself"
    );
    assert!(
        refused(|| OTHER.switch_to(&MAIN, 0)),
        "from one that does not run"
    );
    assert!(refused(|| MAIN.restart(other, 1)), "it runs");
    drop(OTHER.give_up_stack(u64::MAX));
    assert!(refused(|| MAIN.switch_to(&OTHER, 0)), "its stack is gone");
    assert!(refused(|| MAIN.give_up_stack(u64::MAX)), "the stack in use");
}
