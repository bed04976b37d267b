//! The system image: read into memory of the process and sealed there.
//!
//! It is copied and not mapped from its file, so that a change of the file beneath a running system
//! cannot change verified contents. A file that changes while it is copied is refused: the copy
//! could hold the directory of one image and programs of another.
//!
//! A file that is the caller's alone ([`ImageFile`]) is mapped instead, and so is the code in it: a
//! start then costs only what the system touches.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect};
use rustix::time::{ClockId, clock_gettime};
use sing_abi::PAGE;
use sing_image::system::{MAGIC, MOST_BYTES, SystemImage, of_other_version};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The reason for which there is no image.
#[derive(Debug)]
pub(crate) enum Error {
    /// The file cannot be opened or read.
    Unreadable(PathBuf, io::Error),
    /// The file is no system image.
    NoImage(PathBuf),
    /// The file is a system image of another version.
    OtherVersion(PathBuf, sing_image::Error),
    /// The file has more bytes than any system image.
    TooLong(PathBuf),
    /// The file was written to while it was read.
    Changing(PathBuf),
    /// The file begins as a system image, and does not go on as one.
    Damaged(PathBuf),
}

impl Error {
    /// Whether the file could not even be read.
    pub(crate) fn unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(..) | Self::Changing(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                write!(
                    f,
                    "cannot read the system image {}: {error}",
                    path.display()
                )
            }
            Self::NoImage(path) => write!(
                f,
                "{} is not a system image; `sing image` builds one",
                path.display()
            ),
            Self::OtherVersion(path, why) => write!(f, "{}: {why}", path.display()),
            Self::TooLong(path) => write!(
                f,
                "{} is longer than {} MiB, the most that a system image has",
                path.display(),
                MOST_BYTES >> 20
            ),
            Self::Damaged(path) => write!(
                f,
                "the system image {} is cut short or damaged; build it anew (`sing image`, `cargo xtask image`)",
                path.display()
            ),
            Self::Changing(path) => write!(
                f,
                "cannot read the system image {}: it is being written; try again when that is done",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {}

/// The file of a system image, mapped: nobody writes to it or cuts it short while the system runs.
/// Whoever could is trusted as the one is who starts the system.
#[derive(Clone, Debug)]
pub struct ImageFile {
    file: Arc<File>,
    bytes: &'static [u8],
}

impl ImageFile {
    /// Maps a file, whose directory must fit its contents, as for an image that is copied.
    ///
    /// # Errors
    /// If it cannot be mapped, or is no system image.
    pub(crate) fn new(file: File) -> Result<ImageFile, Error> {
        let path = PathBuf::from("of the program");
        let len = match file.metadata() {
            Ok(about) if about.len() <= MOST_BYTES => about.len() as usize,
            Ok(_) => return Err(Error::TooLong(path)),
            Err(error) => return Err(Error::Unreadable(path, error)),
        };
        if len < MAGIC.len() {
            return Err(Error::NoImage(path));
        }
        // SAFETY: a new mapping that overlaps no other.
        let memory = unsafe {
            let (access, flags) = (ProtFlags::READ, MapFlags::PRIVATE);
            mmap(std::ptr::null_mut(), len, access, flags, &file, 0)
        };
        let memory = memory.map_err(|errno| Error::Unreadable(path.clone(), errno.into()))?;
        // SAFETY: the mapping above, which is never unmapped, of a file that nobody changes.
        let bytes = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), len) };
        if !bytes.starts_with(MAGIC) {
            return Err(no_image(path, bytes));
        }
        match SystemImage::decode(bytes) {
            Ok(_) => Ok(ImageFile {
                file: Arc::new(file),
                bytes,
            }),
            Err(_) => Err(Error::Damaged(path)),
        }
    }

    /// The image.
    pub(crate) fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// Maps the whole pages of code that begins a page of this file at an address, to be executed:
    /// how many bytes. None if it is of another place, or Linux refuses.
    ///
    /// # Safety
    /// The code's pages at `at` are the caller's, and nobody has an address in them.
    pub(crate) unsafe fn map_code(&self, code: &[u8], at: u64) -> u64 {
        let page = PAGE as usize;
        let from = (code.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        let pages = code.len() / page * page;
        let within = from < self.bytes.len() && code.len() <= self.bytes.len() - from;
        if !within || pages == 0 || !from.is_multiple_of(page) {
            return 0;
        }
        // SAFETY: the caller's: what was there is replaced, and belongs to the caller.
        let mapped = unsafe {
            let access = ProtFlags::READ | ProtFlags::EXEC;
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            mmap(at as *mut _, pages, access, flags, &self.file, from as u64)
        };
        mapped.map_or(0, |_| pages as u64)
    }
}

