//! Arguments and environment.

use crate::Wasi;
use crate::errno::{Errno, Result};
use crate::host::Host;
use alloc::vec::Vec;

/// The number of words, and of their bytes with a zero behind each.
fn sizes(words: &[Vec<u8>]) -> Result<(u32, u32)> {
    let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
    let word = |n: usize| u32::try_from(n).map_err(|_| Errno::Overflow);
    Ok((word(words.len())?, word(bytes)?))
}

impl<H: Host> Wasi<H> {
    fn put_sizes(&mut self, (count, bytes): (u32, u32), count_at: u32, bytes_at: u32) -> Result {
        self.check(bytes_at, 4)?;
        self.store_u32(count_at, count)?;
        self.store_u32(bytes_at, bytes)
    }

    fn put_words(&mut self, words: &[Vec<u8>], pointers: u32, mut at: u32) -> Result {
        let (count, bytes) = sizes(words)?;
        self.check(pointers, u64::from(count) * 4)?;
        self.check(at, bytes.into())?;
        for (number, word) in (0_u32..).zip(words) {
            self.store_u32(Self::element(pointers, number, 4)?, at)?;
            self.store(at, word)?;
            at = Self::element(at, word.len() as u32, 1)?;
            self.store(at, &[0])?;
            at = at.wrapping_add(1);
        }
        Ok(())
    }

    /// `args_sizes_get`.
    ///
    /// # Errors
    /// `Fault`.
    pub fn args_sizes_get(&mut self, count: u32, bytes: u32) -> Result {
        let sizes = sizes(&self.arguments)?;
        self.put_sizes(sizes, count, bytes)
    }

    /// `args_get`.
    ///
    /// # Errors
    /// `Fault`.
    pub fn args_get(&mut self, pointers: u32, text: u32) -> Result {
        let words = core::mem::take(&mut self.arguments);
        let put = self.put_words(&words, pointers, text);
        self.arguments = words;
        put
    }

    /// `environ_sizes_get`.
    ///
    /// # Errors
    /// `Fault`.
    pub fn environ_sizes_get(&mut self, count: u32, bytes: u32) -> Result {
        let sizes = sizes(&self.environment)?;
        self.put_sizes(sizes, count, bytes)
    }

    /// `environ_get`.
    ///
    /// # Errors
    /// `Fault`.
    pub fn environ_get(&mut self, pointers: u32, text: u32) -> Result {
        let words = core::mem::take(&mut self.environment);
        let put = self.put_words(&words, pointers, text);
        self.environment = words;
        put
    }
}
