//! What runs on the machine: the kernel, or what stands in for it, as the HAL's own test does.
//!
//! The HAL is a library, and a binary says what runs on it by [`hooks!`](crate::hooks). The linker joins the two, so that a
//! fault or an interrupt finds its way from the machine's first instruction on.

use crate::command_line::Request;
use sing_kernel::fault::{Action, Fault};

/// The machine at its start, ready: memory, clock, timer and console are, and interrupts are on.
pub struct Start<'a> {
    /// What the command line asks for.
    pub request: Request<'a>,
    /// The system image, where the loader has brought one: mapped to be read only, and used for nothing else.
    pub image: Option<&'static [u8]>,
}

/// Where the machine's start, interrupts and faults go.
pub struct Hooks {
    /// Takes the machine over, on the boot stack.
    pub start: fn(Start<'_>) -> !,
    /// Takes interrupts: `sing_kernel::interrupt::arrive`, or what stands in for it.
    pub interrupt: fn(line: u32, in_sip: bool),
    /// Decides on faults: `sing_kernel::fault::handle`, or what stands in for it.
    pub fault: fn(&Fault) -> Action,
}

// SAFETY: `hooks!` alone defines it, of this type; a binary without one, or with two, does not link.
unsafe extern "Rust" {
    #[link_name = "sing_pc_hooks"]
    pub(crate) safe static HOOKS: Hooks;
}

/// Says what runs on the machine: `hooks!(Hooks { … })`, once in a binary.
#[macro_export]
macro_rules! hooks {
    ($hooks:expr) => {
        // SAFETY: nothing else has the name.
        #[unsafe(export_name = "sing_pc_hooks")]
        static HOOKS: $crate::Hooks = $hooks;
    };
}
