//! Sockets of the host: the device by which the system's network uses them. Its messages are those
//! of `sing-sockets`.
//!
//! It looks like a virtio device with two queues: blocks that the system sends, and blocks that the
//! device fills as soon as it has something. What is sent is served at once, on the kernel's thread,
//! if it takes few calls of the host's, none of which waits: to hand an answer to another thread
//! costs as much as to send it. All else is done by a thread of the device's own; what is sent
//! waits for it, in order.
//!
//! Invariants:
//! - The kernel's thread never waits for the device's: where that is using the [`Sockets`], or has
//!   something to serve before, it is given the block.
//! - What waits is bounded by the queue and [`WAITING`]: when little waits, a block is copied and
//!   given back at once; otherwise it stays where it is until the thread serves it. So the system
//!   waits for few copies, whatever its queue holds. A block that is too large ends the session.
//! - A reset closes every socket: a driver that ends leaves nothing on the host.

use super::mmio::{Model, Ticket, Transport};
use super::queue::{Chain, bytes};
use super::sockets_host::{Sockets, WAKE};
use super::sockets_policy::HostSockets;
use super::sockets_stream::Batch;
use crate::signals;
use crate::thread::{Kernel, quiet_thread};
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sing_sockets::{BLOCK, DEVICE, RECEIVE, SEND};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stack of the device's thread.
const STACK: usize = 128 << 10;
/// Bytes that wait, as copies, before a block stays with the device until it is served.
const WAITING: usize = 256 << 10;
/// The most sockets.
const MOST: u64 = 4096;
/// Descriptors that are left to all else, directories among them.
const OTHERS: u64 = 800;
/// Of the descriptors of a process that may have only few, the part that is for sockets.
const PART: u64 = 8;
/// Events that are taken from the host in one step.
const EVENTS: usize = 256;

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
    /// Set by the thread before it tries for the last time to give a batch to the system, and waits
    /// for a block.
    lacks: AtomicBool,
    wake: OwnedFd,
}

impl Jobs {
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

/// How many sockets there may be: Linux is asked for what the user may have without privileges.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let now = limit.current.unwrap_or(u64::MAX);
    let wanted = most.min(MOST + OTHERS);
    let mut have = now;
    if now < wanted {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            have = wanted;
        }
    }
    let left = have.saturating_sub(OTHERS).max(have / PART);
    left.min(MOST) as usize
}

/// Starts the device's thread.
pub(super) fn start(
    policy: HostSockets,
    transport: &Arc<Transport>,
) -> Result<Box<dyn Model>, SocketsError> {
    let refused = |error: rustix::io::Errno| SocketsError(error.into());
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let wake = eventfd(0, flags).map_err(refused)?;
    let sockets = Sockets::new(policy, descriptors(), &wake).map_err(refused)?;
    let jobs = Arc::new(Jobs {
        queue: Mutex::default(),
        sleeps: AtomicBool::new(false),
        lacks: AtomicBool::new(false),
        wake,
    });
    let sockets = Arc::new(Mutex::new(sockets));
    let (worker, transport) = (Arc::clone(&jobs), Arc::clone(transport));
    let shared = Arc::clone(&sockets);
    quiet_thread("sockets", STACK, move |kernel| {
        work(&worker, &shared, &transport, kernel);
    })
    .map_err(SocketsError)?;
    Ok(Box::new(SocketsModel {
        jobs,
        sockets,
        bytes: Vec::new(),
    }))
}

fn lock(sockets: &Mutex<Sockets>) -> MutexGuard<'_, Sockets> {
    sockets.lock().unwrap_or_else(PoisonError::into_inner)
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
fn work(jobs: &Jobs, shared: &Mutex<Sockets>, transport: &Transport, kernel: Kernel) {
    let host = Arc::clone(lock(shared).epoll());
    let mut batch = Batch::new();
    let mut events = Vec::with_capacity(EVENTS);
    // Kept for its room.
    let mut taken = Vec::new();
    loop {
        let mut tell = false;
        // A job is taken and served under one lock: none that comes later overtakes it.
        let mut sockets = lock(shared);
        while sockets.has_room()
            && let Some(job) = jobs.next()
        {
            match job {
                Job::Serve(message) => sockets.serve(&message),
                Job::Take(ticket) => {
                    tell |= take(transport, ticket, &mut taken);
                    sockets.serve(&taken);
                }
                Job::Reset => {
                    sockets.clear();
                    batch.clear();
                }
            }
        }
        if batch.is_empty() {
            sockets.fill(&mut batch);
        }
        drop(sockets);
        let mut full = !batch.is_empty();
        // Again when the system knows that there is a wait: it may have added a block just before.
        for last in [false, true] {
            if !full {
                break;
            }
            jobs.lacks.store(last, Ordering::SeqCst);
            let fill = |chain: &mut Chain| chain.fill(batch.bytes()) as u32;
            if let Some(now) = transport.fill(RECEIVE as usize, fill) {
                tell |= now;
                full = false;
                batch.clear();
            }
        }
        if tell {
            kernel.signal(signals::DEVICE);
        }
        // While a batch waits for room, only the system or the host can change anything; a job that
        // came before the system knew of the wait wakes nobody.
        jobs.sleeps.store(true, Ordering::SeqCst);
        let sockets = lock(shared);
        let come = sockets.has_room() && !jobs.is_empty();
        let busy = come || !full && sockets.has_something();
        drop(sockets);
        let wait = busy.then_some(Timespec::default());
        let woken = epoll::wait(&host, spare_capacity(&mut events), wait.as_ref());
        jobs.sleeps.store(false, Ordering::SeqCst);
        // An interrupted call is made again.
        if woken.is_err() {
            continue;
        }
        let mut sockets = lock(shared);
        for event in events.drain(..) {
            if event.data.u64() == WAKE {
                let _ = rustix::io::read(&jobs.wake, &mut [0; 8]);
            } else {
                sockets.ready(&event);
            }
        }
    }
}

struct SocketsModel {
    jobs: Arc<Jobs>,
    sockets: Arc<Mutex<Sockets>>,
    /// A copy of the block that is served at once, kept for its room.
    bytes: Vec<u8>,
}

impl SocketsModel {
    /// Serves at once what can be, of a block for which nothing has to wait; whether it could be
    /// begun. What is left is the thread's.
    fn serve_now(&mut self, chain: &Chain) -> bool {
        let Ok(mut sockets) = self.sockets.try_lock() else {
            return false;
        };
        // The thread takes what it serves with the lock that is held here.
        if !sockets.has_room() || !self.jobs.is_empty() {
            return false;
        }
        let had = sockets.has_something();
        chain.copy_to(&mut self.bytes);
        let left = sockets.serve_quick(&self.bytes);
        if !left.is_empty() {
            self.jobs.add(Job::Serve(left.to_vec()));
        } else if !had && sockets.has_something() {
            self.jobs.rouse();
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
        if keeps && self.jobs.lacks.swap(false, Ordering::SeqCst) {
            self.jobs.wake();
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
