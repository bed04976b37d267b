//! The thread of a disk: does what may wait for the host, in the order of the requests.

use crate::signals;
use crate::thread::Kernel;
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most bytes that are written at once before the host has them on the medium. Linux lets a
/// writer wait that is far ahead of the medium, and that must not be the kernel's thread.
pub(super) const AHEAD: u64 = 64 << 20;

/// Bytes of writes that wait, and requests. A driver that keeps to one queue does not come near;
/// what was asked before a reset waits too.
const WAITING: usize = 64 << 20;
const MOST_JOBS: usize = 512;

/// Work for the disk's thread.
pub(super) enum Work {
    Read {
        at: u64,
        len: usize,
    },
    Write {
        at: u64,
        data: Vec<u8>,
    },
    Flush,
    /// Places and lengths that are to be forgotten.
    Discard(Vec<(u64, u64)>),
}

impl Work {
    /// Bytes that it keeps.
    fn bytes(&self) -> usize {
        match self {
            Work::Write { data, .. } => data.len(),
            Work::Read { .. } | Work::Flush | Work::Discard(_) => 0,
        }
    }
}

/// What the disk's thread does next.
enum Next<T> {
    /// A request.
    Job(Job<T>),
    /// Further turns of what the queue holds.
    Resume,
}

/// A request, and whom it is given back to.
pub(super) struct Job<T> {
    pub(super) work: Work,
    pub(super) ticket: T,
}

/// What became of a request that was given back.
pub(super) struct Finished {
    /// Whether there was still somebody to tell: the device has not been reset since.
    pub(super) told: bool,
    /// Whether an interrupt is now to be delivered.
    pub(super) tell: bool,
}

/// A device of whose requests a thread does those that may wait; `T` names one.
pub(super) trait Front<T>: Send + Sync {
    /// Gives a request back, with what was read or an error. Nothing happens if the device has been
    /// reset meanwhile.
    fn finish(&self, ticket: T, done: &io::Result<Vec<u8>>) -> Finished;

    /// Serves one turn more. Returns whether an interrupt is now to be delivered, and whether there
    /// is still more.
    fn resume(&self) -> (bool, bool);
}

/// What is to be done, in order.
struct Queue<T> {
    list: VecDeque<Next<T>>,
    /// Bytes of the writes among it.
    bytes: usize,
    /// Whether a resumption is among it.
    resuming: bool,
}

/// The disk's jobs, at most [`MOST_JOBS`], one resumption and one flush as the driver goes.
pub(super) struct Jobs<T> {
    queue: Mutex<Queue<T>>,
    more: Condvar,
    /// Jobs that have been done.
    pub(super) done: AtomicU64,
    /// Whether something was written that no flush has made safe.
    pub(super) dirty: AtomicBool,
    /// Bytes written at once since the host last had all of them on the medium.
    pub(super) ahead: AtomicU64,
    /// How often the host has been asked to have all of them there, and blocks were given back.
    pub(super) syncs: AtomicU64,
}

impl<T> Default for Jobs<T> {
    fn default() -> Jobs<T> {
        Jobs {
            queue: Mutex::new(Queue {
                list: VecDeque::new(),
                bytes: 0,
                resuming: false,
            }),
            more: Condvar::new(),
            done: AtomicU64::new(0),
            dirty: AtomicBool::new(false),
            ahead: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        }
    }
}

