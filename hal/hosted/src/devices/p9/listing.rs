//! Listings of directories, packed as the protocol has them.
//!
//! Invariant: an answer is no longer than there is room for, and than [`ENTRIES`].

use super::super::p9_files::{Opened, Root, kind};
use rustix::fs::{FileType, RawDir, SeekFrom, fstat, seek, statat};
use rustix::io::Errno;
use sing_p9::{Entry, Qid, pack};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;

/// The most bytes of entries of one answer.
const ENTRIES: usize = 64 << 10;

/// Packs entries of a directory from a place on, as many as there is room for. If the last one is among them,
/// the place behind it.
pub(super) fn list(
    root: &Root,
    open: &Opened,
    offset: u64,
    room: usize,
    out: &mut Vec<u8>,
) -> Result<Option<u64>, Errno> {
    out.clear();
    let mut end = None;
    let room = room.min(ENTRIES);
    let fd = open.file.as_fd();
    // What no entry's place can be is behind the last.
    if i64::try_from(offset).is_err() {
        return Ok(None);
    }
    match seek(fd, SeekFrom::Start(offset)) {
        Err(Errno::INVAL) => return Ok(None),
        found => found?,
    };
    let device = fstat(fd)?.st_dev;
    // Linux gives no fewer bytes for an entry than it takes here.
    let mut buffer = vec![MaybeUninit::uninit(); room.max(4096)];
    let mut entries = RawDir::new(fd, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        let mut of = entry.file_type();
        if of == FileType::Unknown {
            let stat = statat(fd, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
            of = stat.map_or(FileType::Unknown, |s| FileType::from_raw_mode(s.st_mode));
        }
        let qid = Qid {
            kind: kind(of),
            version: 0,
            path: root.path(device, entry.ino()),
        };
        let packed = Entry {
            qid,
            next: entry.next_entry_cookie(),
            name: name.to_bytes(),
        };
        if !pack(out, room, of.as_raw_mode().wrapping_shr(12) as u8, &packed) {
            if out.is_empty() {
                return Err(Errno::INVAL);
            }
            return Ok(None);
        }
        end = Some(packed.next);
    }
    Ok(end)
}
