//! A system inside a program: on a thread of its own and on those that call ([`crate::baton`]), and
//! given back when it has ended.
//!
//! The kernel runs on a stack beside the threads' own, and leaves it by a switch back when the
//! system ends, from wherever it is; the system's thread learns that if it was another. Then the
//! kernel forgets everything, and the machine is taken down in the opposite order of its making.
//!
//! Invariants:
//! - There is one machine in a process at a time: signal handlers find it by a static.
//! - No standard stream is read or written.
//! - A fork of the process has no system, and gives nothing back.
//! - When [`Running`] has been dropped, the thread has ended: nobody signals to it from then on, and its
//!   memory, its descriptors and its handlers are as before the start.

use crate::baton::{Baton, baton};
use crate::memory::unmap;
use crate::{Config, Error, HostedHal, Port, signals};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use sing_abi::PAGE;
use sing_arch::switch;
use sing_image::system::{MAGIC, MOST_BYTES, is_of_any_version, of_other_version};
use sing_kernel::{BootImage, Options};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// Bytes of the stack that the kernel starts on, and idles on.
const STACK: u64 = 1 << 20;
/// Lines of the log that are kept, and bytes of a line.
const LINES: usize = 1000;
const LINE: usize = 1000;

/// The status with which the system has ended.
static STATUS: AtomicI32 = AtomicI32::new(0);

/// The last lines of the kernel's log, and of what programs write to the console.
#[derive(Debug, Default)]
pub struct Log {
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    whole: VecDeque<String>,
    begun: Vec<u8>,
}

impl Log {
    fn with<R>(&self, f: impl FnOnce(&mut Lines) -> R) -> R {
        f(&mut self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn line(&self, line: &[u8]) {
        self.with(|lines| lines.push(line));
    }

    pub(crate) fn text(&self, text: &[u8]) {
        self.with(|lines| {
            for piece in text.split_inclusive(|byte| *byte == b'\n') {
                let (piece, ends) = match piece {
                    [piece @ .., b'\n'] => (piece, true),
                    piece => (piece, false),
                };
                let room = LINE - lines.begun.len().min(LINE);
                lines
                    .begun
                    .extend_from_slice(&piece[..piece.len().min(room)]);
                if ends {
                    let line = std::mem::take(&mut lines.begun);
                    lines.push(&line);
                }
            }
        });
    }

    /// Takes the lines that have come since the last call, a thousand at most: of more, the last.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        self.with(|lines| lines.whole.drain(..).collect())
    }
}

impl Lines {
    fn push(&mut self, line: &[u8]) {
        if self.whole.len() == LINES {
            self.whole.pop_front();
        }
        let line = &line[..line.len().min(LINE)];
        self.whole
            .push_back(String::from_utf8_lossy(line).into_owned());
    }
}

/// What the machine has of an embedded system.
#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// Where calls come in.
    pub port: Arc<Port>,
    /// Where output goes.
    pub log: Arc<Log>,
}

/// A system image that is trusted: its programs' code runs in this process.
#[derive(Clone, Debug)]
pub struct Image<'b>(Cow<'b, [u8]>);

impl Image<'_> {
    /// Reads an image from a file, which is trusted as the program's own file is: `sing image` has
    /// made it, of programs that it has verified and compiled, and nobody else could change it.
    ///
    /// # Errors
    /// With its path: if it cannot be read or is no system image of this version, if it is another user's
    /// (but the administrator's), or if everybody may write to it.
    pub fn open(path: &Path) -> io::Result<Image<'static>> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        Image::read(path).map_err(named)
    }

    fn read(path: &Path) -> io::Result<Image<'static>> {
        // To open a pipe waits for somebody who writes, otherwise.
        let mut how = File::options();
        how.read(true).custom_flags(libc::O_NONBLOCK);
        let mut file = how.open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !about.is_file() {
            return Err(io::Error::other(
                "it is a pipe or a device; a system image is a file",
            ));
        }
        let own = rustix::process::geteuid().as_raw();
        if about.uid() != own && about.uid() != 0 {
            return Err(io::Error::other(
                "it belongs to another user, who could run code in this program by it; copy it",
            ));
        }
        if about.mode() & 0o002 != 0 {
            return Err(io::Error::other(
                "everybody may write to it, and so run code in this program; `chmod o-w` it",
            ));
        }
        if about.len() > MOST_BYTES {
            return Err(io::Error::other("it is longer than any system image"));
        }
        // A file that is no image is not read any further.
        let mut bytes = Vec::new();
        let mut begins = Read::by_ref(&mut file).take(MAGIC.len() as u64);
        begins.read_to_end(&mut bytes)?;
        if let Some(other) = of_other_version(&bytes) {
            return Err(io::Error::other(other.message));
        }
        if !is_of_any_version(&bytes) {
            return Err(io::Error::other(
                "not a system image; `sing image` or `sing build` makes one",
            ));
        }
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(Image(bytes.into()))
    }
}