/// Reads the image at `path`, whose directory must fit its contents: what else is wrong is for the
/// kernel to find.
pub(crate) fn image(path: &Path) -> Result<&'static [u8], Error> {
    let bytes = copy(path)?;
    match SystemImage::decode(bytes) {
        Ok(_) => Ok(bytes),
        Err(_) => Err(Error::Damaged(path.to_owned())),
    }
}

/// The error for a file that does not begin as a system image of this version does.
fn no_image(path: PathBuf, begins: &[u8]) -> Error {
    match of_other_version(begins) {
        Some(why) => Error::OtherVersion(path, why),
        None => Error::NoImage(path),
    }
}

/// Copies the file at `path`, which begins as a system image does.
fn copy(path: &Path) -> Result<&'static [u8], Error> {
    let unreadable = |error| Error::Unreadable(path.to_owned(), error);
    // Asked before it is opened: to open a pipe waits for somebody who writes.
    let about = std::fs::metadata(path).map_err(unreadable)?;
    if about.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    if !about.is_file() {
        return Err(Error::NoImage(path.to_owned()));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut magic = [0; MAGIC.len()];
    match file.read_exact(&mut magic) {
        Ok(()) if magic == *MAGIC => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(unreadable(error));
        }
        Ok(()) => return Err(no_image(path.to_owned(), &magic)),
        Err(_) => return Err(Error::NoImage(path.to_owned())),
    }
    let before = settled(&file).map_err(unreadable)?;
    if before.len() > MOST_BYTES {
        return Err(Error::TooLong(path.to_owned()));
    }
    let len = before.len() as usize;
    if len < MAGIC.len() {
        return Err(Error::Changing(path.to_owned()));
    }
    // SAFETY: a new mapping that overlaps no other.
    let memory = unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE)
    };
    let memory = memory.map_err(|errno| unreadable(errno.into()))?;
    // SAFETY: the mapping above, `len` bytes of zeros without another user.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), len) };
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    let rest = &mut bytes[MAGIC.len()..];
    if !read_unchanged(&mut &file, rest, &file, &before).map_err(unreadable)? {
        return Err(Error::Changing(path.to_owned()));
    }
    // SAFETY: the mapping above, whose only writer has finished.
    unsafe { mprotect(memory, len, MprotectFlags::READ) }.map_err(|e| unreadable(e.into()))?;
    // SAFETY: the mapping above, which is never unmapped, nor ever written to again.
    Ok(unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), len) })
}

