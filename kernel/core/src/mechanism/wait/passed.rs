//! The register arguments of the entry that a thread is in, saved in its record.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::MAX_REGISTER_WORDS;

/// The endpoint, operation and message words that a thread has passed in registers. Code off the
/// fast path reads them from here, so that the fast path need not keep them in registers.
#[derive(Default)]
pub(crate) struct Passed {
    pub(crate) endpoint: AtomicU32,
    pub(crate) operation: AtomicU32,
    words: [AtomicU64; MAX_REGISTER_WORDS],
}

impl Passed {
    /// Saves the arguments.
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

    /// The first word of a message.
    #[inline(always)]
    pub(crate) fn word(&self) -> u64 {
        self.words[0].load(Relaxed)
    }
}
