//! The disk below a store, as its user serves it.

use core::fmt;

/// The unit in which a disk is read and written: offsets and lengths are multiples of it.
pub const SECTOR: u64 = 512;

/// A disk.
///
/// A write may reach the medium at any time after the call, in any order with others and a sector
/// at a time; it has reached the medium when a [`flush`](Disk::flush) that was called after it has
/// returned. A sector that was being written when the power failed holds its old or its new bytes.
pub trait Disk: Send + 'static {
    /// The size in bytes. What is beyond the last whole block of 4 KiB is not used.
    fn bytes(&self) -> u64;
    /// Fills `buffer` from `offset` on; both are multiples of [`SECTOR`].
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault>;
    /// Writes `data` from `offset` on; both are multiples of [`SECTOR`].
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault>;
    /// Returns when all that was written before is safe from a power cut.
    fn flush(&mut self) -> Result<(), DiskFault>;
}

/// Why a disk has not done what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The sectors are not all on the disk.
    OutOfRange,
    /// The disk cannot be written.
    ReadOnly,
    /// The medium could not read or write the sectors.
    Medium,
    /// The driver has no room for the request.
    NoResources,
    /// Nobody serves the disk any more.
    Gone,
}

impl fmt::Display for DiskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DiskFault::OutOfRange => "the sectors are not on the disk",
            DiskFault::ReadOnly => "the disk cannot be written",
            DiskFault::Medium => "the medium could not be read or written",
            DiskFault::NoResources => "the disk's driver has no room for the request",
            DiskFault::Gone => "the disk's driver has gone",
        })
    }
}
