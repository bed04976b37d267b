//! What a thread leaves in its record for the entry that it is in.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::MAX_REGISTER_WORDS;

/// What a thread passes in registers to the entry that it is in, for code that is not on the shortest path: what that does
/// not need is not moved about in registers there.
#[derive(Default)]
pub(crate) struct Passed {
    pub(crate) endpoint: AtomicU32,
    pub(crate) operation: AtomicU32,
    words: [AtomicU64; MAX_REGISTER_WORDS],
}

impl Passed {
    /// Notes it.
    #[inline(always)]
    pub(crate) fn set(&self, endpoint: u32, operation: u32, [a, b, c]: [u64; MAX_REGISTER_WORDS]) {
        self.endpoint.store(endpoint, Relaxed);
        self.operation.store(operation, Relaxed);
        self.words[0].store(a, Relaxed);
        self.words[1].store(b, Relaxed);
        self.words[2].store(c, Relaxed);
    }

    /// The words of a message.
    pub(crate) fn words(&self) -> [u64; MAX_REGISTER_WORDS] {
        self.words.each_ref().map(|word| word.load(Relaxed))
    }

    /// The first of them.
    #[inline(always)]
    pub(crate) fn word(&self) -> u64 {
        self.words[0].load(Relaxed)
    }
}
