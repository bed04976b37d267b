//! The exchange-heap table that inlined accesses read.
//!
//! A thread names the allocations it owns by handles into its own table ([O] 4.5: a tracked
//! resource has one owner, a thread). A handle is `generation << 16 | index`, positive as an `i32`;
//! the entry it selects holds the handle itself as its key, so that one comparison refuses forged,
//! stale and foreign handles at once. Free entries have key 0.
//!
//! The check is: `e = base + (handle & mask & INDEX_MASK) * ENTRY_SIZE; e.key == handle`, then
//! `offset + size <= e.len` for a load, `offset + size <= e.wlen` for a store.

/// Size of an entry, in bytes; a power of two.
pub const ENTRY_SIZE: u64 = 32;
/// `log2(ENTRY_SIZE)`.
pub const ENTRY_SHIFT: i64 = 5;
/// `u64`: address of the allocation's first byte.
pub const ENTRY_BASE: i32 = 0;
/// `u32`: bytes that may be read.
pub const ENTRY_LEN: i32 = 8;
/// `u32`: bytes that may be written: `len`, or 0 if the allocation is read-only.
pub const ENTRY_WLEN: i32 = 12;
/// `u32`: the handle that selects this entry, or 0.
pub const ENTRY_KEY: i32 = 16;
/// `u32`: the kernel's index of the allocation record.
pub const ENTRY_ALLOC: i32 = 20;

/// Bits of a handle that select the entry.
pub const INDEX_BITS: u32 = 16;
/// Mask of those bits.
pub const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
/// The most entries that a table can have.
pub const MAX_ENTRIES: usize = 1 << INDEX_BITS;
