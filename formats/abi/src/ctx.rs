//! The context record: the state that compiled code reaches through its first argument.
//!
//! There is one record a *thread* (threads of one SIP share memory and tables, never mutable
//! globals, as in the WebAssembly threads proposal). All offsets are in bytes from the context
//! pointer. Fixed fields come first; the fields that depend on the module follow from [`VARS`] on,
//! laid out by the compiler and recorded in the image (`sing_image::meta::CtxLayout`).
//!
//! SIP code can read and write only what the compiler emits accesses for: no module can name the
//! record.

/// `u64`: address of the kernel's entry table (`[usize; entry::COUNT]`).
pub const KERNEL_TABLE: i32 = 0;
/// `u64`: address of byte 0 of the linear memory. Never changes while the thread lives.
pub const MEM_BASE: i32 = 8;
/// `u64`: address of the memory's [`MEM_DEF_BASE`]/[`MEM_DEF_LEN`] record, shared by the SIP's
/// threads.
pub const MEM_DEF: i32 = 16;
/// `u64`: the lowest stack pointer that a function may have after its prologue.
pub const STACK_LIMIT: i32 = 24;
/// `u64`: address of the thread's exchange-heap table (`xheap`).
pub const XTAB_BASE: i32 = 32;
/// `u32`: number of entries in that table less one (the number is a power of two).
pub const XTAB_MASK: i32 = 40;
/// `u64`: the thread-local value.
pub const TLS: i32 = 48;
/// `u32`: id of the SIP.
pub const SIP_ID: i32 = 56;
/// `u32`: id of the thread.
pub const THREAD_ID: i32 = 60;
/// `u64`: a word that the kernel keeps for the thread; compiled code never uses it.
pub const KERNEL_WORD: i32 = 64;
/// `u64`: address of the run-time's instance record; compiled code never uses it.
pub const INSTANCE: i32 = 72;
/// `u64`: time-stamp counter ticks a second.
pub const CYCLES_PER_SECOND: i32 = 80;
/// `u64`: a register that a trampoline saves and restores; compiled code never uses it.
pub const SCRATCH: i32 = 88;
/// `u64`: address of the table of register windows that the SIP's threads share ([`crate::io`]).
/// Neither this nor the mask changes while the thread lives.
pub const IO_BASE: i32 = 96;
/// `u32`: number of entries in that table less one (the number is a power of two).
pub const IO_MASK: i32 = 104;
/// First byte of the part that the compiler lays out.
pub const VARS: i32 = 128;

/// Size of a global's cell, in bytes.
pub const GLOBAL_CELL: i32 = 16;
/// Alignment of a context record, in bytes.
pub const ALIGN: usize = 64;

/// In a memory's record: `u64` address of byte 0.
pub const MEM_DEF_BASE: i32 = 0;
/// In a memory's record: `u64` length in bytes, a multiple of `WASM_PAGE`.
pub const MEM_DEF_LEN: i32 = 8;

/// Size of a further memory's cell, in bytes: the first memory has fixed fields instead.
pub const MEMORY_CELL: i32 = 16;
/// In such a cell: `u64` address of byte 0. Never changes while the thread lives.
pub const MEMORY_CELL_BASE: i32 = 0;
/// In such a cell: `u64` address of the memory's record.
pub const MEMORY_CELL_DEF: i32 = 8;

/// In a table's record: `u64` address of element 0 (8 bytes an element).
pub const TABLE_DEF_BASE: i32 = 0;
/// In a table's record: `u32` number of elements.
pub const TABLE_DEF_LEN: i32 = 8;

/// In a function's record (the target of a `funcref`): `u64` code address.
pub const FUNC_CODE: i32 = 0;
/// In a function's record: `u64` context of the instance it belongs to (open linkage only).
pub const FUNC_CTX: i32 = 8;
/// In a function's record: `u32` canonical signature.
pub const FUNC_SIG: i32 = 16;
/// Size of a function's record, in bytes.
pub const FUNC_SIZE: i32 = 24;

// An image that exceptions go through, in the list of the open ones that are linked.

/// Address of its code.
pub const IMAGE_CODE: i32 = 0;
/// Bytes of its code.
pub const IMAGE_LEN: i32 = 8;
/// Address of the table by which exceptions find who catches them; 0 if nobody does.
pub const IMAGE_TABLE: i32 = 16;
/// Address of the next image's record; 0 if it is the last.
pub const IMAGE_NEXT: i32 = 24;
