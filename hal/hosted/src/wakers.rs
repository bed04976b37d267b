//! The thread that wakes tasks of the host: the kernel's must not run code of theirs, whose stack it
//! may be on.
//!
//! Invariants:
//! - There is no such thread before the first task waits, nor after the end of the system.
//! - Each waker that was put in is called, unless the thread could not be started; the task then
//!   was told at once, and looks again when its executor polls it next.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle};

#[derive(Default)]
pub(crate) struct Wakers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    due: VecDeque<Waker>,
    ended: bool,
    thread: Option<JoinHandle<()>>,
}

impl Wakers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a waker called soon.
    pub(crate) fn wake(&self, waker: Waker) {
        self.state().due.push_back(waker);
        self.changed.notify_one();
    }

    /// Sees to it that the thread is there.
    pub(crate) fn start(self: &std::sync::Arc<Self>) {
        let mut state = self.state();
        if state.thread.is_none() && !state.ended {
            let own = std::sync::Arc::clone(self);
            let builder = thread::Builder::new().name("system wakers".into());
            state.thread = builder.spawn(move || own.run()).ok();
        }
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            if let Some(waker) = state.due.pop_front() {
                drop(state);
                waker.wake();
                state = self.state();
            } else if state.ended {
                return;
            } else {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Ends the thread, after it has called all wakers.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_one();
        if let Some(thread) = thread {
            // A waker that panics has ended it already.
            let _ = thread.join();
        }
    }
}
