//! Sockets of the host: the device by which the system's network uses them. Its messages are those
//! of `sing-sockets`.
//!
//! It looks like a virtio device with two queues: blocks that the system sends, and blocks that the
//! device fills as soon as it has something. None of the calls to the host waits, and most are made
//! on the kernel's thread, as to hand a message to another thread costs as much as to send it: what
//! is sent is served at once if it takes few calls, and what the host has is looked for when the
//! kernel has nothing to run ([`Idle`]), for all sockets together. Then the kernel's thread itself
//! waits for the host.
//!
//! A thread of the device's own does the rest: what takes longer, and what comes while the kernel is
//! at work for long. While there is traffic it looks once in a [`TICK`]; when there has been none
//! for a while it waits for the host.
//!
//! Invariants:
//! - The kernel's thread never waits for the device's: where that is using the [`Sockets`], or has
//!   something to serve before, it is given the block.
//! - What the host has is never left: when the kernel's thread does not wait for it, the device's
//!   does, or looks within a [`TICK`].
//! - What waits is bounded by the queue and [`WAITING`]: when little waits, a block is copied and
//!   given back at once; otherwise it stays where it is until the thread serves it. So the system
//!   waits for few copies, whatever its queue holds. A block that is too large ends the session.
//! - A reset closes every socket: a driver that ends leaves nothing on the host.

use super::mmio::{Model, Ticket, Transport};
use super::queue::{Chain, bytes};
use super::sockets_host::{QUICK, Sockets};
use super::sockets_policy::HostSockets;
use super::sockets_stream::Batch;
use super::{descriptors, p9};
use crate::signals;
use crate::thread::{Kernel, quiet_thread};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use sing_sockets::{BLOCK, DEVICE, RECEIVE, SEND};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stack of the device's thread.
const STACK: usize = 128 << 10;
/// Bytes that wait, as copies, before a block stays with the device until it is served.
const WAITING: usize = 256 << 10;
/// The most sockets.
const MOST: u64 = 4096;
/// Descriptors that are left to all else but directories.
const OTHERS: u64 = 160;
/// Of the descriptors of a process that may have only few, the part that is for sockets.
const PART: u64 = 8;
/// How long the host may have something while the kernel is at work, before the thread looks.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};
/// Ticks without traffic before the thread waits for the host.
const QUIET: u32 = 20;

/// Why there is no device.
#[derive(Debug)]
pub struct SocketsError(io::Error);

impl fmt::Display for SocketsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = &self.0;
        write!(
            f,
            "sockets of the host: {error}; `--net none` goes without them"
        )
    }
}

impl std::error::Error for SocketsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// What the thread does next.
enum Job {
    /// Serve a block of messages, which was given back.
    Serve(Vec<u8>),
    /// Copy a block of messages, give it back and serve it.
    Take(Ticket),
    /// Close all.
    Reset,
}

#[derive(Default)]
struct Queue {
    list: VecDeque<Job>,
    bytes: usize,
}

/// What waits for the thread, in order; and the descriptor by which it is woken, if it sleeps: to
/// wake one that does not, costs a call of the host's and a turn of the thread's that finds nothing.
struct Jobs {
    queue: Mutex<Queue>,
    /// Set by the thread before it looks for the last time whether there is a job, and sleeps.
    sleeps: AtomicBool,
    /// Set beside it when it sleeps without end.
    deep: AtomicBool,
    /// The kernel's thread waits for the host: the other need not look.
    watched: AtomicBool,
    /// How often the kernel's thread has found something.
    found: AtomicU32,
    wake: OwnedFd,
}

impl Jobs {
    fn new(wake: OwnedFd) -> Jobs {
        Jobs {
            queue: Mutex::default(),
            sleeps: AtomicBool::new(false),
            deep: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            found: AtomicU32::new(0),
            wake,
        }
    }

