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

/// A registration: its path twice, in the tree and with the provider, the provider's entry, and the
/// report of changes below a name server. The same for one that a name server below holds, which is
/// kept here to be taken back.
pub const fn registration(path: &str) -> usize {
    1024 + 2 * path.len()
}

/// A link with its path and target.
pub const fn link(path: &str, target: &str) -> usize {
    512 + path.len() + target.len()
}

/// A watcher with its path specification: each of its 63 parts at most is a token, a list or a name
/// of its own. A change is compared with all of them, so that one with patterns has a higher price
/// than its memory.
pub const fn watcher(path: &str, pattern: &str) -> usize {
    256 + path.len() + 4096 + 48 * pattern.len()
}

/// A request to a provider until it is answered, with so many bytes of texts: they are in the
/// exchange heap, where a block takes up to twice its length, and in the record of what was asked.
pub const fn request(len: usize) -> usize {
    768 + 4 * len
}

/// An answer of this many bytes.
pub const fn answer(len: usize) -> usize {
    512 + 2 * len
}
