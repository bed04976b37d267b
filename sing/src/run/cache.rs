//! System images of programs that were compiled before, and the code of their functions
//! ([`super::pieces`]), each under a name made of all that it depends on.
//!
//! A kept image is machine code, which nothing verifies again: it is trusted as the programs are
//! that a person has installed for themselves. Invariants:
//! - The directory belongs to this user, and nobody else can enter it (mode 0700); so do the files,
//!   which are regular ones. Anything else is not used, nor changed.
//! - A file is written beside its place and renamed, and ends with a digest of its name and its
//!   contents, which is compared before each use: what is cut short or changed is as if it were not
//!   there.
//! - All files together have at most [`MOST_BYTES`]: the ones used longest ago are removed first.
//! - Whatever goes wrong here, the program runs: it is compiled.

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};
use sing_image::system;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek as _, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The most bytes of all kept files.
const MOST_BYTES: u64 = 1 << 30;
/// The variable that names the directory, or is `off`.
const VARIABLE: &str = "SING_CACHE";
/// The directory below that of all caches of a user.
const FOLDER: &str = "singularity";
/// The end of a kept file's name.
const ENDING: &str = ".run";
/// The end of the name of a file that is being written.
const NEW: &str = ".new";
/// After how many seconds nobody writes to a file any more that is being written.
const ABANDONED: i64 = 3600;
/// The last bytes of a file: a mark, and the digest.
const MARK: &[u8; 8] = b"singrun1";
const TAIL: usize = MARK.len() + 32;
/// Bytes that are read at a time.
const PIECE: usize = 128 << 10;

/// Which cache a run uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// That of the user: in `$SING_CACHE`, or below the directory for caches.
    #[default]
    OfUser,
    /// None.
    Off,
}

impl Choice {
    /// The directory; `None` if nothing is to be kept.
    fn place(self) -> Result<Option<PathBuf>, Unusable> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        match variable(VARIABLE) {
            _ if self == Choice::Off => return Ok(None),
            Some(value) if value == "off" => return Ok(None),
            Some(value) => return Ok(Some(value.into())),
            None => {}
        }
        // As the XDG Base Directory Specification has it, a relative path counts for nothing.
        let absolute = |name| {
            variable(name)
                .map(PathBuf::from)
                .filter(|p| p.is_absolute())
        };
        let caches = absolute("XDG_CACHE_HOME");
        let caches = caches.or_else(|| Some(absolute("HOME")?.join(".cache")));
        let caches = caches.ok_or_else(|| Unusable {
            text: "neither HOME nor XDG_CACHE_HOME is set".into(),
            unsafe_place: false,
        })?;
        Ok(Some(caches.join(FOLDER)))
    }
}

/// The reason why nothing is kept.
#[derive(Debug)]
pub struct Unusable {
    pub text: String,
    /// Whether others could reach the directory, which a person should know.
    pub unsafe_place: bool,
}

/// The name of an image, made of all that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Makes one of these parts, in this order.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Key(digest.finalize().into())
    }

    fn file(&self) -> String {
        let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        digits + ENDING
    }

    /// What a digest of contents under this name begins with.
    fn digest(&self) -> Sha256 {
        Sha256::new_with_prefix(self.0)
    }
}

/// What is kept under a name.
pub enum Found {
    /// The image, from the file's start.
    Whole(File),
    /// A file that is not used, and why.
    Broken(String),
    Nothing,
}

/// The directory of kept images.
pub struct Cache {
    folder: OwnedFd,
    place: PathBuf,
    /// [`MOST_BYTES`], or fewer in tests.
    most: u64,
}

impl Cache {
    /// Opens the cache, which is made if it is not there; `None` if none is wanted.
    pub fn open(choice: &Choice) -> Result<Option<Cache>, Unusable> {
        choice.place()?.map(|place| Cache::at(&place)).transpose()
    }

