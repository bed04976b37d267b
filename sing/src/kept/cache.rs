//! System images of programs that were compiled before, and the code of their functions
//! ([`super::pieces`]), each under a name made of all that it depends on.
//!
//! A kept image is machine code, which nothing verifies again: it is trusted as the programs are
//! that a person has installed for themselves. Invariants:
//! - The directory belongs to this user, and nobody else can enter it (mode 0700); so do the files,
//!   which are regular ones. Anything else is not used, nor changed.
//! - A file is written beside its place and renamed, and ends with a digest of its name and its
//!   contents, which is compared before its use, unless its stamp says that it has not changed since
//!   ([`super::known`]): what is cut short or changed is as if it were not there.
//! - All files together have at most [`MOST_BYTES`], each counted as [`LEAST_BYTES`] at least: the ones
//!   used longest ago are removed first.
//! - Whatever goes wrong here, the program runs: it is compiled.

use crate::output::name_of;
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};
use sing_image::system;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek as _, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The most bytes of all kept files.
const MOST_BYTES: u64 = 1 << 30;
/// The bytes that a file takes at least, as there is a record for each path of a module.
const LEAST_BYTES: u64 = 4096;
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
        let unusable = |text| Unusable {
            text,
            unsafe_place: false,
        };
        let caches = absolute("XDG_CACHE_HOME").map(|caches| (caches.clone(), caches));
        let caches = caches.or_else(|| {
            let home = absolute("HOME")?;
            Some((home.join(".cache"), home))
        });
        let (caches, owned) =
            caches.ok_or_else(|| unusable("neither HOME nor XDG_CACHE_HOME is set".into()))?;
        // Under `sudo` it may be another user's, who could not enter what is made there.
        if std::fs::metadata(&owned).is_ok_and(|about| about.uid() != geteuid().as_raw()) {
            let text = format!("{}: it belongs to another user", name_of(&owned));
            return Err(unusable(text));
        }
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

    /// Its bytes, for a record ([`super::known`]).
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// The one with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Key {
        Key(bytes)
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

/// A point in time by the clock of a file system, as coarse as that is: seconds, and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64, i64);

impl Moment {
    /// That of a file's time.
    pub fn new(seconds: i64, nanoseconds: i64) -> Moment {
        Moment(seconds, nanoseconds)
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

    /// The cache in this directory, which is made if it is not there.
    pub(super) fn at(place: &Path) -> Result<Cache, Unusable> {
        let unusable = |unsafe_place, why: &dyn std::fmt::Display| Unusable {
            text: format!("{}: {why}", name_of(place)),
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

    /// Whether a program that is given one of these directories could write here.
    pub fn is_within_reach<'a>(&self, given: impl IntoIterator<Item = &'a Path>) -> bool {
        // What cannot be told is taken to be so.
        let Ok(own) = self.place.canonicalize() else {
            return true;
        };
        given.into_iter().any(|given| match given.canonicalize() {
            Ok(given) => own.starts_with(&given) || given.starts_with(&own),
            Err(_) => true,
        })
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The path of what is kept under a name, for people.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.place.join(key.file())
    }

    /// What is kept under a name.
    pub fn get(&self, key: &Key) -> Found {
        let mut file = match self.opened(key) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Found::Nothing,
            Err(e) => return Found::Broken(e.to_string()),
        };
        match check(&mut file, key) {
            Ok(Ok(())) => Found::Whole(file),
            Ok(Err(why)) => Found::Broken(why.into()),
            Err(e) => Found::Broken(e.to_string()),
        }
    }

    /// The file under a name, if nobody else may have written to it. Its contents are not compared
    /// with their digest: the caller knows from its stamp that they were ([`super::known`]).
    pub fn unread(&self, key: &Key) -> Option<File> {
        let file = self.opened(key).ok()?;
        let bytes = check_kind(&file).ok()?;
        bytes.is_ok().then_some(file)
    }

    fn opened(&self, key: &Key) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        fs::openat(&self.folder, key.file(), flags, Mode::empty()).map(File::from)
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

    /// Now, by the clock that sets the times of kept files: whatever changes later has this time or a
    /// later one. `None` if that cannot be told.
    pub fn moment(&self) -> Option<Moment> {
        let (name, file) = self.new_file().ok()?;
        // If it stays, it is removed when it is old.
        let _ = fs::unlinkat(&self.folder, &name, AtFlags::empty());
        let about = file.metadata().ok()?;
        Some(Moment(about.ctime(), about.ctime_nsec()))
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
            // Nothing else is touched: the directory may be somebody's own.
            let (is_kept, is_new) = (is_kept(name), is_new(name));
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
            let bytes = (about.st_size as u64).max(LEAST_BYTES);
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

/// Whether a file's name is one of those that keys make.
fn is_kept(name: &str) -> bool {
    let digits = name.strip_suffix(ENDING);
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether it is one of a file that is being written.
fn is_new(name: &str) -> bool {
    let numbers = name.strip_prefix('.').and_then(|n| n.strip_suffix(NEW));
    let numbers = numbers.and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(process, count)| {
        process.parse::<u32>().is_ok() && count.parse::<u32>().is_ok()
    })
}

/// The bytes of a kept file, or why it is not used, whatever its contents.
fn check_kind(file: &File) -> io::Result<Result<u64, &'static str>> {
    let about = fs::fstat(file)?;
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
    Ok(Ok(bytes))
}

/// Whether the file is what was kept under this name, or why it is not used.
fn check(file: &mut File, key: &Key) -> io::Result<Result<(), &'static str>> {
    let bytes = match check_kind(file)? {
        Ok(bytes) => bytes,
        Err(why) => return Ok(Err(why)),
    };
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
mod tests;
