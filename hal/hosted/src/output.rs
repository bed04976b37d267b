//! Output: the kernel's output is taken at once, and written by threads that may wait for a reader.
//!
//! The other ways are worse: non-blocking writes are a mode of the open file, which is shared with
//! the shell that started us and would outlive us; `poll` says that something can be written, not
//! how much, so that a terminal that is stopped in the middle of a line still blocks.
//!
//! If standard output and standard error are the same file, one thread writes both, so that their
//! order stays; so it does where the console's output is two streams. Else each has its own thread, so a console without a reader delays no crash report.
//!
//! Two streams are written by the kernel's thread as long as Linux takes all at once: to a pipe, a
//! socket or a device it says how much it takes without waiting (`RWF_NOWAIT`). With the first byte that
//! would wait, or a line of the log, their thread is made, which writes everything from then on: most
//! programs that run once end without it.
//!
//! Invariants:
//! - The kernel's thread never waits for a reader, except with the last words of a system that has failed.
//! - Bytes leave a queue when they have been written: if a queue is empty, all its output is
//!   written.

use crate::streams::{self, Streams};
use crate::thread::{Kernel, quiet_thread_for};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::fstat;
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use rustix::stdio::{stderr, stdout};
use sing_abi::exit::machine::NOBODY_READS;
use sing_kernel::output::{Class, Queue};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a queue.
const ROOM: usize = 64 << 10;
/// The most bytes that one call writes.
const PIECE: usize = 16 << 10;
/// Size of a writer's stack, which holds a piece.
const WRITER_STACK: usize = 64 << 10;
/// How long the system's end waits for readers.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes in all queues.
static UNWRITTEN: AtomicUsize = AtomicUsize::new(0);

/// A file that is written to.
struct Stream {
    queue: Mutex<Box<Queue<ROOM>>>,
    /// Signalled when bytes are added, and when all are written.
    changed: Condvar,
    /// Two streams, as long as they need no thread. The kernel's thread alone takes this.
    direct: Mutex<Option<Direct>>,
}

/// How two streams are written without a thread.
struct Direct {
    streams: Streams,
    /// What the thread is told: who gets which signal if there is room again.
    kernel: Kernel,
    signal: i32,
}

/// Standard output and standard error.
pub(crate) struct Output {
    console: Arc<Stream>,
    log: Arc<Stream>,
}

/// An empty queue, of which no byte is touched before it is used: it has no memory until then.
fn empty() -> Box<Queue<ROOM>> {
    // SAFETY: an empty queue is all zeros: numbers, false, and the first class (tested below).
    unsafe { Box::new_zeroed().assume_init() }
}

