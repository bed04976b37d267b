//! I/O ports of devices that this HAL drives.

use x86_64::instructions::port::Port;

/// Reads a byte from a port.
pub fn read8(port: u16) -> u8 {
    // SAFETY: the HAL reads only ports of devices that it drives; no read of theirs touches memory.
    unsafe { Port::new(port).read() }
}

/// Reads 16 bits from a port.
pub fn read16(port: u16) -> u16 {
    // SAFETY: as for `read8`.
    unsafe { Port::new(port).read() }
}

/// Reads 32 bits from a port.
pub fn read32(port: u16) -> u32 {
    // SAFETY: as for `read8`.
    unsafe { Port::new(port).read() }
}

/// Writes a byte to a port.
pub fn write8(port: u16, value: u8) {
    // SAFETY: the HAL writes only to ports of devices that it drives, none of which it lets access
    // memory.
    unsafe { Port::new(port).write(value) }
}

/// Writes 16 bits to a port.
pub fn write16(port: u16, value: u16) {
    // SAFETY: as for `write8`.
    unsafe { Port::new(port).write(value) }
}

/// Writes 32 bits to a port.
pub fn write32(port: u16, value: u32) {
    // SAFETY: as for `write8`.
    unsafe { Port::new(port).write(value) }
}
