//! `wasi:clocks` and `wasi:random`.

use super::poll::Pollable;
use super::{Component, Outcome, Room};

/// What an insecure number begins with, if the machine has no source of random bytes.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

impl<H: Room> Component<H> {
    /// `now` of the monotonic clock.
    ///
    /// # Errors
    /// None.
    pub fn monotonic(&mut self) -> Outcome<u64> {
        Ok(self.wasi.host.monotonic())
    }

    /// `resolution` of the monotonic clock: nanoseconds.
    ///
    /// # Errors
    /// None.
    pub fn monotonic_resolution(&mut self) -> Outcome<u64> {
        Ok(1)
    }

    /// `subscribe-instant`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn at(&mut self, moment: u64) -> Outcome<u32> {
        self.pollable(Pollable::At(moment))
    }

    /// `subscribe-duration`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn after(&mut self, nanos: u64) -> Outcome<u32> {
        let now = self.wasi.host.monotonic();
        self.pollable(Pollable::At(now.saturating_add(nanos)))
    }

    fn datetime(&mut self, nanos: u64, out: u32) -> Outcome {
        self.put(out, &(nanos / 1_000_000_000).to_le_bytes())?;
        self.put_at(out, 8, &((nanos % 1_000_000_000) as u32).to_le_bytes())
    }

    /// `now` of the wall clock.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn wall(&mut self, out: u32) -> Outcome {
        let now = self.wasi.host.realtime();
        self.datetime(now, out)
    }

    /// `resolution` of the wall clock.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn wall_resolution(&mut self, out: u32) -> Outcome {
        self.datetime(1, out)
    }

    /// `get-random-bytes`.
    ///
    /// # Errors
    /// If the machine has no source of random bytes, and for what breaks the canonical ABI.
    pub fn random_bytes(&mut self, len: u64, out: u32) -> Outcome {
        let len = usize::try_from(len).map_err(|_| "gets more than its memory can hold")?;
        let at = self.room(1, len)?;
        let filled = self.wasi.random_get(at, len as u32);
        filled.map_err(|_| "asks for random bytes, of which this machine has no source")?;
        self.put(out, &super::pair(at, len as u32))
    }

    /// `get-random-u64`.
    ///
    /// # Errors
    /// If the machine has no source of random bytes.
    pub fn random(&mut self) -> Outcome<u64> {
        let number = self.wasi.random_number();
        number.map_err(|_| "asks for random bytes, of which this machine has no source".into())
    }

    /// `get-insecure-random-bytes`: random if there is a source, and else counted from the clock.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn insecure_bytes(&mut self, len: u64, out: u32) -> Outcome {
        let len = u32::try_from(len).map_err(|_| "gets more than its memory can hold")?;
        let at = self.room(1, len as usize)?;
        if self.wasi.random_get(at, len).is_err() {
            let mut number = self.insecure()?;
            for offset in (0..len).step_by(8) {
                number = number.wrapping_add(SEED);
                let mixed = (number ^ (number >> 31)).wrapping_mul(SEED);
                let bytes = (mixed ^ (mixed >> 29)).to_le_bytes();
                let piece = bytes.len().min((len - offset) as usize);
                self.put_at(at, offset, &bytes[..piece])?;
            }
        }
        self.put(out, &super::pair(at, len))
    }

    /// `get-insecure-random-u64`: random if there is a source, and else from the clock.
    ///
    /// # Errors
    /// None.
    pub fn insecure(&mut self) -> Outcome<u64> {
        let now = self.wasi.host.monotonic();
        Ok(self.wasi.random_number().unwrap_or(now.wrapping_mul(SEED)))
    }

    /// `insecure-seed`: the same each time.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn seed(&mut self, out: u32) -> Outcome {
        let seed = match self.seed {
            Some(seed) => seed,
            None => [self.insecure()?, self.insecure()?],
        };
        self.seed = Some(seed);
        for (offset, number) in [0, 8].into_iter().zip(seed) {
            self.put_at(out, offset, &number.to_le_bytes())?;
        }
        Ok(())
    }
}