    fn at(place: &Path) -> Result<Cache, Unusable> {
        let unusable = |unsafe_place, why: &dyn std::fmt::Display| Unusable {
            text: format!("{}: {why}", place.display()),
            unsafe_place,
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(place);
        made.map_err(|e| unusable(false, &e))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = fs::openat(CWD, place, flags, Mode::empty());
        let folder = folder.map_err(|e| unusable(false, &e))?;
        let about = fs::fstat(&folder).map_err(|e| unusable(false, &e))?;
        if about.st_uid != geteuid().as_raw() {
            return Err(unusable(true, &"it belongs to another user"));
        }
        if about.st_mode & 0o077 != 0 {
            let why = "others may enter it, and what is kept there is run; `chmod 700` closes it";
            return Err(unusable(true, &why));
        }
        Ok(Cache {
            folder,
            place: place.into(),
            most: MOST_BYTES,
        })
    }

    /// The path of what is kept under a name, for people.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.place.join(key.file())
    }

    /// What is kept under a name.
    pub fn get(&self, key: &Key) -> Found {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match fs::openat(&self.folder, key.file(), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Found::Nothing,
            Err(e) => return Found::Broken(e.to_string()),
        };
        match check(&mut file, key) {
            Ok(Ok(())) => Found::Whole(file),
            Ok(Err(why)) => Found::Broken(why.into()),
            Err(e) => Found::Broken(e.to_string()),
        }
    }

    /// The bytes of what is kept under a name, if it is whole.
    pub fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let Found::Whole(mut file) = self.get(key) else {
            return None;
        };
        let mut bytes = Vec::new();
        file.rewind().ok()?;
        file.read_to_end(&mut bytes).ok()?;
        bytes.truncate(bytes.len().saturating_sub(TAIL));
        Some(bytes)
    }

    /// Keeps an image, and removes others if there are too many bytes: the file.
    pub fn put(&self, key: &Key, image: &[u8]) -> io::Result<File> {
        let bytes = (image.len() + TAIL) as u64;
        if bytes > self.most {
            let why = format!("it has {bytes} bytes, and all may have {}", self.most);
            return Err(io::Error::other(why));
        }
        let (name, mut file) = self.new_file()?;
        let digest: [u8; 32] = key.digest().chain_update(image).finalize().into();
        let written = [image, MARK, &digest]
            .into_iter()
            .try_for_each(|part| file.write_all(part));
        let kept =
            written.and_then(|()| Ok(fs::renameat(&self.folder, &name, &self.folder, key.file())?));
        if let Err(e) = kept {
            // If that fails, too, it is removed when it is old.
            let _ = fs::unlinkat(&self.folder, &name, AtFlags::empty());
            return Err(e);
        }
        // If others cannot be removed now, a later run may.
        let _ = self.make_room(&key.file());
        Ok(file)
    }

    /// A new file, under a name that nobody else uses.
    fn new_file(&self) -> io::Result<(String, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..16 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".{}-{number}{NEW}", std::process::id());
            match fs::openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => return Ok((name, file.into())),
                // Of a process with this number, which was killed or is in another name space.
                Err(Errno::EXIST) => {}
                Err(e) => {
                    last = e;
                    break;
                }
            }
        }
        Err(last.into())
    }

    /// Removes the files used longest ago while all have too many bytes, but for this one; and what
    /// killed processes have left.
    fn make_room(&self, new: &str) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs().min(i64::MAX as u64) as i64);
        let mut kept = Vec::new();
        let mut all = 0;
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let (is_kept, is_new) = (name.ends_with(ENDING), name.ends_with(NEW));
            if !is_kept && !is_new {
                continue;
            }
            // Another process may have removed it meanwhile.
            let Ok(about) = fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            if is_new {
                if about.st_mtime.saturating_add(ABANDONED) < now {
                    let _ = fs::unlinkat(&self.folder, name, AtFlags::empty());
                }
                continue;
            }
            let bytes = about.st_size as u64;
            all += bytes;
            if name != new {
                // Where reading leaves no time, the oldest go.
                let used = (about.st_atime, about.st_atime_nsec);
                let made = (about.st_mtime, about.st_mtime_nsec);
                kept.push((used.max(made), name.to_owned(), bytes));
            }
        }
        kept.sort();
        for (_, name, bytes) in kept {
            if all <= self.most {
                break;
            }
            if fs::unlinkat(&self.folder, &name, AtFlags::empty()).is_ok() {
                all -= bytes;
            }
        }
        Ok(())
    }
}

