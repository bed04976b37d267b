//! The host's reasons in the words of the contracts.

use sing_p9::errno;
use sing_sdk::contracts::FileFault;

/// The server has refused a request, for this reason ([`errno`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub u32);

/// Why something cannot be looked at.
impl From<Refused> for FileFault {
    fn from(Refused(reason): Refused) -> FileFault {
        match reason {
            errno::ENOENT => FileFault::NotFound,
            errno::EEXIST => FileFault::Exists,
            errno::ENOTDIR => FileFault::NotDirectory,
            errno::EISDIR => FileFault::IsDirectory,
            errno::ENOTEMPTY => FileFault::NotEmpty,
            errno::ENAMETOOLONG | errno::EILSEQ => FileFault::BadName,
            errno::ELOOP => FileFault::Loop,
            errno::EROFS => FileFault::ReadOnly,
            errno::ENOSPC | errno::EDQUOT => FileFault::NoSpace,
            errno::EFBIG => FileFault::TooLarge,
            errno::EMLINK => FileFault::TooManyLinks,
            errno::EBUSY | errno::ETXTBSY => FileFault::Busy,
            errno::ENFILE | errno::EMFILE | errno::ENOMEM => FileFault::NoResources,
            errno::EINVAL => FileFault::BadRequest,
            // What the host does not allow the system's process, and kinds of files that are none
            // here.
            errno::EACCES | errno::EPERM | errno::EOPNOTSUPP => FileFault::NotSupported,
            _ => FileFault::Medium,
        }
    }
}

/// Why something cannot be changed: what the host does not allow is for reading only.
pub fn changing(refused: Refused) -> FileFault {
    match refused.0 {
        errno::EACCES | errno::EPERM | errno::ETXTBSY => FileFault::ReadOnly,
        _ => refused.into(),
    }
}
