//! The name server's records, in bytes: each kind has a price not below its real size, charged to
//! the share of its origin. All records together are within [`TOTAL`] and [`ANSWERS`], so the name
//! server never runs out of memory.

/// The bytes for all records of clients, except answers.
pub const TOTAL: usize = 1 << 20;
/// The bytes that each origin may have as long as there is room at all.
pub const LEAST: usize = 8 << 10;
/// The bytes for all answers that clients may not have received yet: they are in the exchange heap,
/// and charged to this server.
pub const ANSWERS: usize = 8 << 20;
/// The bytes of these that each origin may have as long as there is room at all.
pub const LEAST_ANSWERS: usize = 64 << 10;
/// The size to which the heap is grown at the start. Blocks of an allocator take more than was
/// requested, at most as much again; listing a directory takes its names twice for the moment.
pub const HEAP: usize = 4 * TOTAL;
/// The program's budget: beside the heap, messages of clients and the kernel's records, 256 bytes
/// for each handle.
pub const MEMORY: usize = 24 << 20;

/// A client: its entry, and that of its origin.
pub const CLIENT: usize = 256;

// A quarter, but at most 4 MiB, is not available for received blocks.
const _: () = assert!(HEAP + TOTAL / CLIENT * 256 + TOTAL + ANSWERS + (4 << 20) < MEMORY);

/// A registration: its path twice, in the tree and with the provider, and the provider's entry.
pub const fn registration(path: &str) -> usize {
    512 + 2 * path.len()
}

/// A watcher with its path.
pub const fn watcher(path: &str) -> usize {
    256 + path.len()
}

/// A request to a provider until it is answered: its path is in the exchange heap, where a block
/// takes up to twice its length.
pub const fn request(path: &str) -> usize {
    512 + 2 * path.len()
}

/// An answer of this many bytes.
pub const fn answer(len: usize) -> usize {
    512 + 2 * len
}