/// The metadata of the file, once any later change of its contents is bound to change that: files
/// get their times from a clock that moves on every few milliseconds.
fn settled(file: &File) -> io::Result<Metadata> {
    // A clock that was set back is not waited for.
    for _ in 0..50 {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let about = file.metadata()?;
        if (about.ctime(), about.ctime_nsec()) < (now.tv_sec, now.tv_nsec) {
            return Ok(about);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    file.metadata()
}

/// Fills `bytes` from `source`, which reads `file`; false where that is not as it was `before`.
fn read_unchanged(
    source: &mut impl Read,
    bytes: &mut [u8],
    file: &File,
    before: &Metadata,
) -> io::Result<bool> {
    match source.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let after = file.metadata()?;
    let contents = |about: &Metadata| (about.len(), about.mtime(), about.mtime_nsec());
    let changed = |about: &Metadata| (about.ctime(), about.ctime_nsec());
    // If another file has taken its name meanwhile, only its second time (ctime) has changed, not
    // its contents.
    let replaced = after.nlink() < before.nlink();
    Ok(contents(&after) == contents(before) && (replaced || changed(&after) == changed(before)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sing_image::system::SystemManifest;
    use std::fs;
    use std::time::Instant;

    /// A file of a test's own, removed with it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("singularity-{name}-{}", std::process::id());
            Scratch(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// Bytes that begin as an image does.
    fn like_an_image(rest: u8) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(100_000, rest);
        bytes
    }

    /// Reads a file in pieces and has something done before the second.
    struct Halves<'f, F> {
        file: &'f File,
        between: F,
        pieces: u32,
    }

    impl<F: FnMut()> Read for Halves<'_, F> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.pieces == 1 {
                (self.between)();
            }
            self.pieces += 1;
            let most = into.len().min(30_000);
            self.file.read(&mut into[..most])
        }
    }

    #[test]
    fn an_image_is_read_whole() {
        let file = Scratch::new("whole");
        fs::write(&file.0, like_an_image(7)).unwrap();
        assert!(copy(&file.0).unwrap() == like_an_image(7));
    }

    #[test]
    fn an_image_that_is_cut_short_is_named_with_the_way_out() {
        let file = Scratch::new("cut");
        let files = [("notes.txt".into(), &[7; 1000][..])];
        let whole = SystemImage::encode(&SystemManifest::default(), &files).unwrap();
        fs::write(&file.0, &whole).unwrap();
        assert!(image(&file.0).unwrap() == whole);
        for len in [MAGIC.len(), 30, whole.len() - 1] {
            fs::write(&file.0, &whole[..len]).unwrap();
            let error = image(&file.0).unwrap_err();
            assert!(!error.unreadable());
            let text = error.to_string();
            assert!(text.contains(file.0.to_str().unwrap()), "{text}");
            assert!(
                text.contains("cut short") && text.contains("sing image"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_file_of_ones_own_is_mapped_where_it_is_an_image() {
        let scratch = Scratch::new("mapped");
        let files = [("notes.txt".into(), &[7; 9000][..])];
        let whole = SystemImage::encode(&SystemManifest::default(), &files).unwrap();
        fs::write(&scratch.0, &whole).unwrap();
        let open = || File::open(&scratch.0).unwrap();
        assert!(ImageFile::new(open()).unwrap().bytes() == whole);
        for (bytes, damaged) in [
            (&whole[..0], false),
            (&whole[..5], false),
            (b"something else", false),
            (&whole[..30], true),
            (&whole[..whole.len() - 1], true),
        ] {
            fs::write(&scratch.0, bytes).unwrap();
            let error = ImageFile::new(open()).unwrap_err();
            assert_eq!(matches!(error, Error::Damaged(_)), damaged, "{error}");
        }
    }

    #[test]
    fn a_file_that_is_rewritten_while_it_is_read_is_refused() {
        let scratch = Scratch::new("rewritten");
        let changes: [fn(&Path); 5] = [
            |_| {},
            |path| {
                let beside = path.with_extension("new");
                fs::write(&beside, like_an_image(2)).unwrap();
                fs::rename(beside, path).unwrap();
            },
            |path| fs::write(path, like_an_image(2)).unwrap(),
            |path| fs::write(path, [like_an_image(2), like_an_image(3)].concat()).unwrap(),
            |path| fs::write(path, MAGIC).unwrap(),
        ];
        for (number, change) in changes.iter().enumerate() {
            fs::write(&scratch.0, like_an_image(1)).unwrap();
            let file = File::open(&scratch.0).unwrap();
            let before = settled(&file).unwrap();
            let mut bytes = vec![0; before.len() as usize];
            let mut halves = Halves {
                file: &file,
                between: || change(&scratch.0),
                pieces: 0,
            };
            let good = read_unchanged(&mut halves, &mut bytes, &file, &before).unwrap();
            assert_eq!(good, number < 2, "change {number}");
            assert!(!good || bytes == like_an_image(1), "one file, to its end");
        }
    }

    #[test]
    fn a_long_file_is_not_read_before_its_first_bytes_are() {
        let scratch = Scratch::new("long");
        let file = File::create(&scratch.0).unwrap();
        file.set_len(64 << 30).unwrap();
        let started = Instant::now();
        assert!(matches!(image(&scratch.0), Err(Error::NoImage(_))));
        fs::write(&scratch.0, MAGIC).unwrap();
        file.set_len(64 << 30).unwrap();
        assert!(matches!(image(&scratch.0), Err(Error::TooLong(_))));
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let pipe = Scratch::new("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe.0, mode).unwrap();
        assert!(matches!(image(&pipe.0), Err(Error::NoImage(_))));
        assert!(matches!(
            image(Path::new("/dev/zero")),
            Err(Error::NoImage(_))
        ));
        assert!(image(&std::env::temp_dir()).unwrap_err().unreadable());
        let short = Scratch::new("short");
        fs::write(&short.0, &MAGIC[..5]).unwrap();
        assert!(matches!(image(&short.0), Err(Error::NoImage(_))));
        let older = Scratch::new("older");
        fs::write(&older.0, [&MAGIC[..7], b"1", &[0; 64]].concat()).unwrap();
        let said = image(&older.0).unwrap_err().to_string();
        assert!(said.contains("it is older; build it again"), "{said}");
    }
}