    fn wake(&self) {
        // It fails only when it was written to so often that the thread wakes all the same.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Wakes the thread if it sleeps.
    fn rouse(&self) {
        if self.sleeps.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes the thread if it would not look by itself.
    fn rouse_deep(&self) {
        if self.deep.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    fn add(&self, job: Job) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match &job {
            Job::Serve(message) => queue.bytes += message.len(),
            Job::Take(_) => {}
            // Blocks that were to be given back are the driver's no more.
            Job::Reset => *queue = Queue::default(),
        }
        queue.list.push_back(job);
        drop(queue);
        self.rouse();
    }

    fn waiting(&self) -> usize {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.bytes
    }

    fn is_empty(&self) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.list.is_empty()
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let job = queue.list.pop_front()?;
        if let Job::Serve(message) = &job {
            queue.bytes -= message.len();
        }
        Some(job)
    }
}

/// How many sockets there may be beside so many directories of the host.
fn most_sockets(directories: usize) -> usize {
    let theirs = (directories * p9::more_fids(directories)).max(p9::MOST_DESCRIPTORS);
    let others = OTHERS + theirs as u64;
    let have = descriptors::up_to(MOST + others);
    let left = have.saturating_sub(others).max(have / PART);
    left.min(MOST) as usize
}

/// The sockets, and what they have for the system, until it has room.
struct Served {
    sockets: Sockets,
    batch: Batch,
}

impl Served {
    /// Hears what the host says, and gives the system what there is for it: whether there was
    /// anything, and whether an interrupt is now to be delivered.
    fn turn(&mut self, transport: &Transport) -> (bool, bool) {
        let found = self.sockets.hear();
        if self.batch.is_empty() {
            self.sockets.fill(&mut self.batch);
        }
        if self.batch.is_empty() {
            return (found, false);
        }
        let bytes = self.batch.bytes();
        let fill = |chain: &mut Chain| chain.fill(bytes) as u32;
        match transport.fill(RECEIVE as usize, fill) {
            Some(tell) => {
                self.batch.clear();
                (true, tell)
            }
            None => (found, false),
        }
    }

    /// Whether the next turn has something for the system, if that has room.
    fn has_something(&self) -> bool {
        self.batch.is_empty() && self.sockets.has_something()
    }
}

/// What the kernel's thread does for the device when it has nothing to run.
pub(crate) struct Idle {
    jobs: Arc<Jobs>,
    served: Arc<Mutex<Served>>,
    transport: Arc<Transport>,
    host: RawFd,
}

/// What the kernel's thread is to do then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Deliver interrupts.
    Deliver,
    /// Sleep until the host has something, too.
    Watch,
    /// Sleep: the device's thread is at work.
    Sleep,
}

impl Idle {
    /// Looks what the host has.
    pub(crate) fn look(&self) -> Next {
        let Ok(mut served) = self.served.try_lock() else {
            return Next::Sleep;
        };
        if !self.jobs.is_empty() {
            return Next::Sleep;
        }
        let (found, tell) = served.turn(&self.transport);
        if found {
            self.jobs.found.fetch_add(1, Ordering::Relaxed);
        }
        if tell { Next::Deliver } else { Next::Watch }
    }

    /// What becomes readable when the host has something.
    pub(crate) fn host(&self) -> RawFd {
        self.host
    }

    /// The kernel's thread is going to wait for that, or has waited.
    pub(crate) fn watches(&self, watches: bool) {
        self.jobs.watched.store(watches, Ordering::SeqCst);
    }
}

/// Starts the device's thread. There are so many directories of the host beside it.
pub(super) fn start(
    policy: HostSockets,
    directories: usize,
    transport: &Arc<Transport>,
) -> Result<(Box<dyn Model>, Idle), SocketsError> {
    let refused = |error: rustix::io::Errno| SocketsError(error.into());
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let wake = eventfd(0, flags).map_err(refused)?;
    let sockets = Sockets::new(policy, most_sockets(directories)).map_err(refused)?;
    let host = Arc::clone(sockets.epoll());
    let jobs = Arc::new(Jobs::new(wake));
    let served = Arc::new(Mutex::new(Served {
        sockets,
        batch: Batch::new(),
    }));
    let idle = Idle {
        jobs: Arc::clone(&jobs),
        served: Arc::clone(&served),
        transport: Arc::clone(transport),
        // It is the sockets', which are never gone.
        host: host.as_raw_fd(),
    };
    let (worker, transport) = (Arc::clone(&jobs), Arc::clone(transport));
    let shared = Arc::clone(&served);
    quiet_thread("sockets", STACK, move |kernel| {
        work(&worker, &shared, &host, &transport, kernel);
    })
    .map_err(SocketsError)?;
    let model = SocketsModel {
        jobs,
        served,
        bytes: Vec::new(),
        quick: 0,
    };
    Ok((Box::new(model), idle))
}

fn lock(served: &Mutex<Served>) -> MutexGuard<'_, Served> {
    served.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies a block that has stayed with the device, and gives it back; nothing if the device has been
/// reset meanwhile. Whether an interrupt is now to be delivered.
fn take(transport: &Transport, ticket: Ticket, message: &mut Vec<u8>) -> bool {
    message.clear();
    transport.finish(ticket, |chain| {
        chain.copy_to(message);
        0
    })
}