impl<'b> Image<'b> {
    /// Trusts the bytes of an image.
    ///
    /// # Safety
    /// The bytes are what `sing image` has made, of programs that it has compiled itself: their code
    /// was verified then, and is not verified again.
    #[must_use]
    pub const unsafe fn trusted(bytes: &'b [u8]) -> Image<'b> {
        Image(Cow::Borrowed(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A system that runs inside this program. Dropping it ends the system, and waits for that.
#[derive(Debug)]
pub struct Running {
    thread: Option<JoinHandle<()>>,
    inside: Inside,
}

/// Memory of the process's own, given back when this is dropped.
struct Mapped(Range<u64>);

impl Mapped {
    fn new(bytes: u64) -> io::Result<Mapped> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping that overlaps no other.
        let at = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes as usize,
                access,
                MapFlags::PRIVATE,
            )
        };
        let at = at? as u64;
        Ok(Mapped(at..at + bytes))
    }

    fn protect(&self, range: Range<u64>, access: MprotectFlags) -> io::Result<()> {
        // SAFETY: a part of this mapping, of which nobody has a reference yet.
        unsafe {
            mprotect(
                range.start as *mut _,
                (range.end - range.start) as usize,
                access,
            )
        }?;
        Ok(())
    }

    /// A sealed copy.
    fn copy(bytes: &[u8]) -> io::Result<Mapped> {
        let mapped = Mapped::new((bytes.len() as u64).max(1).next_multiple_of(PAGE))?;
        // SAFETY: the mapping has as many bytes at least, and no other user.
        let place =
            unsafe { std::slice::from_raw_parts_mut(mapped.0.start as *mut u8, bytes.len()) };
        place.copy_from_slice(bytes);
        mapped.protect(mapped.0.clone(), MprotectFlags::READ)?;
        Ok(mapped)
    }

    /// A stack with an inaccessible page below.
    fn stack() -> io::Result<Mapped> {
        let mapped = Mapped::new(PAGE + STACK)?;
        let bottom = mapped.0.start;
        mapped.protect(bottom..bottom + PAGE, MprotectFlags::empty())?;
        Ok(mapped)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: this mapping; who made it has made sure that nobody uses it any more.
        unsafe { unmap(&self.0) };
    }
}

impl Running {
    /// Starts a system from a system image, on a thread of its own.
    ///
    /// # Errors
    /// If there is a machine in this process already, or Linux refuses what it needs.
    pub fn start(image: &Image<'_>, config: Config, options: Options) -> Result<Running, Error> {
        let refused = |what| move |error: io::Error| Error::Linux { what, error };
        let image = Mapped::copy(image.bytes()).map_err(refused("memory for the system image"))?;
        let stack = Mapped::stack().map_err(refused("a stack"))?;
        let inside = Inside::default();
        let config = Config {
            inside: Some(inside.clone()),
            ..config
        };
        let (tell, told) = mpsc::channel();
        let thread =
            thread::Builder::new().name("system".into()).spawn(move || {
                match HostedHal::new(config) {
                    Ok(hal) => {
                        let _ = tell.send(Ok(()));
                        drop(tell);
                        run(hal, options, &image, &stack);
                    }
                    Err(error) => {
                        let _ = tell.send(Err(error));
                    }
                }
            });
        let thread = thread.map_err(refused("a thread"))?;
        match told.recv() {
            Ok(Ok(())) => Ok(Running {
                thread: Some(thread),
                inside,
            }),
            Ok(Err(error)) => {
                let _ = thread.join();
                Err(error)
            }
            Err(_) => Err(refused("a thread")(io::Error::other("it has ended"))),
        }
    }

    /// Where calls go in.
    #[must_use]
    pub fn port(&self) -> &Arc<Port> {
        &self.inside.port
    }

    /// Where its output has gone.
    #[must_use]
    pub fn log(&self) -> &Arc<Log> {
        &self.inside.log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.inside.port.is_elsewhere() {
            // A fork: the threads are not there, and what they have is not given back.
            std::mem::forget((self.thread.take(), self.inside.clone()));
            return;
        }
        self.inside.port.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.inside.port.join();
    }
}

/// What the kernel starts with.
struct Start {
    hal: &'static HostedHal,
    options: Options,
    image: BootImage,
}

/// Runs the system to its end on this stack, and takes the machine down.
fn run(hal: &'static HostedHal, options: Options, image: &Mapped, stack: &Mapped) {
    let len = image.0.end - image.0.start;
    // SAFETY: the mapping is readable and never written to. It stays until the kernel has forgotten
    // it, below.
    let bytes: &'static [u8] =
        unsafe { std::slice::from_raw_parts(image.0.start as *const u8, len as usize) };
    // SAFETY: whoever made the `Image` has vouched for it; the memory is sealed.
    let image = unsafe { BootImage::new(bytes) };
    let start = Box::new(Start {
        hal,
        options,
        image,
    });
    let argument = Box::into_raw(start) as u64;
    // SAFETY: a stack of this function's, a page's multiple, without another user.
    let sp = unsafe { switch::first_frame(stack.0.end, first, argument) };
    // There is one: the machine is inside a program.
    let Some(baton) = baton(hal) else { return };
    baton.start(sp);
    baton.run(hal, 0);
    while !baton.has_ended() {
        baton.rest(hal);
        if !baton.has_ended() {
            baton.run(hal, 0);
        }
    }
    let status = STATUS.load(SeqCst);
    hal.end(status);
}

extern "C" fn first(argument: u64) -> ! {
    // SAFETY: made by `Box::into_raw` in `run`, and taken once.
    let start = unsafe { Box::from_raw(argument as *mut Start) };
    let Start {
        hal,
        options,
        image,
    } = *start;
    sing_kernel::boot(hal, options, image)
}

/// Leaves the kernel for good, from whatever stack of its it is on.
pub(crate) fn leave(baton: &Baton, status: i32) -> ! {
    STATUS.store(status, SeqCst);
    baton.leave()
}

/// The signals of an embedded system's thread.
pub(crate) fn signals() -> io::Result<signals::beside::Signals> {
    signals::beside::Signals::start()
}
