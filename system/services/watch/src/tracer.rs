//! Records messages while somebody watches them.
//!
//! Invariants:
//! - The kernel traces for this service as long as there is a [`Watcher`], and no longer.
//! - However many messages there are, one turn takes a bounded number of them.

use crate::collect;
use alloc::sync::Arc;
use core::time::Duration;
use sing_sdk::inspect::{self, Trace};
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;
use sing_sdk::time::{Timeout, uptime};
use watch::look::Look;
use watch::messages::{Cursor, Filter, KINDS, Messages};

/// The most times that the kernel is asked in one turn: some 500 events come each time, and there
/// are as many unread as 16,384.
const ASKED: usize = 40;

/// How old contracts may be, if there is one that is not known.
const CONTRACTS_AGE: Duration = Duration::from_millis(200);

/// What is recorded, if anything is.
pub struct Tracer(Mutex<State>);

#[derive(Default)]
struct State {
    watchers: u32,
    on: Option<Recording>,
}

struct Recording {
    trace: Trace,
    messages: Messages,
    /// When contracts were last asked for.
    asked: Duration,
}

impl Recording {
    fn begin() -> Result<Recording, Error> {
        let images = inspect::system()?.images;
        let mut messages = Messages::new(sing_sdk::process::id(), images);
        messages.learn_contracts(inspect::contracts()?);
        let trace = Trace::of(&KINDS)?;
        let (_, processes, channels) = collect::from_kernel()?;
        messages.learn(&processes, &channels);
        Ok(Recording {
            trace,
            messages,
            asked: uptime(),
        })
    }

    /// Takes what the kernel has traced.
    fn take(&mut self) -> Result<(), Error> {
        for _ in 0..ASKED {
            let events = self.trace.read(Timeout::NONE)?;
            if events.is_empty() {
                break;
            }
            self.messages.note(&events);
        }
        // Names are asked for while those that have them may still run.
        let strange = self.messages.take_strange();
        if strange.process {
            self.messages.learn_names(&collect::processes()?);
        }
        if strange.contract && uptime().saturating_sub(self.asked) >= CONTRACTS_AGE {
            self.asked = uptime();
            self.messages.learn_contracts(inspect::contracts()?);
        }
        Ok(())
    }

    /// The place behind all that the kernel has traced.
    fn taken(&mut self) -> Result<Cursor, Error> {
        self.take()?;
        Ok(self.messages.cursor())
    }
}

/// A viewer of messages, as long as there is one.
pub struct Watcher {
    of: Arc<Tracer>,
    filter: Filter,
    cursor: Cursor,
}

impl Default for Tracer {
    fn default() -> Tracer {
        Tracer(Mutex::new(State::default()))
    }
}

impl Tracer {
    /// Learns what a look has shown: names of processes, and who carries the page.
    pub fn learn(&self, look: &Look) {
        if let Some(recording) = &mut self.0.lock().on {
            recording.messages.learn(&look.processes, &look.channels);
        }
    }

    /// Begins to watch.
    ///
    /// # Errors
    /// Why nothing can be recorded.
    pub fn watch(self: &Arc<Self>, filter: Filter) -> Result<Watcher, Error> {
        let mut state = self.0.lock();
        let cursor = match &mut state.on {
            Some(recording) => recording.taken()?,
            None => {
                // It is kept when nothing can fail any more: without a watcher nobody would end it.
                let mut recording = Recording::begin()?;
                let cursor = recording.taken()?;
                state.on = Some(recording);
                cursor
            }
        };
        state.watchers += 1;
        Ok(Watcher {
            of: Arc::clone(self),
            filter,
            cursor,
        })
    }
}

impl Watcher {
    /// An event with what is new, if anything is.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn event(&mut self) -> Result<Option<String>, Error> {
        let mut state = self.of.0.lock();
        let recording = state.on.as_mut().ok_or(Error::BadState)?;
        recording.take()?;
        Ok(recording.messages.event(&mut self.cursor, &self.filter))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut state = self.of.0.lock();
        state.watchers -= 1;
        if state.watchers == 0 {
            state.on = None;
        }
    }
}