/// Whether both are the same file, so that output to both must keep its order.
fn same_file() -> bool {
    match (fstat(stdout()), fstat(stderr())) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

impl Stream {
    fn queue(&self) -> MutexGuard<'_, Box<Queue<ROOM>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a writer thread that sends `signal` to the calling thread when there is room again.
    fn start(signal: i32, name: &str) -> io::Result<Arc<Stream>> {
        let stream = Arc::new(Stream::new(None));
        Stream::write_by_thread(&stream, name, Kernel::this(), signal, None)?;
        Ok(stream)
    }

    /// Two streams, whose thread is made when it is needed.
    fn direct(signal: i32) -> Arc<Stream> {
        let direct = Direct {
            streams: Streams::new(same_file()),
            kernel: Kernel::this(),
            signal,
        };
        Arc::new(Stream::new(Some(direct)))
    }

    fn new(direct: Option<Direct>) -> Stream {
        Stream {
            queue: Mutex::new(empty()),
            changed: Condvar::new(),
            direct: Mutex::new(direct),
        }
    }

    fn is_direct(&self) -> bool {
        self.direct
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn write_by_thread(
        stream: &Arc<Stream>,
        name: &str,
        kernel: Kernel,
        signal: i32,
        streams: Option<Streams>,
    ) -> io::Result<()> {
        let writer = Arc::clone(stream);
        quiet_thread_for(kernel, name, WRITER_STACK, move |kernel| {
            writer.write_all(streams, || kernel.signal(signal));
        })
        .map(drop)
    }

    /// Writes as much as Linux takes at once, if no thread has been made; returns how many bytes. If
    /// that is not all, the thread is there for the rest.
    fn write_at_once(stream: &Arc<Stream>, bytes: &[u8]) -> usize {
        let mut direct = stream.direct.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &mut *direct else {
            return 0;
        };
        let done = open.streams.write_at_once(bytes);
        let done = done.unwrap_or_else(|error| unwritable(&error));
        if done < bytes.len()
            && let Some(open) = direct.take()
        {
            Stream::hand_over(stream, open);
        }
        done
    }

    /// Has the thread write everything from now on.
    fn need_thread(stream: &Arc<Stream>) {
        let direct = stream
            .direct
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(open) = direct {
            Stream::hand_over(stream, open);
        }
    }

    fn hand_over(stream: &Arc<Stream>, open: Direct) {
        let Direct {
            streams,
            kernel,
            signal,
        } = open;
        let made = Stream::write_by_thread(stream, "output", kernel, signal, Some(streams));
        if let Err(error) = made {
            let error = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
            unwritable(&streams::Error::Refused(error));
        }
    }

    /// Writes the bytes of the queue, for ever; those of the console to their streams, if it has
    /// several.
    fn write_all(&self, mut streams: Option<Streams>, room: impl Fn()) {
        let mut piece = [0; PIECE];
        let mut queue = self.queue();
        loop {
            let (class, bytes) = queue.next();
            let len = bytes.len().min(PIECE);
            if len == 0 {
                self.changed.notify_all();
                queue = self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            piece[..len].copy_from_slice(&bytes[..len]);
            drop(queue);
            let piece = &piece[..len];
            let written = match (class, &mut streams) {
                (Class::Console, Some(streams)) => streams.write(piece),
                (Class::Console, None) => {
                    write_all(stdout(), piece).map_err(streams::Error::Refused)
                }
                // A line of the log that cannot be written is lost.
                (Class::Kernel | Class::Debug, streams) => {
                    if let Some(streams) = streams {
                        streams.end_line();
                    }
                    let _ = write_all(stderr(), piece);
                    Ok(())
                }
            };
            // Without its output the system is of no use.
            if let Err(error) = written {
                unwritable(&error);
            }
            UNWRITTEN.fetch_sub(len, SeqCst);
            queue = self.queue();
            if queue.take(len) {
                room();
            }
        }
    }

    fn put<R>(
        &self,
        put: impl FnOnce(&mut Queue<ROOM>) -> R,
        bytes: impl FnOnce(&R) -> usize,
    ) -> R {
        let mut queue = self.queue();
        let done = put(&mut queue);
        UNWRITTEN.fetch_add(bytes(&done), SeqCst);
        drop(queue);
        self.changed.notify_all();
        done
    }
}

impl Output {
    /// Starts the writers, which send `signal` to the calling thread when there is room again.
    /// `streams`: what the console gets are two streams.
    pub(crate) fn new(signal: i32, streams: bool) -> io::Result<Output> {
        let console = match streams {
            true => Stream::direct(signal),
            false => Stream::start(signal, "output")?,
        };
        // One program's streams have one way out as it is.
        let log = if streams || same_file() {
            Arc::clone(&console)
        } else {
            Stream::start(signal, "log")?
        };
        Ok(Output { console, log })
    }

    /// Takes bytes for the console; returns how many.
    pub(crate) fn write(&self, bytes: &[u8]) -> usize {
        let done = Stream::write_at_once(&self.console, bytes);
        let rest = &bytes[done..];
        if rest.is_empty() {
            return done;
        }
        let put = |queue: &mut Queue<ROOM>| queue.put(Class::Console, rest);
        done + self.console.put(put, |taken| *taken)
    }

    /// Returns the number of console bytes yet to be written.
    pub(crate) fn unwritten(&self) -> usize {
        match self.console.is_direct() {
            true => 0,
            false => self.console.queue().unsettled(),
        }
    }

    /// Takes a line of the log; returns false if there is no room.
    pub(crate) fn log(&self, class: Class, line: &[u8]) -> bool {
        Stream::need_thread(&self.log);
        let put = |queue: &mut Queue<ROOM>| queue.put_line(class, line);
        self.log
            .put(put, |taken| if *taken { line.len() + 1 } else { 0 })
    }
}

/// Waits until all output is written, or the readers have had their time. Safe in signal handlers.
pub(crate) fn settle() {
    let start = Instant::now();
    while UNWRITTEN.load(SeqCst) > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Writes all of `bytes`, waiting for a slow reader. Safe in signal handlers.
pub(crate) fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Writes as much as can be without waiting; returns how many bytes. What is wrong, who may wait finds
/// out.
pub(crate) fn write_at_once(to: BorrowedFd<'_>, bytes: &[u8]) -> usize {
    /// Where the file is.
    const HERE: u64 = u64::MAX;
    let mut done = 0;
    while done < bytes.len() {
        let rest = [IoSlice::new(&bytes[done..])];
        match pwritev2(to, &rest, HERE, ReadWriteFlags::NOWAIT) {
            Ok(0) => break,
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    done
}

/// Ends the system whose output cannot be written; a reader that has gone needs no words.
fn unwritable(error: &streams::Error) -> ! {
    let text = match *error {
        streams::Error::Refused(Errno::PIPE) => String::new(),
        streams::Error::Refused(errno) => {
            let error = io::Error::from(errno);
            format!("singularity: cannot write the output: {error}\n")
        }
        streams::Error::NoFrame(number) => {
            format!("singularity: the output is none of two streams: it names stream {number}\n")
        }
    };
    if !text.is_empty() {
        complain(text.as_bytes());
    }
    crate::end(NOBODY_READS)
}

/// Writes the last words of a system that has failed to standard error, if that can be written to.
/// Safe in signal handlers.
pub(crate) fn last_words(text: &[u8]) {
    settle();
    complain(text);
}

/// Writes to standard error what no queue may delay, if that can be written to. Safe in signal
/// handlers.
fn complain(text: &[u8]) {
    let to = stderr();
    let patience = rustix::time::Timespec {
        tv_sec: PATIENCE.as_secs() as i64,
        tv_nsec: 0,
    };
    if let Ok(1..) = poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&patience)) {
        let _ = write_all(to, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_queue_is_all_zeros() {
        let new = format!("{:?}", Queue::<ROOM>::new());
        assert!(format!("{:?}", empty()) == new);
    }
}
