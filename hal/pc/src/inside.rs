//! The HAL's internals that its self-test needs beyond what the kernel may use.
//!
//! Only `sing-pc-selftest` uses this module; the kernel's binary links none of it.

pub use crate::apic::{is_polled, is_serving, raise};
pub use crate::interrupts::{LINES, SPURIOUS};
pub use crate::ioapic::{Input, connect, disconnect, line_of};
pub use crate::memory::{
    LOW, PAGE, Run, commit, direct_alias, frame_counts, hide, kept_for_heap, kernel_image,
    kernel_text, loaded_code, make_view, map_device, show, take_run, take_run_leaving,
};
pub use crate::port::{read8, write8};
pub use crate::processor::guards;
pub use crate::serial::MODEM_CONTROL;
