//! The interface between SIPs and the kernel, version 1.
//!
//! This crate is the only definition of everything that two parts of the system must see alike: the
//! kernel's entry points ([`entry`]), the layout of the context record that compiled code addresses
//! ([`ctx`]), the exchange-heap table that inlined accesses read ([`xheap`]), the result codes
//! ([`status`]), the reasons of traps ([`trap`]), the numbers that say how processes and the system
//! end ([`exit`]) and the names that a module imports ([`names`]).
//!
//! Invariants:
//! - Only integers cross the boundary between SIP code and the kernel; floats travel as their bits.
//! - A number published here never changes its meaning within an ABI version; new ones are
//!   appended.
#![no_std]
#![forbid(unsafe_code)]

pub mod ctx;
pub mod entry;
pub mod exit;
pub mod io;
pub mod names;
pub mod status;
pub mod trap;
pub mod xheap;

/// The version of the ABI that this crate describes.
pub const ABI_VERSION: u32 = 1;

/// Size of a WebAssembly page, in bytes.
pub const WASM_PAGE: u64 = 65_536;

/// Size of a machine page, in bytes.
pub const PAGE: u64 = 4096;

/// Size of the guard behind a guarded memory, in bytes: a 32-bit address with a static offset below
/// it cannot step over the guard. Such a memory reserves 4 GiB and this much behind it.
pub const GUARD: u64 = 32 << 20;

/// The most start-up arguments of a process.
pub const MAX_ARGUMENTS: u32 = 4096;

/// The most bytes of a process's start-up arguments together, with four more for each.
pub const MAX_ARGUMENT_BYTES: u32 = 1 << 20;

/// The most words that the arguments of one message take.
pub const MAX_MESSAGE_WORDS: usize = 12;

/// The most words of arguments that a send passes in registers; a longer message passes a pointer
/// to them.
pub const MAX_REGISTER_WORDS: usize = 3;

/// Passed to `select` instead of the address of tags: `select` then returns the index of a ready
/// handle.
pub const NO_TAGS: u32 = u32::MAX;

/// The most descriptors of a device's queue.
pub const MAX_QUEUE: u32 = 256;

/// The most parts of a request to a device.
pub const MAX_PARTS: usize = 8;

/// The most bytes of a request to a device, all parts together.
pub const MAX_REQUEST: u32 = 1 << 20;

/// In place of the number of bytes written: the device was reset before it was done with the
/// request.
pub const REQUEST_LOST: u32 = u32::MAX;

/// The device reads what is mapped (`dma_map`).
pub const DMA_READ: u32 = 0;
/// The device writes what is mapped.
pub const DMA_WRITE: u32 = 1;
/// Device and driver read and write what is mapped.
pub const DMA_SHARED: u32 = 2;
/// The most bytes of a mapping, in whole pages.
pub const MAX_DMA: u32 = 1 << 20;
/// The most mappings of a device at once.
pub const MAX_MAPPINGS: usize = 63;
/// The most bytes that `dma_copy_out` and `dma_copy_in` copy.
pub const MAX_DMA_COPY: u32 = 4096;
