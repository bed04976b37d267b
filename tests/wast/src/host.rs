//! The host of the SIP that scripts run in: its memories, the traps of its instructions, and how a
//! call ended.

use sing_image::meta::{MemoryMode, MemoryType};
use sing_kernel::host::{GuestMemory, Host};
use sing_runtime::{SipMemory, Template, Trap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A memory's record, as compiled code reads it (`ctx::MEM_DEF_BASE`, `ctx::MEM_DEF_LEN`).
#[repr(C)]
struct Record {
    base: AtomicU64,
    len: AtomicU64,
}

struct Memory {
    record: &'static Record,
    memory: GuestMemory,
    ty: MemoryType,
}

impl Memory {
    fn len(&self) -> u64 {
        self.record.len.load(Relaxed)
    }

    fn touch(&self, end: u64) -> Result<(), Trap> {
        self.memory.touch(end, self.len())
    }
}

#[derive(Default)]
struct State {
    memories: Vec<Memory>,
    code: Vec<Arc<Template>>,
    outcome: Option<Result<(), Trap>>,
}

/// The host.
#[derive(Default)]
pub struct Scripts(Mutex<State>);

impl Scripts {
    /// One without memories and code.
    pub const fn new() -> Self {
        Scripts(Mutex::new(State {
            memories: Vec::new(),
            code: Vec::new(),
            outcome: None,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a template's traps.
    pub fn add_template(&self, template: &Arc<Template>) {
        self.state().code.push(template.clone());
    }

    /// A memory of this type; returns the fixed address of its record, or `None` if there is no
    /// room.
    pub fn add_memory(&self, ty: MemoryType, mode: MemoryMode) -> Option<u64> {
        let len = ty.min_bytes();
        let memory = GuestMemory::new(mode, ty.max_bytes(), len)?;
        let record: &'static Record = Box::leak(Box::new(Record {
            base: AtomicU64::new(memory.base()),
            len: AtomicU64::new(len),
        }));
        self.state().memories.push(Memory { record, memory, ty });
        Some(std::ptr::from_ref(record) as u64)
    }

    /// How the last call ended, once.
    pub fn take_outcome(&self) -> Option<Result<(), Trap>> {
        self.state().outcome.take()
    }
}

impl Host for Scripts {
    fn touch(&self, address: u64) -> Result<(), Trap> {
        for m in &self.state().memories {
            if let Some(offset) = address.checked_sub(m.memory.base())
                && offset < m.len()
            {
                return m.touch(offset + 1);
            }
        }
        Err(Trap::MemoryOutOfBounds)
    }

    fn memory(&self, base: u64, end: u64) -> Result<SipMemory, Trap> {
        let state = self.state();
        let memory = state.memories.iter().find(|m| m.memory.base() == base);
        let memory = memory.ok_or(Trap::MemoryOutOfBounds)?;
        memory.touch(end)?;
        Ok(memory.memory.window())
    }

    fn grow_by(&self, base: u64, pages: u64) -> i64 {
        let state = self.state();
        let Some(m) = state.memories.iter().find(|m| m.memory.base() == base) else {
            return -1;
        };
        let old = m.len();
        let new = old.saturating_add(m.ty.bytes(pages));
        if new > m.ty.max_bytes() {
            return -1;
        }
        m.record.len.store(new, Relaxed);
        (old >> m.ty.page_bits) as i64
    }

    fn trap_at(&self, pc: u64) -> Option<u8> {
        let state = self.state();
        let t = state.code.iter().find(|t| t.code().contains(&pc))?;
        t.meta().trap_at(u32::try_from(pc - t.code().start).ok()?)
    }

    fn ended(&self, outcome: Result<(), Trap>) {
        self.state().outcome = Some(outcome);
    }
}
