//! Random bytes: asked of the host in larger pieces, each given out once.

use crate::Wasi;
use crate::errno::Result;
use crate::host::Host;

/// Bytes that are asked for at once.
const ASKED: usize = 256;

pub(crate) struct Pool {
    bytes: [u8; ASKED],
    /// The first that has not been given out.
    next: usize,
}

impl Pool {
    pub const fn new() -> Pool {
        Pool {
            bytes: [0; ASKED],
            next: ASKED,
        }
    }
}

impl<H: Host> Wasi<H> {
    /// A random number.
    pub(crate) fn random_number(&mut self) -> Result<u64> {
        let mut number = [0; 8];
        for byte in &mut number {
            if self.chance.next == ASKED {
                self.host.random(&mut self.chance.bytes)?;
                self.chance.next = 0;
            }
            *byte = core::mem::take(&mut self.chance.bytes[self.chance.next]);
            self.chance.next += 1;
        }
        Ok(u64::from_le_bytes(number))
    }

    /// `random_get`.
    ///
    /// # Errors
    /// `Io` if the machine has no source, `Fault`.
    pub fn random_get(&mut self, at: u32, len: u32) -> Result {
        self.check(at, len.into())?;
        let mut done = 0;
        while done < len {
            if self.chance.next == ASKED {
                self.host.random(&mut self.chance.bytes)?;
                self.chance.next = 0;
            }
            let piece = (ASKED - self.chance.next).min((len - done) as usize);
            let from = self.chance.next..self.chance.next + piece;
            self.host.write(at + done, &self.chance.bytes[from.clone()]);
            self.chance.bytes[from].fill(0);
            self.chance.next += piece;
            done += piece as u32;
        }
        Ok(())
    }
}
