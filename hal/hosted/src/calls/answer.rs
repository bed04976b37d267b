//! Answers to calls of the host program, while they are waited for: by a thread, which runs the system
//! meanwhile if no other does, or by a task.

use super::{Message, Port};
use crate::HostedHal;
use crate::wakers::Wakers;
use sing_calls::Outcome;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long a thread looks for its answer before it sleeps: a call that is shorter costs no turn of
/// Linux's scheduler.
const LOOKS: Duration = Duration::from_micros(6);
/// How long it gives a kernel that is awake to see the request by itself, before it interrupts it.
const GRACE: Duration = Duration::from_micros(5);

/// What came back for a request.
#[derive(Debug)]
pub struct Reply {
    /// What became of it; `None`: the system has ended.
    pub outcome: Option<Outcome>,
    /// The bytes of the answer, or the reason.
    pub bytes: Vec<u8>,
    /// The message that has come at an endpoint.
    pub message: Option<Message>,
}

/// A request that is to be answered.
pub struct Pending {
    pub(super) place: Arc<Place>,
    pub(super) port: Arc<Port>,
    pub(super) id: u64,
    /// The kernel has yet to be told of the request.
    pub(super) untold: bool,
}

/// Where an answer is put down.
#[derive(Default)]
pub(super) struct Place {
    done: AtomicBool,
    state: Mutex<Waiter>,
}

#[derive(Default)]
struct Waiter {
    reply: Option<Reply>,
    thread: Option<Thread>,
    waker: Option<Waker>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    fn take(&self) -> Option<Reply> {
        locked(&self.state).reply.take()
    }

    pub(super) fn put(&self, reply: Reply, wakers: &Wakers) {
        let mut state = locked(&self.state);
        state.reply = Some(reply);
        let (thread, waker) = (state.thread.take(), state.waker.take());
        drop(state);
        // Behind the lock, which whoever looks for this takes next.
        self.done.store(true, SeqCst);
        if let Some(thread) = thread {
            thread.unpark();
        }
        if let Some(waker) = waker {
            wakers.wake(waker);
        }
    }
}

impl Pending {
    /// The number of the request.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer.
    #[must_use]
    pub fn wait(&mut self) -> Reply {
        if self.port.is_elsewhere() {
            return Reply::ended();
        }
        if !self.place.done.load(SeqCst) {
            self.look();
        }
        loop {
            let mut state = locked(&self.place.state);
            if let Some(reply) = state.reply.take() {
                return reply;
            }
            state.thread = Some(std::thread::current());
            drop(state);
            std::thread::park();
        }
    }

    /// Looks for the answer for a while.
    fn look(&mut self) {
        let start = Instant::now();
        while !self.place.done.load(SeqCst) {
            // Nobody runs the kernel, which has something to do: perhaps this.
            if self.port.baton().is_wanted()
                && let Some(hosted) = self.port.lend()
            {
                self.run(hosted);
            }
            let looked = start.elapsed();
            if looked > GRACE {
                self.tell();
            }
            if looked > LOOKS {
                break;
            }
            core::hint::spin_loop();
        }
    }

    /// Runs the kernel on this thread, which was lent, for the answer; unless that has come before
    /// this thread was the one to run it: it would not be told of it any more, and could be kept there
    /// by others for ever.
    fn run(&self, hosted: &HostedHal) {
        match self.place.done.load(SeqCst) {
            true => self.port.baton().give(),
            false => self.port.run(hosted, self.id),
        }
    }

    /// Tells the kernel of the request, if that has not been done and it does not know yet.
    fn tell(&mut self) {
        if std::mem::take(&mut self.untold) && self.port.is_due() {
            self.port.interrupt();
        }
    }

    /// The same, if the kernel sleeps.
    pub(super) fn tell_sleeper(&mut self) {
        if self.port.baton().rests() {
            self.tell();
        }
    }

    /// Looks for the answer; has `context` woken when it has come.
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Reply> {
        if self.port.is_elsewhere() {
            return Poll::Ready(Reply::ended());
        }
        self.tell();
        if let Some(reply) = self.place.take() {
            return Poll::Ready(reply);
        }
        // What is the host's own runs without the lock, which the kernel's thread takes.
        let waker = context.waker().clone();
        let mut state = locked(&self.place.state);
        let old = match state.reply.take() {
            Some(reply) => return Poll::Ready(reply),
            None => state.waker.replace(waker),
        };
        drop(state);
        drop(old);
        if !self.port.wakers().start() {
            // The system has ended, with an answer; or Linux has no thread for wakers, and the task
            // is to look again.
            if let Some(reply) = self.place.take() {
                return Poll::Ready(reply);
            }
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Reply {
    pub(super) fn ended() -> Reply {
        Reply {
            outcome: None,
            bytes: Vec::new(),
            message: None,
        }
    }
}
