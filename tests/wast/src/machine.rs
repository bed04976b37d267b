//! The kernel's harness, as the rest of this program sees it.

use sing_hosted::{Config, HostedHal};
use sing_image::meta::{Limits, MemoryMode, Meta};
use sing_kernel::harness;
use sing_runtime::open::{Callee, Memory};
use sing_runtime::{ContextParams, SipMemory, Template, Trap};
use std::sync::Arc;

/// A hosted kernel that runs compiled code without a system. One a process.
pub struct Machine {
    hal: &'static HostedHal,
}

impl Machine {
    /// Starts it, or says why it cannot.
    pub fn start() -> Result<Machine, String> {
        let hal = HostedHal::new(Config::default()).map_err(|e| e.to_string())?;
        if !harness::init(hal) {
            return Err("no memory for the kernel".into());
        }
        Ok(Machine { hal })
    }

    /// What every context record holds.
    pub fn params(&self) -> ContextParams {
        use sing_kernel::hal::Hal;
        ContextParams {
            kernel_table: harness::kernel_table(),
            stack_limit: harness::stack_limit(),
            sip_id: 1,
            thread_id: 1,
            kernel_word: 0,
            cycles_per_second: self.hal.cycles_per_second(),
            stack_pointer: None,
        }
    }

    /// Loads code, and makes its traps known.
    pub fn load(&self, code: &[u8], meta: Meta) -> Result<Arc<Template>, String> {
        let base = harness::load_code(code).ok_or("the code arena is full")?;
        let template = Template::new(meta, base, code.len() as u64).map_err(|e| e.to_string())?;
        harness::add_template(&template);
        Ok(template)
    }

    /// Makes a linear memory.
    pub fn memory(&self, limits: Limits, mode: MemoryMode) -> Result<Memory, String> {
        let record = harness::add_memory(limits.min, limits.max, mode);
        let record =
            record.ok_or_else(|| format!("no room for a memory of {} pages", limits.min))?;
        // SAFETY: the harness keeps records, and memories stay until `harness::clear`, which this program
        // never calls: a process ends with its script.
        Ok(unsafe { Memory::new(record, limits.max) })
    }

    /// Puts bytes into a memory.
    pub fn write(&self, memory: Memory, at: u32, bytes: &[u8]) -> Result<(), Trap> {
        let end = u64::from(at) + bytes.len() as u64;
        if end > memory.len() {
            return Err(Trap::MemoryOutOfBounds);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if !harness::touch_memory(memory.record(), end) {
            return Err(Trap::OutOfMemory);
        }
        // SAFETY: `0..end` of the memory is accessible now, and no code runs while this does.
        unsafe { SipMemory::new(memory.base(), end) }.write(at, bytes)
    }

    /// Calls a function with arguments, and for results, in these cells.
    pub fn run(&self, callee: Callee, cells: &mut [u64]) -> Result<(), Trap> {
        harness::run(callee.context, callee.trampoline, cells.as_mut_ptr())
    }
}
