//! Running compiled code without a system: what the WebAssembly test suite is run on.
//!
//! One SIP without an image holds linked instances of open images, one thread runs their functions, one call
//! at a time; traps end the call instead of the SIP. Memory, faults, stack limits and kernel entries are those of
//! every SIP.

use crate::cpu;
use crate::hal::Hal;
use crate::machine;
use crate::memory::{STACK_RESERVE, Slot, Stack};
use crate::sip::Sip;
use crate::thread::{State, Thread};
use crate::trusted;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_abi::WASM_PAGE;
use sing_abi::trap::Trap;
use sing_arch::lock::SpinLock;
use sing_image::meta::MemoryMode;
use sing_runtime::Template;

/// A memory's record, as compiled code reads it (`ctx::MEM_DEF_BASE`, `ctx::MEM_DEF_LEN`).
#[repr(C)]
struct Record {
    base: AtomicU64,
    len: AtomicU64,
}

struct Memory {
    record: &'static Record,
    slot: Slot,
    max: u64,
}

#[derive(Default)]
struct Harness {
    sip: Option<&'static Sip>,
    thread: Option<&'static Thread>,
    memories: Vec<Memory>,
    code: Vec<Arc<Template>>,
    call: (u64, u64, u64),
    outcome: Option<Result<(), Trap>>,
}

static HARNESS: SpinLock<Harness> = SpinLock::new(Harness {
    sip: None,
    thread: None,
    memories: Vec::new(),
    code: Vec::new(),
    call: (0, 0, 0),
    outcome: None,
});
static STACK: AtomicU64 = AtomicU64::new(0);

/// The largest memory of an open image, in bytes.
const MAX_MEMORY: u64 = 4 << 30;

/// Starts the kernel without a system image. Called once, before anything else here; the caller's stack becomes
/// the idle context's. False where memory is short.
pub fn init(hal: &'static dyn Hal) -> bool {
    machine::set(hal);
    let bytes = Stack::bytes_for(512 << 10);
    let Some(stack) = Stack::take(bytes) else {
        return false;
    };
    let sip: &'static Sip = Box::leak(Box::default());
    let thread: &'static Thread = Box::leak(Box::default());
    thread.attach(sip, stack);
    STACK.store(stack.bottom + STACK_RESERVE, Relaxed);
    let mut h = HARNESS.lock();
    h.sip = Some(sip);
    h.thread = Some(thread);
    true
}

/// Address of the kernel's entry table, for context records.
#[must_use]
pub fn kernel_table() -> u64 {
    crate::entry::table()
}

/// Stack limit of the thread that runs calls, for context records.
#[must_use]
pub fn stack_limit() -> u64 {
    STACK.load(Relaxed)
}

/// Puts code into the code arena; its address.
#[must_use]
pub fn load_code(code: &[u8]) -> Option<u64> {
    machine::hal().load_code(code)
}

/// Makes a template's trap table known to the fault handler.
pub fn add_template(template: &Arc<Template>) {
    HARNESS.lock().code.push(template.clone());
}

/// A memory of `min` pages of 64 KiB that can grow to `max`; the address of its record. `None` where there is no
/// room.
#[must_use]
pub fn add_memory(min: u32, max: Option<u32>, mode: MemoryMode) -> Option<u64> {
    let len = u64::from(min) * WASM_PAGE;
    let max = max.map_or(MAX_MEMORY, |m| (u64::from(m) * WASM_PAGE).min(MAX_MEMORY));
    let slot = Slot::take(mode, max, len, 0)?;
    let record: &'static Record = Box::leak(Box::new(Record {
        base: AtomicU64::new(slot.base),
        len: AtomicU64::new(len),
    }));
    HARNESS.lock().memories.push(Memory { record, slot, max });
    Some(core::ptr::from_ref(record) as u64)
}

