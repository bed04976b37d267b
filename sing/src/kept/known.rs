//! Which kept image a module's file has: known from the files' stamps, so that a further run of the
//! same module reads neither of them.
//!
//! A record is kept in the cache for each path of a module: the file's stamp when it was last read,
//! the name of the image that was made of it, and that file's stamp when it was last compared with
//! its digest. A stamp has the time of change (ctime), which only Linux sets. Invariants:
//! - Only a stamp that every later change of the file changes is noted ([`Settled`]), however coarse
//!   the clock of the file system is. It is taken before the file's contents are read.
//! - The time of an image's last change is compared with a [`Moment`] of the same clock, from before
//!   the stamp was taken: a later change has that time or a later one. A module may lie elsewhere, so
//!   it must have been the same for [`SETTLED`], which is longer than any such clock stands still.
//! - Nothing is noted of files of other machines or programs ([`STAMPING`]), which may tell an old time
//!   after a change, nor of a module that is no regular file, whose stamp says nothing of its contents.
//! - After a restart of this machine nothing is known: what has not reached the disk before a loss of
//!   power is found by comparing the image with its digest once.

use super::cache::{Cache, Key, Moment};
use rustix::fs::fstatfs;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For how long a file has not changed whose next change is bound to change its stamp: some file
/// systems count every other second.
const SETTLED: Duration = Duration::from_secs(3);
/// The file systems (by the numbers of `statfs`) that set the time of change before a write returns:
/// ext4 with its ancestors, XFS, Btrfs, Bcachefs, F2FS, ZFS, tmpfs, and an overlay of such.
const STAMPING: [i64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xca45_1a4e,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0x0102_1994,
    0x794c_7630,
];
/// A name for the time since this machine's start.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Bytes of a stamp.
const STAMP: usize = 56;
/// Bytes of a key.
const KEY: usize = 32;

/// What changes with any change of a file, or of which file it is.
pub fn stamp(of: &Metadata) -> [u8; STAMP] {
    let times = [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()];
    let numbers = [of.dev(), of.ino(), of.len()];
    let times = times.into_iter().flat_map(i64::to_le_bytes);
    let numbers = numbers.into_iter().flat_map(u64::to_le_bytes);
    let mut stamp = [0; STAMP];
    for (to, from) in stamp.iter_mut().zip(times.chain(numbers)) {
        *to = from;
    }
    stamp
}

/// The stamp of a file that differs after any later change of the file.
pub struct Settled([u8; STAMP]);

impl Settled {
    /// The stamp of a module's file, if it has not changed for long enough at this time.
    pub fn module(file: &Path, now: SystemTime) -> Option<Settled> {
        // Nothing waits for the other end of a pipe here.
        let about = std::fs::metadata(file).ok()?;
        if !about.is_file() {
            return None;
        }
        let file = File::open(file).ok()?;
        let about = file.metadata().ok()?;
        let changed = Duration::from_secs(u64::try_from(about.ctime()).ok()?);
        let changed = changed + Duration::from_nanos(about.ctime_nsec().unsigned_abs());
        let now = now.duration_since(UNIX_EPOCH).ok()?;
        let is_old = now.checked_sub(changed)? > SETTLED;
        (about.is_file() && is_old && is_stamping(&file)).then(|| Settled(stamp(&about)))
    }

    /// The stamp of a kept image, if its last change was before this moment, which has passed.
    pub fn image(image: &File, moment: Moment) -> Option<Settled> {
        let about = image.metadata().ok()?;
        let changed = Moment::new(about.ctime(), about.ctime_nsec());
        (changed < moment && is_stamping(image)).then(|| Settled(stamp(&about)))
    }
}

fn is_stamping(file: &File) -> bool {
    fstatfs(file).is_ok_and(|about| STAMPING.contains(&about.f_type))
}

/// The image of a module's file as it is now, and its name, if both files are known.
pub fn find(cache: &Cache, record: &Key, module: &Path) -> Option<(Key, File)> {
    let bytes = cache.read(record)?;
    let (read, rest) = bytes.split_first_chunk::<STAMP>()?;
    let (key, rest) = rest.split_first_chunk::<KEY>()?;
    let (compared, boot) = rest.split_first_chunk::<STAMP>()?;
    let module = stamp(&std::fs::metadata(module).ok()?);
    if *read != module || std::fs::read(BOOT).ok()? != boot {
        return None;
    }
    let key = Key::from_bytes(*key);
    let image = cache.unread(&key)?;
    let about = image.metadata().ok()?;
    (stamp(&about) == *compared).then_some((key, image))
}

/// Notes that the image of this name is whole, and was made of a module: both had these stamps before
/// they were read. If that cannot be, the next run reads both.
pub fn note(cache: &Cache, record: &Key, module: &Settled, key: &Key, image: &Settled) {
    if let Ok(boot) = std::fs::read(BOOT) {
        let parts: [&[u8]; 4] = [&module.0, &key.bytes(), &image.0, &boot];
        let _ = cache.put(record, &parts.concat());
    }
}

#[cfg(test)]
mod tests;