/// Serves as long as the system runs.
fn work(
    jobs: &Jobs,
    shared: &Mutex<Served>,
    host: &OwnedFd,
    transport: &Transport,
    kernel: Kernel,
) {
    // Kept for its room.
    let mut taken = Vec::new();
    let (mut quiet, mut seen) = (0, 0);
    loop {
        let mut tell = false;
        // A job is taken and served under one lock: none that comes later overtakes it.
        let mut served = lock(shared);
        while served.sockets.has_room()
            && let Some(job) = jobs.next()
        {
            match job {
                Job::Serve(message) => served.sockets.serve(&message),
                Job::Take(ticket) => {
                    tell |= take(transport, ticket, &mut taken);
                    served.sockets.serve(&taken);
                }
                Job::Reset => {
                    served.sockets.clear();
                    served.batch.clear();
                }
            }
        }
        let (found, told) = served.turn(transport);
        drop(served);
        if tell || told {
            kernel.signal(signals::DEVICE);
        }
        if found {
            quiet = 0;
        }
        jobs.sleeps.store(true, Ordering::SeqCst);
        jobs.deep.store(quiet >= QUIET, Ordering::SeqCst);
        // A job, or something for the system, that came before it was known that this thread sleeps
        // wakes nobody.
        let served = lock(shared);
        let busy = served.sockets.has_room() && !jobs.is_empty() || served.has_something();
        drop(served);
        while !busy && !wait(jobs, host, quiet >= QUIET) {
            let found = jobs.found.load(Ordering::Relaxed);
            quiet = if found == seen { quiet + 1 } else { 0 };
            seen = found;
            if quiet >= QUIET || !jobs.watched.load(Ordering::SeqCst) {
                break;
            }
        }
        jobs.sleeps.store(false, Ordering::SeqCst);
        jobs.deep.store(false, Ordering::SeqCst);
    }
}

/// Waits until the thread is woken, or the host has something; or, unless `deep`, for a tick.
/// Whether it was woken before that.
fn wait(jobs: &Jobs, host: &OwnedFd, deep: bool) -> bool {
    let mut fds = [
        PollFd::new(&jobs.wake, PollFlags::IN),
        PollFd::new(host, PollFlags::IN),
    ];
    let (fds, tick) = match deep {
        true => (&mut fds[..], None),
        false => (&mut fds[..1], Some(&TICK)),
    };
    // An interrupted wait is as good as a tick.
    let woken = poll(fds, tick).is_ok_and(|count| count > 0);
    if fds[0].revents().contains(PollFlags::IN) {
        let _ = rustix::io::read(&jobs.wake, &mut [0; 8]);
    }
    woken
}

struct SocketsModel {
    jobs: Arc<Jobs>,
    served: Arc<Mutex<Served>>,
    /// A copy of a block of many pieces that is served at once, kept for its room.
    bytes: Vec<u8>,
    /// Messages that may still be served at once, of what has been handed in together.
    quick: usize,
}

impl SocketsModel {
    /// Serves at once what can be, of a block for which nothing has to wait; whether it could be
    /// begun. What is left is the thread's.
    fn serve_now(&mut self, chain: &Chain) -> bool {
        let Ok(mut served) = self.served.try_lock() else {
            return false;
        };
        // The thread takes what it serves with the lock that is held here.
        if !served.sockets.has_room() || !self.jobs.is_empty() || self.quick == 0 {
            return false;
        }
        // The driver's messages lie in one piece, or with the last one's data in another. They are the device's
        // until it gives them back.
        let messages = chain.lying().unwrap_or_else(|| {
            chain.copy_to(&mut self.bytes);
            self.bytes.as_slice().into()
        });
        let left = served.sockets.serve_quick(messages, &mut self.quick);
        if !left.is_empty() {
            self.jobs.add(Job::Serve(left.to_vec()));
        } else if served.has_something() {
            self.jobs.rouse_deep();
        }
        true
    }
}

impl Model for SocketsModel {
    fn id(&self) -> u32 {
        DEVICE
    }

    fn queues(&self) -> usize {
        2
    }

    fn keeps(&mut self, queue: usize) -> bool {
        let keeps = queue == RECEIVE as usize;
        if keeps {
            // Something may have waited for the room.
            self.jobs.rouse_deep();
        } else {
            self.quick = QUICK;
        }
        keeps
    }

    fn most(&self) -> usize {
        BLOCK
    }

    fn serve(&mut self, chain: &mut Chain, ticket: Ticket) -> Option<u32> {
        debug_assert_eq!(ticket.queue, SEND as usize);
        if bytes(&chain.readable) > BLOCK {
            // The thread finds that it is no message.
            self.jobs.add(Job::Serve(vec![u8::MAX]));
            return Some(0);
        }
        if self.jobs.waiting() >= WAITING {
            self.jobs.add(Job::Take(ticket));
            return None;
        }
        if !self.serve_now(chain) {
            self.jobs.add(Job::Serve(chain.copy()));
        }
        Some(0)
    }

    fn reset(&mut self) {
        self.jobs.add(Job::Reset);
    }
}

#[cfg(test)]
#[path = "sockets_queue_tests.rs"]
mod tests;