/// Makes the first `end` bytes of a memory accessible. False where they are not its, or memory is short.
#[must_use]
pub fn touch_memory(record: u64, end: u64) -> bool {
    let mut h = HARNESS.lock();
    let memory = h
        .memories
        .iter_mut()
        .find(|m| core::ptr::from_ref(m.record) as u64 == record);
    memory.is_some_and(|m| {
        let len = m.record.len.load(Relaxed);
        end <= len && (end <= m.slot.committed || m.slot.commit(end, len))
    })
}

/// Gives back all memories and code; nothing that was linked to them is called again.
pub fn clear() {
    let mut h = HARNESS.lock();
    for m in h.memories.drain(..) {
        m.slot.give();
    }
    h.code.clear();
}

/// Calls `code(context, arguments)`, a trampoline of an open image, on the harness's thread, and waits for its
/// end.
///
/// # Errors
/// Why the code trapped.
pub fn run(context: u64, code: u64, arguments: *mut u64) -> Result<(), Trap> {
    let thread = {
        let mut h = HARNESS.lock();
        h.call = (code, context, arguments as u64);
        h.outcome = None;
        h.thread
    };
    let Some(t) = thread else {
        return Err(Trap::BadArgument);
    };
    t.sp.store(trusted::first_frame(t.stack().top(), call, 0), Relaxed);
    t.state.store(State::Created as u32, Relaxed);
    t.unblocked();
    cpu::this().run_all();
    HARNESS
        .lock()
        .outcome
        .take()
        .unwrap_or(Err(Trap::BadArgument))
}

extern "sysv64" fn call(_: u64) -> ! {
    let (code, context, arguments) = HARNESS.lock().call;
    trusted::call_with(code, context, arguments);
    finish(Ok(()))
}

fn finish(outcome: Result<(), Trap>) -> ! {
    HARNESS.lock().outcome = Some(outcome);
    cpu::this().leave_for_idle();
    unreachable!("a finished call goes on")
}

/// If the current thread is the harness's, ends its call with this trap.
pub(crate) fn trapped(trap: Trap) {
    let thread = HARNESS.lock().thread;
    if thread.is_some_and(|t| core::ptr::eq(t, cpu::current())) {
        finish(Err(trap));
    }
}

/// Whether this SIP is the harness's.
pub(crate) fn is_harness(sip: &Sip) -> bool {
    HARNESS.lock().sip.is_some_and(|s| core::ptr::eq(s, sip))
}

/// Commits memory of the harness's SIP around an address that faulted.
pub(crate) fn commit_address(address: u64) -> Result<(), Trap> {
    let mut h = HARNESS.lock();
    for m in &mut h.memories {
        let len = m.record.len.load(Relaxed);
        let Some(offset) = address.checked_sub(m.slot.base) else {
            continue;
        };
        if offset < len {
            return if m.slot.commit(offset + 1, len) {
                Ok(())
            } else {
                Err(Trap::OutOfMemory)
            };
        }
    }
    Err(Trap::MemoryOutOfBounds)
}

/// Commits `0..end` of the memory at `base`.
pub(crate) fn commit_to(base: u64, end: u64) -> Result<(), Trap> {
    if end == 0 {
        return Ok(());
    }
    commit_address(base + end - 1)
}

/// `memory.grow` of the memory at `base`.
pub(crate) fn grow(base: u64, pages: u32) -> i32 {
    let h = HARNESS.lock();
    let Some(m) = h.memories.iter().find(|m| m.slot.base == base) else {
        return -1;
    };
    let old = m.record.len.load(Relaxed);
    let new = old + u64::from(pages) * WASM_PAGE;
    if new > m.max {
        return -1;
    }
    m.record.len.store(new, Relaxed);
    (old / WASM_PAGE) as i32
}

/// Code of the trap at an address in the harness's code.
pub(crate) fn trap_at(pc: u64) -> Option<u8> {
    let h = HARNESS.lock();
    let t = h.code.iter().find(|t| t.code().contains(&pc))?;
    t.meta().trap_at(u32::try_from(pc - t.code().start).ok()?)
}
