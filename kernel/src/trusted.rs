//! The kernel's only unsafe code: what it does to memory that it has given away or not yet given.
//!
//! Invariants that the blocks below rest on:
//! - A SIP's memory slot stays mapped from [`crate::memory::Slot`]'s making until it is given back, and it is
//!   accessible below the committed mark that the slot records.
//! - Exchange-heap regions are accessible for as long as an allocation refers to them.
//! - A thread's stack outlives the thread's last switch away from it.
#![allow(unsafe_code)]

use alloc::sync::Arc;
use core::sync::atomic::AtomicU64;
use sing_arch::switch;
use sing_runtime::{Instance, SipMemory, Template, Trap};

/// Clears memory that the caller has for itself: a slot or region that nobody uses any more, or not yet.
pub(crate) fn clear(at: u64, bytes: u64) {
    // SAFETY: callers pass committed ranges of slots in the pool and regions being made; nobody else has
    // their address (invariants above).
    unsafe { core::ptr::write_bytes(at as *mut u8, 0, bytes as usize) };
}

/// Switches stacks (see [`switch::switch`]).
#[inline(always)]
pub(crate) fn switch_stacks(save: &AtomicU64, to: u64) {
    // SAFETY: the scheduler hands out a thread once, so its saved stack pointer is used once; threads' stacks
    // outlive them; `save` lies in a type-stable object.
    unsafe { switch::switch(save.as_ptr(), to) };
}

/// Prepares a fresh stack that ends at `top`.
pub(crate) fn first_frame(top: u64, entry: switch::Entry, argument: u64) -> u64 {
    // SAFETY: `memory::Stack` gives stacks of several pages to one thread each, ends at page boundaries.
    unsafe { switch::first_frame(top, entry, argument) }
}

/// Runs compiled code on the current thread's stack.
pub(crate) fn call(code: u64, context: u64) -> i32 {
    // SAFETY: `code` comes from the template of the thread's own image, which checked that the export has
    // this type; `context` is the thread's record.
    unsafe { switch::call(code, context) }
}

/// Runs compiled code with an argument.
pub(crate) fn call_with(code: u64, context: u64, argument: u64) {
    // SAFETY: as for `call`.
    unsafe { switch::call_with(code, context, argument) };
}

/// The window on a SIP's committed memory.
#[inline(always)]
pub(crate) fn window(base: u64, committed: u64) -> SipMemory {
    // SAFETY: the caller is a kernel entry that runs for a live SIP; its slot is accessible below the mark.
    unsafe { SipMemory::new(base, committed) }
}

/// The window on an allocation's bytes.
#[inline(always)]
pub(crate) fn block(base: u64, len: u64) -> SipMemory {
    // SAFETY: base and length come from an allocation that the calling thread owns.
    unsafe { SipMemory::new(base, len) }
}

/// Makes the instance of a template in a fresh slot.
pub(crate) fn instance(
    template: &Arc<Template>,
    memory: u64,
    committed: u64,
) -> Result<Instance, Trap> {
    // SAFETY: the slot is new or cleared, committed so far, and the SIP's alone until it has ended.
    unsafe { Instance::new(template, memory, committed) }
}

/// Reads a word of the current thread's own stack, for a backtrace.
pub(crate) fn stack_word(at: u64) -> u64 {
    // SAFETY: callers pass aligned addresses between the bottom and the top of the thread's own stack, all of
    // which is mapped.
    unsafe { (at as *const u64).read() }
}
