//! The program's memory, every range checked.

use crate::Wasi;
use crate::errno::{Errno, Result};
use crate::host::Host;
use alloc::vec::Vec;

impl<H: Host> Wasi<H> {
    /// Whether so many bytes from an address on are the program's.
    pub(crate) fn check(&self, at: u32, len: u64) -> Result {
        let end = u64::from(at).checked_add(len);
        match end {
            Some(end) if end <= self.host.size() => Ok(()),
            _ => Err(Errno::Fault),
        }
    }

    /// The address of the element with this number in a list.
    pub(crate) fn element(at: u32, number: u32, size: u32) -> Result<u32> {
        let at = u64::from(at) + u64::from(number) * u64::from(size);
        u32::try_from(at).map_err(|_| Errno::Fault)
    }

    pub(crate) fn load<const N: usize>(&mut self, at: u32) -> Result<[u8; N]> {
        self.check(at, N as u64)?;
        let mut bytes = [0; N];
        self.host.read(at, &mut bytes);
        Ok(bytes)
    }

    pub(crate) fn store(&mut self, at: u32, bytes: &[u8]) -> Result {
        self.check(at, bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.host.write(at, bytes);
        }
        Ok(())
    }

    pub(crate) fn store_u32(&mut self, at: u32, value: u32) -> Result {
        self.store(at, &value.to_le_bytes())
    }

    pub(crate) fn store_u64(&mut self, at: u32, value: u64) -> Result {
        self.store(at, &value.to_le_bytes())
    }

    /// A copy of at most `most` bytes; the program chooses `len`.
    pub(crate) fn copy(
        &mut self,
        at: u32,
        len: u32,
        most: usize,
        longer: Errno,
    ) -> Result<Vec<u8>> {
        self.check(at, len.into())?;
        let len = len as usize;
        if len > most {
            return Err(longer);
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Errno::Nomem)?;
        bytes.resize(len, 0);
        if len > 0 {
            self.host.read(at, &mut bytes);
        }
        Ok(bytes)
    }
}
