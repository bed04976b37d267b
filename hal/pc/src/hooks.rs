//! Hooks: how the HAL calls the kernel, or the HAL's self-test in its place.
//!
//! The HAL is a library; each binary defines the hooks once with [`hooks!`](crate::hooks). The
//! linker connects the two, so the hooks are in place from the first instruction on.

use crate::command_line::Request;
use sing_kernel::fault::{Action, Fault};

/// The machine as passed to the start hook: memory, clock, timer and console are ready, and
/// interrupts are enabled.
pub struct Start<'a> {
    /// The command line.
    pub request: Request<'a>,
    /// The system image, if the loader has brought one: read-only memory that is used for nothing
    /// else.
    pub image: Option<&'static [u8]>,
}

/// The functions that the HAL calls at the start, at interrupts and at faults.
pub struct Hooks {
    /// Starts the kernel, on the boot stack.
    pub start: fn(Start<'_>) -> !,
    /// Handles an interrupt of `line`. With `in_sip` the handler may switch threads, as SIP code
    /// was interrupted; without, it only notes the interrupt. The kernel's is
    /// `sing_kernel::interrupt::arrive`.
    pub interrupt: fn(line: u32, in_sip: bool),
    /// Decides what to do about a fault. The kernel's is `sing_kernel::fault::handle`.
    pub fault: fn(&Fault) -> Action,
}

// SAFETY: `hooks!` alone defines it, of this type; a binary without one, or with two, does not
// link.
unsafe extern "Rust" {
    #[link_name = "sing_pc_hooks"]
    pub(crate) safe static HOOKS: Hooks;
}

/// Defines the hooks: `hooks!(Hooks { … })`, once in a binary.
#[macro_export]
macro_rules! hooks {
    ($hooks:expr) => {
        // SAFETY: nothing else has the name.
        #[unsafe(export_name = "sing_pc_hooks")]
        static HOOKS: $crate::Hooks = $hooks;
    };
}
