//! What the name server keeps for others, in bytes: each kind of thing at a price that is not below what it takes, on the share of
//! the origin that has it. All that it keeps is in [`TOTAL`] and [`ANSWERS`], so it never runs out of memory.

/// All that is kept for clients, but for answers.
pub const TOTAL: usize = 1 << 20;
/// What each origin may have as long as there is room at all.
pub const LEAST: usize = 8 << 10;
/// All answers that clients may not have taken yet: they lie in the exchange heap, and this server pays for them.
pub const ANSWERS: usize = 8 << 20;
/// What each origin may have of that as long as there is room at all.
pub const LEAST_ANSWERS: usize = 64 << 10;
/// What the heap is grown to at the start. Blocks of an allocator take more than was asked for, at most as much again; to list a
/// directory takes its names twice for the moment.
pub const HEAP: usize = 4 * TOTAL;
/// The program's budget: beside the heap, what clients send and what the kernel keeps for it, 256 bytes for each handle.
pub const MEMORY: usize = 24 << 20;

/// A client: its entry, and that of its origin.
pub const CLIENT: usize = 256;

// A quarter, but at most 4 MiB, is not for what others send.
const _: () = assert!(HEAP + TOTAL / CLIENT * 256 + TOTAL + ANSWERS + (4 << 20) < MEMORY);

/// A registration: its path twice, in the tree and with the provider, and the provider's entry.
pub const fn registration(path: &str) -> usize {
    512 + 2 * path.len()
}

/// A watcher with its path.
pub const fn watcher(path: &str) -> usize {
    256 + path.len()
}

/// A request to a provider until it is answered: its path lies in the exchange heap, where a block takes up to twice its length.
pub const fn request(path: &str) -> usize {
    512 + 2 * path.len()
}

/// An answer of so many bytes.
pub const fn answer(len: usize) -> usize {
    512 + 2 * len
}
