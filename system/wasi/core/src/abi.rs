//! Preview 1's numbers and layouts.

/// Rights of descriptors.
#[allow(missing_docs)] // Named as in the specification.
pub mod rights {
    pub const FD_DATASYNC: u64 = 1;
    pub const FD_READ: u64 = 1 << 1;
    pub const FD_SEEK: u64 = 1 << 2;
    pub const FD_FDSTAT_SET_FLAGS: u64 = 1 << 3;
    pub const FD_SYNC: u64 = 1 << 4;
    pub const FD_TELL: u64 = 1 << 5;
    pub const FD_WRITE: u64 = 1 << 6;
    pub const FD_ADVISE: u64 = 1 << 7;
    pub const FD_ALLOCATE: u64 = 1 << 8;
    pub const PATH_CREATE_DIRECTORY: u64 = 1 << 9;
    pub const PATH_CREATE_FILE: u64 = 1 << 10;
    pub const PATH_LINK_SOURCE: u64 = 1 << 11;
    pub const PATH_LINK_TARGET: u64 = 1 << 12;
    pub const PATH_OPEN: u64 = 1 << 13;
    pub const FD_READDIR: u64 = 1 << 14;
    pub const PATH_READLINK: u64 = 1 << 15;
    pub const PATH_RENAME_SOURCE: u64 = 1 << 16;
    pub const PATH_RENAME_TARGET: u64 = 1 << 17;
    pub const PATH_FILESTAT_GET: u64 = 1 << 18;
    pub const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
    pub const PATH_FILESTAT_SET_TIMES: u64 = 1 << 20;
    pub const FD_FILESTAT_GET: u64 = 1 << 21;
    pub const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub const FD_FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub const PATH_SYMLINK: u64 = 1 << 24;
    pub const PATH_REMOVE_DIRECTORY: u64 = 1 << 25;
    pub const PATH_UNLINK_FILE: u64 = 1 << 26;
    pub const POLL_FD_READWRITE: u64 = 1 << 27;
    pub const SOCK_SHUTDOWN: u64 = 1 << 28;
    pub const SOCK_ACCEPT: u64 = 1 << 29;

    /// All there are; programs may ask for more bits, which mean nothing.
    pub const ALL: u64 = (1 << 30) - 1;
    /// Those that mean something for a file.
    pub const FILE: u64 = FD_DATASYNC
        | FD_READ
        | FD_SEEK
        | FD_FDSTAT_SET_FLAGS
        | FD_SYNC
        | FD_TELL
        | FD_WRITE
        | FD_ADVISE
        | FD_ALLOCATE
        | FD_FILESTAT_GET
        | FD_FILESTAT_SET_SIZE
        | FD_FILESTAT_SET_TIMES
        | POLL_FD_READWRITE;
    /// Those that mean something for a directory.
    pub const DIRECTORY: u64 = FD_DATASYNC
        | FD_FDSTAT_SET_FLAGS
        | FD_SYNC
        | PATH_CREATE_DIRECTORY
        | PATH_CREATE_FILE
        | PATH_LINK_SOURCE
        | PATH_LINK_TARGET
        | PATH_OPEN
        | FD_READDIR
        | PATH_READLINK
        | PATH_RENAME_SOURCE
        | PATH_RENAME_TARGET
        | PATH_FILESTAT_GET
        | PATH_FILESTAT_SET_SIZE
        | PATH_FILESTAT_SET_TIMES
        | FD_FILESTAT_GET
        | FD_FILESTAT_SET_TIMES
        | PATH_SYMLINK
        | PATH_REMOVE_DIRECTORY
        | PATH_UNLINK_FILE;
    /// Those of a stream that is read.
    pub const SOURCE: u64 = FD_READ | FD_FDSTAT_SET_FLAGS | FD_FILESTAT_GET | POLL_FD_READWRITE;
    /// Those of a stream that is written.
    pub const SINK: u64 = FD_WRITE | FD_FDSTAT_SET_FLAGS | FD_FILESTAT_GET | POLL_FD_READWRITE;
    /// Those of a socket that listens.
    pub const LISTENER: u64 =
        FD_READ | FD_FDSTAT_SET_FLAGS | FD_FILESTAT_GET | POLL_FD_READWRITE | SOCK_ACCEPT;
    /// Those of a connection.
    pub const SOCKET: u64 = SOURCE | SINK | SOCK_SHUTDOWN;
}

/// Flags of descriptors.
#[allow(missing_docs)]
pub mod fdflags {
    pub const APPEND: u16 = 1;
    pub const DSYNC: u16 = 2;
    pub const NONBLOCK: u16 = 4;
    pub const RSYNC: u16 = 8;
    pub const SYNC: u16 = 16;
    pub const ALL: u16 = 31;
}

/// How `path_open` opens.
#[allow(missing_docs)]
pub mod oflags {
    pub const CREAT: u16 = 1;
    pub const DIRECTORY: u16 = 2;
    pub const EXCL: u16 = 4;
    pub const TRUNC: u16 = 8;
    pub const ALL: u16 = 15;
}

/// A symbolic link that is the last part of a path stands for what it points to.
pub const SYMLINK_FOLLOW: u32 = 1;

/// Which times are set.
#[allow(missing_docs)]
pub mod fstflags {
    pub const ATIM: u16 = 1;
    pub const ATIM_NOW: u16 = 2;
    pub const MTIM: u16 = 4;
    pub const MTIM_NOW: u16 = 8;
    pub const ALL: u16 = 15;
}

/// Kinds of files.
#[allow(missing_docs)]
pub mod filetype {
    pub const UNKNOWN: u8 = 0;
    pub const CHARACTER_DEVICE: u8 = 2;
    pub const DIRECTORY: u8 = 3;
    pub const REGULAR_FILE: u8 = 4;
    pub const SOCKET_STREAM: u8 = 6;
    pub const SYMBOLIC_LINK: u8 = 7;
}

/// Bytes written little-endian into a record of `N` bytes.
#[derive(Debug)]
pub struct Layout<const N: usize>(pub [u8; N]);

impl<const N: usize> Layout<N> {
    /// All zeros.
    #[must_use]
    pub const fn new() -> Self {
        Layout([0; N])
    }

    /// With bytes at a place of it.
    #[must_use]
    pub fn with<const M: usize>(mut self, at: usize, bytes: [u8; M]) -> Self {
        self.0[at..at + M].copy_from_slice(&bytes);
        self
    }

    /// The bytes at a place of it.
    #[must_use]
    pub fn get<const M: usize>(&self, at: usize) -> [u8; M] {
        let mut bytes = [0; M];
        bytes.copy_from_slice(&self.0[at..at + M]);
        bytes
    }
}

impl<const N: usize> Default for Layout<N> {
    fn default() -> Self {
        Self::new()
    }
}
