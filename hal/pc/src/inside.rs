//! What the HAL's test of itself looks at beside what the kernel may: the machine's parts, one by one.
//!
//! Only `sing-pc-selftest` uses it. What the kernel does not call is not linked into it.

pub use crate::apic::{is_polled, is_serving, raise};
pub use crate::interrupts::{LINES, SPURIOUS};
pub use crate::ioapic::{Input, connect, disconnect};
pub use crate::memory::{
    LOW, PAGE, Run, commit, direct_alias, frame_counts, kept_for_heap, kernel_image, kernel_text,
    loaded_code, take_run, take_run_leaving,
};
pub use crate::port::{read8, write8};
pub use crate::processor::guards;
pub use crate::serial::MODEM_CONTROL;
