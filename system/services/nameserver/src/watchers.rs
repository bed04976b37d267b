//! Watchers: clients that asked with Notify to be told of changes.
//!
//! A watcher that does not answer costs no more than one that does: it gets one message for all
//! changes since.

use crate::request::Watcher as Channel;
use crate::server::Source;
use alloc::collections::BTreeMap;
use nameserver::next_number;
use nameserver::watched::Watched;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

enum State {
    Idle(Channel),
    /// Told of a change, and not yet ready for the next.
    Telling(NotifyContract::Imp<NotifyContract::Telling>),
    Gone,
}

struct Watcher {
    watched: Watched,
    state: State,
    /// There was a change since the last message.
    changed: bool,
}

impl Watcher {
    fn advance(&mut self) {
        self.state = match core::mem::replace(&mut self.state, State::Gone) {
            State::Idle(channel) if core::mem::take(&mut self.changed) => {
                State::Telling(channel.send_changed())
            }
            other => other,
        };
    }
}

/// All watchers.
#[derive(Default)]
pub struct Watchers {
    all: BTreeMap<u32, Watcher>,
    last: u32,
}

impl Watchers {
    /// Adds a watcher; returns it if it cannot be watched itself.
    pub fn add(&mut self, watched: Watched, channel: Channel, set: &WaitSet) -> Option<Channel> {
        self.last = next_number(self.last, |id| self.all.contains_key(&id));
        // It may become ready for more, or close.
        if set
            .add(&channel, Source::Watcher(self.last).number())
            .is_err()
        {
            return Some(channel);
        }
        self.all.insert(
            self.last,
            Watcher {
                watched,
                state: State::Idle(channel),
                changed: false,
            },
        );
        None
    }

    /// Receives from a watcher whose channel is ready. If it has closed, returns what it watched.
    pub fn hear(&mut self, id: u32) -> Option<Watched> {
        let watcher = self.all.get_mut(&id)?;
        if let State::Telling(channel) = core::mem::replace(&mut watcher.state, State::Gone)
            && let Ok(channel) = channel.recv_ack()
        {
            watcher.state = State::Idle(channel);
            watcher.advance();
        }
        if !matches!(watcher.state, State::Gone) {
            return None;
        }
        self.all.remove(&id).map(|w| w.watched)
    }

    /// Tells those that watch this path of a change there.
    pub fn changed(&mut self, at: &str) {
        self.tell(|watched| watched.covers(at));
    }

    /// Tells those that watch something below this path of a change anywhere there.
    pub fn changed_below(&mut self, at: &str) {
        self.tell(|watched| watched.reaches(at));
    }

    fn tell(&mut self, of: impl Fn(&Watched) -> bool) {
        for watcher in self.all.values_mut().filter(|w| of(&w.watched)) {
            watcher.changed = true;
            watcher.advance();
        }
    }

    /// Whether any watches something below this path.
    pub fn reach(&self, at: &str) -> bool {
        self.all.values().any(|w| w.watched.reaches(at))
    }
}
