//! Accesses to guarded ports ([`Guard`]).

use crate::guard::Guard;
use crate::port;

impl Guard {
    /// Reads a port of these; those are bytes.
    pub fn read(self, base: u16, offset: u32, width: u32) -> u64 {
        match width {
            1 => port::read8(base.wrapping_add(offset as u16)).into(),
            _ => u64::MAX,
        }
    }

    /// Writes one, if that may be.
    pub fn write(self, base: u16, offset: u32, width: u32, value: u64) {
        if width == 1
            && let Some(value) = self.passes(offset, value as u8)
        {
            port::write8(base.wrapping_add(offset as u16), value);
        }
    }
}
