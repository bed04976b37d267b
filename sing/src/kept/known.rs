//! Which kept image a module's file has: known from the files' stamps, so that a further run of the
//! same module reads neither of them.
//!
//! A record is kept in the cache for each path of a module: the file's stamp when it was last read,
//! the name of the image that was made of it, and that file's stamp when it was last written or
//! compared with its digest. Invariants:
//! - A stamp changes with every change of a file's contents: it has the time of change (ctime), which
//!   only Linux sets. As that clock moves every few milliseconds, nothing is noted of a file that has
//!   changed in the last [`SETTLED`] before it was read.
//! - After a restart of this machine nothing is known: what has not reached the disk before a loss of
//!   power is found by comparing the image with its digest once.

use super::cache::{Cache, Key};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For how long a file has not changed whose next change is bound to change its stamp.
const SETTLED: Duration = Duration::from_millis(100);
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

/// A module's file, before it is read.
pub struct Module {
    stamp: [u8; STAMP],
    settled: bool,
}

impl Module {
    /// How the file is now; `None` if that cannot be told.
    pub fn of(file: &Path) -> Option<Module> {
        let about = std::fs::metadata(file).ok()?;
        Some(Module {
            stamp: stamp(&about),
            settled: is_settled(&about),
        })
    }

    /// Whether it has not been written to since.
    fn is_still(&self, file: &Path) -> bool {
        std::fs::metadata(file).is_ok_and(|about| stamp(&about) == self.stamp)
    }
}

fn is_settled(about: &Metadata) -> bool {
    let changed = u64::try_from(about.ctime()).map(Duration::from_secs);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let (Ok(changed), Ok(now)) = (changed, now) else {
        return false;
    };
    let changed = changed + Duration::from_nanos(about.ctime_nsec().unsigned_abs());
    now.checked_sub(changed).is_some_and(|age| age > SETTLED)
}

/// The image of a module's file as it is now, and its name, if both files are known.
pub fn find(cache: &Cache, record: &Key, module: &Module) -> Option<(Key, File)> {
    let bytes = cache.read(record)?;
    let (read, rest) = bytes.split_first_chunk::<STAMP>()?;
    let (key, rest) = rest.split_first_chunk::<KEY>()?;
    let (written, boot) = rest.split_first_chunk::<STAMP>()?;
    if *read != module.stamp || std::fs::read(BOOT).ok()? != boot {
        return None;
    }
    let key = Key::from_bytes(*key);
    let image = cache.unread(&key)?;
    let about = image.metadata().ok()?;
    (stamp(&about) == *written).then_some((key, image))
}

/// Notes that the image of this name, which is whole, is that of a module's file as it was before it
/// was read. If that cannot be, the next run reads both.
pub fn note(
    cache: &Cache,
    record: &Key,
    (file, module): (&Path, &Module),
    key: &Key,
    image: &File,
) {
    let (Ok(about), Ok(boot)) = (image.metadata(), std::fs::read(BOOT)) else {
        return;
    };
    if module.settled && module.is_still(file) {
        let parts: [&[u8]; 4] = [&module.stamp, &key.bytes(), &stamp(&about), &boot];
        let _ = cache.put(record, &parts.concat());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::DirBuilderExt as _;

    /// A cache with an image, and a module, in a directory of a test's own.
    struct Place {
        folder: std::path::PathBuf,
        cache: Cache,
        record: Key,
        key: Key,
    }

    impl Place {
        fn new(name: &str) -> Place {
            let name = format!("sing-run-known-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
            fs::write(folder.join("a.wasm"), "module").unwrap();
            let cache = Cache::at(&folder).unwrap();
            let key = Key::of(&[b"image"]);
            cache.put(&key, b"an image").unwrap();
            std::thread::sleep(2 * SETTLED);
            Place {
                record: Key::of(&[b"record"]),
                key,
                cache,
                folder,
            }
        }

        fn module(&self) -> Module {
            Module::of(&self.folder.join("a.wasm")).unwrap()
        }

        fn note(&self, module: &Module) {
            let image = self.cache.unread(&self.key).unwrap();
            let file = self.folder.join("a.wasm");
            note(
                &self.cache,
                &self.record,
                (&file, module),
                &self.key,
                &image,
            );
        }

        fn is_known(&self) -> bool {
            let found = find(&self.cache, &self.record, &self.module());
            found.is_some_and(|(key, _)| key == self.key)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn a_file_that_has_not_changed_is_known() {
        let place = Place::new("same");
        assert!(!place.is_known());
        place.note(&place.module());
        assert!(place.is_known());
        // Another file of these bytes, with their time.
        let (file, other) = (place.folder.join("a.wasm"), place.folder.join("b.wasm"));
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&other, "module").unwrap();
        File::options()
            .write(true)
            .open(&other)
            .and_then(|file| file.set_modified(time))
            .unwrap();
        fs::rename(&other, &file).unwrap();
        assert!(!place.is_known());
    }

    #[test]
    fn a_changed_image_is_not_known() {
        let place = Place::new("image");
        place.note(&place.module());
        let path = place.cache.path(&place.key);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
        assert!(!place.is_known());
        place.note(&place.module());
        assert!(place.is_known());
        fs::remove_file(&path).unwrap();
        assert!(!place.is_known());
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_not_noted() {
        let place = Place::new("changing");
        let before = place.module();
        fs::write(place.folder.join("a.wasm"), "changed").unwrap();
        place.note(&before);
        assert!(!place.is_known());
        // Nor one that has changed so lately that the next change might leave its stamp.
        place.note(&place.module());
        assert!(!place.is_known());
        std::thread::sleep(2 * SETTLED);
        place.note(&place.module());
        assert!(place.is_known());
    }

    #[test]
    fn a_broken_record_is_none() {
        let place = Place::new("broken");
        place.note(&place.module());
        let whole = place.cache.read(&place.record).unwrap();
        for len in 0..whole.len() {
            place.cache.put(&place.record, &whole[..len]).unwrap();
            assert!(!place.is_known(), "{len}");
        }
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        place.cache.put(&place.record, &other).unwrap();
        assert!(!place.is_known(), "of another start of this machine");
        place.cache.put(&place.record, &whole).unwrap();
        assert!(place.is_known());
    }
}
