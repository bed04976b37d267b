//! SIPs that an embedder manages instead of the kernel: without an image, with memories and code of
//! their own.
//!
//! The embedder gives such a SIP a [`Host`], which interprets its faults and knows its memories.
//! Kernel entries, stacks and context switches are the same as for every SIP. A system image has no
//! such SIPs; the WebAssembly test suite runs in this way, as can anything that runs compiled code
//! without a system.

use crate::ground::hal::Hal;
use crate::ground::machine;
use crate::ground::memory::{LinearMemory, Slot, Stack};
use crate::ground::trusted::GuestCall;
use crate::mechanism::cpu;
use crate::object::sip::Sip;
use crate::object::thread::{State, Thread};
use alloc::boxed::Box;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::trap::Trap;
use sing_arch::lock::SpinLock;
use sing_image::meta::MemoryMode;
use sing_runtime::SipMemory;

/// The manager of a SIP. Its methods are called from kernel entries and fault handlers of the SIP's
/// thread, one at a time.
pub trait Host: Sync {
    /// Makes the memory at `address` accessible, after the first access there has faulted.
    ///
    /// # Errors
    /// If the address is in no memory of the SIP's, or memory is short.
    fn touch(&self, address: u64) -> Result<(), Trap>;

    /// A window on the memory whose byte 0 is at address `base`, after its first `end` bytes have
    /// been made accessible.
    ///
    /// # Errors
    /// As for [`Host::touch`].
    fn memory(&self, base: u64, end: u64) -> Result<SipMemory, Trap>;

    /// `memory.grow` of the memory whose byte 0 is at `base`: its old size in pages, or -1.
    fn grow_by(&self, base: u64, pages: u64) -> i64;

    /// The trap code of the instruction at address `pc`; `None` if that is not known to trap.
    fn trap_at(&self, pc: u64) -> Option<u8>;

    /// Reports that the call has ended. The SIP does nothing more until [`Guest::run`] is called
    /// again.
    fn ended(&self, outcome: Result<(), Trap>);
}

/// A SIP with a host, and its one thread.
pub struct Guest {
    host: &'static dyn Host,
    sip: &'static Sip,
    thread: &'static Thread,
    call: SpinLock<Option<GuestCall>>,
}

impl Guest {
    /// Starts the kernel without a system image, with this SIP alone, whose stack has at least
    /// `stack` bytes. The caller's stack becomes the idle context's. `None` if memory is short.
    #[expect(clippy::disallowed_methods, reason = "no SIP of a system runs")]
    pub fn start(
        hal: &'static dyn Hal,
        host: &'static dyn Host,
        stack: u64,
    ) -> Option<&'static Guest> {
        machine::set(hal);
        let stack = Stack::take(sing_image::manifest::stack_bytes(stack))?;
        let sip: &'static Sip = Box::leak(Box::default());
        let thread: &'static Thread = Box::leak(Box::default());
        thread.attach(sip, stack, first);
        let guest: &'static Guest = Box::leak(Box::new(Guest {
            host,
            sip,
            thread,
            call: SpinLock::new(None),
        }));
        guest.sip.set_guest(guest);
        Some(guest)
    }

    /// Address of the kernel's entries, for context records.
    #[must_use]
    pub fn kernel_table(&self) -> u64 {
        crate::entry::table().address()
    }

    /// Stack limit of the thread, for context records.
    #[must_use]
    pub fn stack_limit(&self) -> u64 {
        self.thread.fiber.stack_limit()
    }

    /// Runs `call` on the SIP's thread until it ends, which [`Host::ended`] reports.
    pub fn run(&self, call: GuestCall) {
        *self.call.lock() = Some(call);
        self.thread.fiber.restart(first, 0);
        self.thread.state.store(State::Created as u32, Relaxed);
        self.thread.unblocked();
        cpu::this().run_all();
    }

    /// The embedder's part.
    pub(crate) fn host(&self) -> &'static dyn Host {
        self.host
    }

    /// Ends the running thread's call with `outcome`.
    pub(crate) fn end(&self, outcome: Result<(), Trap>) -> ! {
        self.host.ended(outcome);
        cpu::this().leave_for_idle();
        unreachable!("a call that has ended goes on")
    }
}

/// Where the thread starts at each call.
extern "C" fn first(_: u64) -> ! {
    let thread = cpu::current();
    let guest = thread.sip().guest().expect("only guests start here");
    let call = guest.call.lock().take();
    if let Some(call) = call {
        thread.fiber.call_guest(call);
    }
    guest.end(Ok(()))
}

/// A linear memory for a SIP with a host. Sizes are in bytes.
#[derive(Default)]
pub struct GuestMemory(LinearMemory);

impl GuestMemory {
    /// Reserves addresses for a memory of up to `max` bytes, `len` of which exist. `None` if no
    /// addresses are left.
    #[must_use]
    pub fn new(mode: MemoryMode, max: u64, len: u64) -> Option<GuestMemory> {
        let memory = LinearMemory::default();
        memory.place(Slot::take(mode, max, len, 0, 0)?);
        Some(GuestMemory(memory))
    }

    /// Address of byte 0.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.0.base()
    }

    /// Makes the first `end` of `len` existing bytes accessible.
    ///
    /// # Errors
    /// If `end` exceeds `len`, or memory is short.
    pub fn touch(&self, end: u64, len: u64) -> Result<(), Trap> {
        if end > len {
            return Err(Trap::MemoryOutOfBounds);
        }
        // Nobody else runs beside a guest, so the steps need no pause between them.
        while end > self.0.committed() {
            self.0
                .with(|m| m.raise(end, len))
                .ok_or(Trap::OutOfMemory)?;
        }
        Ok(())
    }

    /// A window on the accessible part.
    #[must_use]
    pub fn window(&self) -> SipMemory {
        self.0.window()
    }
}
