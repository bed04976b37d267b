//! What other processes have to be asked, and may be slow to answer or never do: asked in a thread
//! of its own, so that no viewer waits for it.
//!
//! Invariants:
//! - One thread at most asks, however many want to know and however long the answer takes.
//! - Who wants to know waits for a bounded time, and only for an answer that was not asked for
//!   before: one that hangs delays a single look.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use sing_sdk::sync::Mutex;
use sing_sdk::thread;
use sing_sdk::time::{sleep, uptime};

/// Between two looks whether the answer is there.
const MOMENT: Duration = Duration::from_millis(2);

/// An answer, and when it came.
pub struct Answer<T> {
    pub at: Duration,
    pub of: T,
}

/// What is asked again and again.
pub struct Background<W, T> {
    /// Held by the thread that asks.
    asker: Mutex<W>,
    ask: fn(&mut W) -> T,
    /// How old an answer may be.
    age: Duration,
    busy: AtomicBool,
    last: Mutex<Option<Arc<Answer<T>>>>,
}

/// Ends the one turn that there is, whether or not the thread of it has begun.
struct Turn<W, T>(Arc<Background<W, T>>);

impl<W, T> Drop for Turn<W, T> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

impl<W: Send + 'static, T: Send + Sync + 'static> Background<W, T> {
    pub fn new(asker: W, age: Duration, ask: fn(&mut W) -> T) -> Arc<Background<W, T>> {
        Arc::new(Background {
            asker: Mutex::new(asker),
            ask,
            age,
            busy: AtomicBool::new(false),
            last: Mutex::new(None),
        })
    }

    /// Asks if the last answer is old and nobody is asking; whether there is something to wait for.
    pub fn begin(self: &Arc<Self>) -> bool {
        let old = |last: &Arc<Answer<T>>| uptime().saturating_sub(last.at) >= self.age;
        if !self.last().as_ref().is_none_or(old) || self.busy.swap(true, Ordering::Acquire) {
            return false;
        }
        let turn = Turn(Arc::clone(self));
        let run = move || {
            let this = &turn.0;
            let of = (this.ask)(&mut this.asker.lock());
            *this.last.lock() = Some(Arc::new(Answer { at: uptime(), of }));
        };
        match thread::spawn(run) {
            Ok(_) => true,
            Err(error) => {
                sing_sdk::log!("no thread to ask: {error}");
                false
            }
        }
    }

    /// Waits for what was begun, until a time at most.
    pub fn settle(&self, end: Duration) {
        while self.busy.load(Ordering::Acquire) && uptime() < end {
            sleep(MOMENT);
        }
    }

    /// The last answer, if there was one.
    pub fn last(&self) -> Option<Arc<Answer<T>>> {
        self.last.lock().clone()
    }
}