/// Whether the file is what was kept under this name, or why it is not used.
fn check(file: &mut File, key: &Key) -> io::Result<Result<(), &'static str>> {
    let about = fs::fstat(&*file)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Ok(Err("it is no file"));
    }
    if about.st_uid != geteuid().as_raw() || about.st_mode & 0o022 != 0 {
        return Ok(Err("others may have written to it"));
    }
    let bytes = about.st_size as u64;
    if !(TAIL as u64..=system::MOST_BYTES + TAIL as u64).contains(&bytes) {
        return Ok(Err("it is cut short"));
    }
    let mut digest = key.digest();
    let mut left = bytes - TAIL as u64;
    let mut buffer = vec![0; PIECE];
    while left > 0 {
        let piece = &mut buffer[..left.min(PIECE as u64) as usize];
        file.read_exact(piece)?;
        digest.update(&*piece);
        left -= piece.len() as u64;
    }
    let mut tail = [0; TAIL];
    file.read_exact(&mut tail)?;
    let whole = tail.starts_with(MARK) && tail[MARK.len()..] == digest.finalize()[..];
    Ok(whole.then_some(()).ok_or("its contents have changed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// A directory of a test's own.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let name = format!("sing-run-cache-{name}-{}", std::process::id());
            Place(std::env::temp_dir().join(name))
        }

        fn open(&self) -> Cache {
            Cache::at(&self.0).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let names = std::fs::read_dir(&self.0)
                .unwrap()
                .map(|e| e.unwrap().file_name());
            let mut names: Vec<String> = names.map(|n| n.into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// What is found, as a word; and that a file has the contents from its start.
    fn found(cache: &Cache, key: &Key, contents: &[u8]) -> String {
        match cache.get(key) {
            Found::Whole(mut file) => {
                let mut bytes = Vec::new();
                file.rewind().unwrap();
                file.read_to_end(&mut bytes).unwrap();
                assert!(bytes.starts_with(contents));
                "whole".into()
            }
            Found::Broken(why) => why,
            Found::Nothing => "nothing".into(),
        }
    }

    #[test]
    fn what_was_kept_is_found_under_its_name_alone() {
        let place = Place::new("kept");
        let cache = place.open();
        let keys = [
            Key::of(&[b"ab", b"c"]),
            Key::of(&[b"a", b"bc"]),
            Key::of(&[b"abc"]),
        ];
        assert_ne!(keys[0], keys[1]);
        assert_ne!(keys[1], keys[2]);
        let image = vec![7; 3 * PIECE + 5];
        cache.put(&keys[0], &image).unwrap();
        assert_eq!(found(&cache, &keys[0], &image), "whole");
        assert_eq!(found(&place.open(), &keys[0], &image), "whole");
        assert_eq!(found(&cache, &keys[1], b""), "nothing");
        // Under the name of another it is none.
        std::fs::rename(cache.path(&keys[0]), cache.path(&keys[1])).unwrap();
        assert_eq!(found(&cache, &keys[1], b""), "its contents have changed");
        // And it is put right.
        cache.put(&keys[1], b"other").unwrap();
        assert_eq!(found(&cache, &keys[1], b"other"), "whole");
        assert_eq!(place.names().len(), 1);
        let mode = std::fs::metadata(&place.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn what_is_cut_short_or_changed_is_not_used() {
        let place = Place::new("changed");
        let cache = place.open();
        let key = Key::of(&[b"module"]);
        let image: Vec<u8> = (0..1000_u32).map(|i| i as u8).collect();
        cache.put(&key, &image).unwrap();
        let path = cache.path(&key);
        let whole = std::fs::read(&path).unwrap();
        for at in [0, 1, 500, 999, 1000, 1007, 1008, whole.len() - 1] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert_eq!(
                found(&cache, &key, b""),
                "its contents have changed",
                "{at}"
            );
        }
        for len in [0, 1, TAIL - 1] {
            std::fs::write(&path, &whole[..len]).unwrap();
            assert_eq!(found(&cache, &key, b""), "it is cut short", "{len}");
        }
        for len in [TAIL, 999, whole.len() - 1] {
            std::fs::write(&path, &whole[..len]).unwrap();
            assert_eq!(
                found(&cache, &key, b""),
                "its contents have changed",
                "{len}"
            );
        }
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(found(&cache, &key, &image), "whole");
    }

    #[test]
    fn what_others_could_have_put_there_is_not_used() {
        let place = Place::new("others");
        let cache = place.open();
        let key = Key::of(&[b"module"]);
        cache.put(&key, b"image").unwrap();
        let path = cache.path(&key);
        let allow = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        allow(&path, 0o620);
        assert_eq!(found(&cache, &key, b""), "others may have written to it");
        allow(&path, 0o600);
        let beside = place.0.join("beside");
        std::fs::rename(&path, &beside).unwrap();
        symlink(&beside, &path).unwrap();
        assert!(matches!(cache.get(&key), Found::Broken(_)));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(found(&cache, &key, b""), "it is no file");
        assert!(cache.put(&key, b"image").is_err());
        std::fs::remove_dir(&path).unwrap();
        for mode in [0o710, 0o701, 0o755, 0o770] {
            allow(&place.0, mode);
            let refused = Cache::at(&place.0).err().unwrap();
            assert!(
                refused.unsafe_place && refused.text.contains("chmod 700"),
                "{mode:o}"
            );
        }
        allow(&place.0, 0o700);
        let file = place.0.join("file");
        std::fs::write(&file, "").unwrap();
        let refused = Cache::at(&file).err().unwrap();
        assert!(!refused.unsafe_place, "{}", refused.text);
        // Links, files of others and half-written ones: nothing was removed or left.
        assert_eq!(place.names(), ["beside", "file"]);
    }

    #[test]
    fn the_files_used_longest_ago_go() {
        let place = Place::new("room");
        let mut cache = place.open();
        let old = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let age = |path: &Path, minutes: u64| {
            let file = File::options().write(true).open(path).unwrap();
            let at = old + std::time::Duration::from_secs(60 * minutes);
            let times = std::fs::FileTimes::new().set_accessed(at).set_modified(old);
            file.set_times(times).unwrap();
        };
        let keys: Vec<Key> = (0..4_u8).map(|i| Key::of(&[&[i]])).collect();
        for (key, used) in keys.iter().zip([30, 10, 20]) {
            cache.put(key, &[1; 1000]).unwrap();
            age(&cache.path(key), used);
        }
        std::fs::write(place.0.join("not ours"), [0; 9000]).unwrap();
        for name in [".1-1.new", ".2-2.new"] {
            std::fs::write(place.0.join(name), "half").unwrap();
        }
        age(&place.0.join(".1-1.new"), 0);
        cache.most = 2 * (1000 + TAIL) as u64;
        cache.put(&keys[3], &[1; 1000]).unwrap();
        let mut left = vec![keys[0].file(), keys[3].file()];
        left.extend([".2-2.new".into(), "not ours".into()]);
        left.sort();
        assert_eq!(place.names(), left);
        // One that alone is too large is not kept, and costs no other its place.
        assert!(cache.put(&keys[1], &[1; 9000]).is_err());
        assert_eq!(place.names(), left);
    }

    #[test]
    fn many_at_once_keep_and_find_whole_files() {
        let place = Place::new("many");
        place.open();
        let image: Vec<u8> = (0..300_000_u32).map(|i| (i / 3) as u8).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut cache = place.open();
                    cache.most = 700_000;
                    for i in 0..20_u8 {
                        let key = Key::of(&[&[i % 4]]);
                        cache.put(&key, &image).unwrap();
                        let is = found(&cache, &key, b"");
                        assert!(["whole", "nothing"].contains(&is.as_str()), "{is}");
                    }
                });
            }
        });
        assert!(place.names().iter().all(|name| name.ends_with(ENDING)));
    }

    /// As where the home directory cannot be written, or the disk is full.
    #[test]
    fn what_cannot_be_kept_is_said_and_leaves_nothing() {
        let place = Place::new("full");
        let cache = place.open();
        // The directory is gone: nothing can be made in it.
        std::fs::remove_dir(&place.0).unwrap();
        assert!(cache.put(&Key::of(&[b"a"]), b"image").is_err());
        let file = Place::new("no-directory");
        std::fs::write(&file.0, "").unwrap();
        assert!(Cache::at(&file.0.join("below")).is_err());
        std::fs::remove_file(&file.0).unwrap();
    }
}
