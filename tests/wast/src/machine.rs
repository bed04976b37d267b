//! The kernel, embedded: one SIP that scripts run in, without a system.

use crate::host::Scripts;
use sing_hosted::{Config, HostedHal};
use sing_image::meta::{MemoryMode, MemoryType, Meta};
use sing_kernel::GuestCall;
use sing_kernel::hal::Hal;
use sing_kernel::host::{Guest, Host};
use sing_runtime::open::{Callee, Memory};
use sing_runtime::{ContextParams, Template, Trap};
use std::sync::Arc;

/// Bytes of the stack for the scripts' functions.
const STACK: u64 = 512 << 10;

static SCRIPTS: Scripts = Scripts::new();

/// A hosted kernel that runs compiled code without a system. One for each process.
pub struct Machine {
    hal: &'static HostedHal,
    guest: &'static Guest,
}

impl Machine {
    /// Starts it, or says why it cannot.
    pub fn start() -> Result<Machine, String> {
        let hal = HostedHal::new(Config::default()).map_err(|e| e.to_string())?;
        let guest = Guest::start(hal, &SCRIPTS, STACK).ok_or("no memory for the kernel")?;
        Ok(Machine { hal, guest })
    }

    /// The common part of every context record.
    pub fn params(&self) -> ContextParams {
        ContextParams {
            kernel_table: self.guest.kernel_table(),
            stack_limit: self.guest.stack_limit(),
            sip_id: 1,
            thread_id: 1,
            kernel_word: 0,
            cycles_per_second: self.hal.cycles_per_second(),
            stack_pointer: None,
        }
    }

    /// Loads code, and registers its traps.
    pub fn load(&self, code: &[u8], data: Vec<u8>, meta: Meta) -> Result<Arc<Template>, String> {
        let base = self.hal.load_code(code).ok_or("the code arena is full")?;
        // SAFETY: the one caller has just had all three from the compiler; the code arena keeps
        // code as it is.
        let template = unsafe { Template::new(meta, data.into(), base, code.len() as u64) };
        let template = template.map_err(|e| e.to_string())?;
        SCRIPTS.add_template(&template);
        Ok(template)
    }

    /// Makes a linear memory.
    pub fn memory(&self, ty: MemoryType, mode: MemoryMode) -> Result<Memory, String> {
        let record = SCRIPTS.add_memory(ty, mode);
        let record =
            record.ok_or_else(|| format!("no room for a memory of {} pages", ty.limits.min))?;
        // SAFETY: the host keeps records and memories for ever: a process ends with its script.
        Ok(unsafe { Memory::new(record, ty) })
    }

    /// Puts bytes into a memory.
    pub fn write(&self, memory: Memory, at: u32, bytes: &[u8]) -> Result<(), Trap> {
        let end = u64::from(at) + bytes.len() as u64;
        SCRIPTS.memory(memory.base(), end)?.write(at, bytes)
    }

    /// Calls a function with arguments, and for results, in these cells.
    pub fn run(&self, callee: Callee, cells: &mut [u128]) -> Result<(), Trap> {
        // SAFETY: callees come from the script's store, whose instances are linked with `params`
        // and stay; the callers provide cells for all of a function's arguments and results, by its
        // type.
        let call = unsafe { GuestCall::new(callee.trampoline, callee.context, cells.as_mut_ptr()) };
        self.guest.run(call);
        SCRIPTS.take_outcome().unwrap_or(Err(Trap::BadArgument))
    }
}
