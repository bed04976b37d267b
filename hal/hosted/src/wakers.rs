//! The thread that wakes tasks of the host: the kernel's must not run code of theirs, whose stack it
//! may be on.
//!
//! Invariants:
//! - There is no such thread before the first task waits.
//! - Each waker that was put in is called, whatever those before it did, unless the thread could not
//!   be started: then the task was told at once, and looks again when its executor polls it next.
//! - The system's thread never waits for this one, which may be the one that drops the system.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

    /// Sees to it that the thread is there; whether it is.
    pub(crate) fn start(self: &std::sync::Arc<Self>) -> bool {
        let mut state = self.state();
        if state.ended {
            return false;
        }
        if state.thread.is_none() {
            let own = std::sync::Arc::clone(self);
            let builder = thread::Builder::new().name("system wakers".into());
            state.thread = builder.spawn(move || own.run()).ok();
        }
        state.thread.is_some()
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            if let Some(waker) = state.due.pop_front() {
                drop(state);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                    // The hook has reported it; what it carries may panic again when it is dropped.
                    std::mem::forget(panic);
                }
                state = self.state();
            } else if state.ended {
                return;
            } else {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Ends the thread, after it has called all wakers. Does not wait for that.
    pub(crate) fn end(&self) {
        self.state().ended = true;
        self.changed.notify_one();
    }

    /// Waits until the thread, which was told to, has ended; unless it is the calling one, which
    /// ends when the waker that it calls has returned.
    pub(crate) fn join(&self) {
        let thread = self.state().thread.take();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};
    use std::task::Wake;

    /// Says that it was called, and panics then if it is to.
    struct Says(mpsc::Sender<bool>, bool);

    impl Wake for Says {
        fn wake(self: Arc<Self>) {
            self.0.send(self.1).unwrap();
            assert!(!self.1, "a waker panics, as it is to");
        }
    }

    #[test]
    fn a_waker_that_panics_keeps_none_from_being_called() {
        let wakers = Arc::new(Wakers::default());
        let (tell, told) = mpsc::channel();
        assert!(wakers.start());
        for panics in [true, false, true, false] {
            wakers.wake(Arc::new(Says(tell.clone(), panics)).into());
            let time = std::time::Duration::from_secs(10);
            assert_eq!(told.recv_timeout(time), Ok(panics));
        }
        wakers.end();
        wakers.join();
        assert!(!wakers.start(), "wakers are called after the end");
    }
}