impl<T> Jobs<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request may wait, one that is to write at most so many bytes. It can until the
    /// next one is put: that is done with the device's state locked.
    pub(super) fn have_room(&self, bytes: usize) -> bool {
        let queue = self.lock();
        queue.bytes.saturating_add(bytes) <= WAITING && queue.list.len() < MOST_JOBS
    }

    /// Puts it behind the others.
    pub(super) fn put(&self, job: Job<T>) {
        let mut queue = self.lock();
        queue.bytes += job.work.bytes();
        queue.list.push_back(Next::Job(job));
        self.more.notify_one();
    }

    /// Puts a resumption behind the others, unless there is one.
    pub(super) fn resume(&self) {
        let mut queue = self.lock();
        if !std::mem::replace(&mut queue.resuming, true) {
            queue.list.push_back(Next::Resume);
            self.more.notify_one();
        }
    }

    fn next(&self) -> Next<T> {
        let mut queue = self.lock();
        loop {
            if let Some(next) = queue.list.pop_front() {
                match &next {
                    Next::Job(job) => queue.bytes -= job.work.bytes(),
                    Next::Resume => queue.resuming = false,
                }
                return next;
            }
            let woken = self.more.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Does the jobs.
pub(super) fn work<T>(jobs: &Jobs<T>, file: &File, front: &impl Front<T>, kernel: Kernel) {
    let mut lost = None;
    loop {
        match jobs.next() {
            Next::Job(job) => {
                if one(jobs, file, front, &mut lost, job) {
                    kernel.signal(signals::DEVICE);
                }
            }
            Next::Resume => resume(front, kernel),
        }
    }
}

/// Does one. Returns whether an interrupt is now to be delivered.
fn one<T>(
    jobs: &Jobs<T>,
    file: &File,
    front: &impl Front<T>,
    lost: &mut Option<io::Error>,
    Job { work, ticket }: Job<T>,
) -> bool {
    let flush = matches!(work, Work::Flush);
    if flush || matches!(work, Work::Discard(_)) {
        jobs.syncs.fetch_add(1, SeqCst);
    }
    let done = run(work, file);
    let done = settle(jobs, flush, done, lost, || file.sync_data());
    // Before the request is given back: the model then knows that nothing waits any more.
    jobs.done.fetch_add(1, SeqCst);
    let Finished { told, tell } = front.finish(ticket, &done);
    if flush && !told {
        keep(done.err(), lost);
    }
    tell
}

/// Does the next job in the thread's place; the number of those behind it.
#[cfg(test)]
pub(super) fn work_once<T>(jobs: &Jobs<T>, file: &File, front: &impl Front<T>) -> usize {
    match jobs.next() {
        Next::Job(job) => drop(one(jobs, file, front, &mut None, job)),
        Next::Resume => drop(front.resume()),
    }
    jobs.lock().list.len()
}

/// The device was reset while a flush was under way: nobody has heard of its error, which is the
/// next flush's.
fn keep(untold: Option<io::Error>, lost: &mut Option<io::Error>) {
    if untold.is_some() {
        *lost = untold;
    }
}

/// Keeps account of what is on the medium when a request has been done; what becomes of it.
/// `lost`: an error of the medium that no flush has told yet, as Linux tells it only once.
fn settle<K, T>(
    jobs: &Jobs<K>,
    flush: bool,
    mut done: io::Result<T>,
    lost: &mut Option<io::Error>,
    sync: impl FnOnce() -> io::Result<()>,
) -> io::Result<T> {
    if flush {
        if let Some(error) = lost.take() {
            done = done.and(Err(error));
        }
        match done {
            Ok(_) => jobs.ahead.store(0, SeqCst),
            Err(_) => jobs.dirty.store(true, SeqCst),
        }
    } else if jobs.ahead.load(SeqCst) > AHEAD {
        // Whoever writes on and on goes as fast as the medium. An error is the next flush's.
        jobs.syncs.fetch_add(1, SeqCst);
        match sync() {
            Ok(()) => jobs.ahead.store(0, SeqCst),
            Err(error) => {
                *lost = Some(error);
                jobs.dirty.store(true, SeqCst);
            }
        }
    }
    done
}

/// Serves what the queue holds, a turn at a time, so that a reset comes in between.
fn resume<T>(front: &impl Front<T>, kernel: Kernel) {
    loop {
        let (tell, more) = front.resume();
        if tell {
            kernel.signal(signals::DEVICE);
        }
        if !more {
            return;
        }
    }
}

fn run(work: Work, file: &File) -> io::Result<Vec<u8>> {
    match work {
        Work::Read { at, len } => {
            let mut data = vec![0; len];
            file.read_exact_at(&mut data, at)?;
            Ok(data)
        }
        Work::Write { at, data } => file.write_all_at(&data, at).map(|()| Vec::new()),
        Work::Flush => file.sync_data().map(|()| Vec::new()),
        Work::Discard(ranges) => {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            for (at, len) in ranges {
                // A host that cannot forget need not: the contents are nobody's any more.
                let _ = fallocate(file, hole, at, len);
            }
            Ok(Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_medium_is_told_by_the_next_flush() {
        let (jobs, mut lost) = (Jobs::<()>::default(), None);
        jobs.ahead.store(AHEAD + 1, SeqCst);
        let failing = || Err(io::ErrorKind::StorageFull.into());
        // The write that finds it out is done; it is in the host's memory.
        assert!(settle(&jobs, false, Ok(()), &mut lost, failing).is_ok());
        assert!(jobs.dirty.load(SeqCst));
        // Linux has told it, and says that all is well now.
        assert!(settle(&jobs, false, Ok(()), &mut lost, || Ok(())).is_ok());
        jobs.dirty.store(false, SeqCst);
        let sync = || unreachable!("a flush has synced");
        assert!(settle(&jobs, true, Ok(()), &mut lost, sync).is_err());
        assert!(jobs.dirty.load(SeqCst));
        assert!(settle(&jobs, true, Ok(()), &mut lost, sync).is_ok());
    }

    #[test]
    fn an_error_that_a_reset_kept_from_its_flush_is_told_by_the_next_one() {
        let (jobs, mut lost) = (Jobs::<()>::default(), None);
        let sync = || unreachable!("a flush has synced");
        let failing: io::Result<()> = Err(io::ErrorKind::StorageFull.into());
        let done = settle(&jobs, true, failing, &mut lost, sync);
        keep(done.err(), &mut lost);
        // The next one is run, and fails; that after it does not.
        assert!(jobs.dirty.load(SeqCst));
        let done = settle(&jobs, true, Ok(()), &mut lost, sync);
        assert!(done.is_err());
        // One that goes well takes nothing away.
        lost = done.err();
        keep(None, &mut lost);
        assert!(settle(&jobs, true, Ok(()), &mut lost, sync).is_err());
        assert!(settle(&jobs, true, Ok(()), &mut lost, sync).is_ok());
    }
}
