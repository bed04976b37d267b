//! The store's reasons in the words of the contracts.

use sing_sdk::contracts::{FileFault, VolumeFault};
use sing_store::{DiskFault, Error};

/// Why a file or directory cannot do it.
pub fn file(error: Error) -> FileFault {
    match error {
        Error::NotFound => FileFault::NotFound,
        Error::Exists => FileFault::Exists,
        Error::NotDirectory => FileFault::NotDirectory,
        Error::IsDirectory => FileFault::IsDirectory,
        Error::NotFile | Error::Invalid => FileFault::BadRequest,
        Error::NotEmpty => FileFault::NotEmpty,
        Error::BadName => FileFault::BadName,
        Error::Loop => FileFault::Loop,
        Error::ReadOnly | Error::Disk(DiskFault::ReadOnly) => FileFault::ReadOnly,
        Error::NoSpace => FileFault::NoSpace,
        Error::TooLarge => FileFault::TooLarge,
        Error::TooManyLinks => FileFault::TooManyLinks,
        Error::Busy => FileFault::Busy,
        Error::Disk(DiskFault::NoResources) => FileFault::NoResources,
        Error::TooSmall
        | Error::NotStore
        | Error::Version(_)
        | Error::Corrupt(_)
        | Error::Disk(DiskFault::OutOfRange | DiskFault::Medium | DiskFault::Gone) => {
            FileFault::Medium
        }
    }
}

/// Why a file system cannot be made, mounted or checked.
pub fn volume(error: Error) -> VolumeFault {
    match error {
        Error::TooSmall => VolumeFault::BadSize,
        Error::NotStore => VolumeFault::NotFormatted,
        Error::Version(_) => VolumeFault::Version,
        Error::ReadOnly | Error::Disk(DiskFault::ReadOnly) => VolumeFault::ReadOnly,
        Error::BadName => VolumeFault::BadName,
        Error::Busy => VolumeFault::Busy,
        Error::NoSpace => VolumeFault::BadSize,
        Error::Disk(DiskFault::NoResources) => VolumeFault::NoResources,
        Error::Disk(_) => VolumeFault::Medium,
        _ => VolumeFault::Damaged,
    }
}

const ALL: [VolumeFault; 12] = [
    VolumeFault::NotFound,
    VolumeFault::InUse,
    VolumeFault::Busy,
    VolumeFault::Held,
    VolumeFault::NotFormatted,
    VolumeFault::Version,
    VolumeFault::Damaged,
    VolumeFault::BadSize,
    VolumeFault::ReadOnly,
    VolumeFault::Medium,
    VolumeFault::BadName,
    VolumeFault::NoResources,
];

/// A reason as a number, for the channels inside this program.
pub fn number(fault: VolumeFault) -> u32 {
    ALL.iter().position(|f| *f == fault).unwrap_or(0) as u32
}

/// The reason of a number.
pub fn numbered(number: u32) -> VolumeFault {
    let fault = ALL.get(number as usize).copied();
    fault.unwrap_or(VolumeFault::Damaged)
}
