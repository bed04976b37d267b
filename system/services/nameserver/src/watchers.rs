//! Watchers: clients that asked with Notify to be told of changes.
//!
//! A watcher that does not answer costs no more than one that does: it gets one message for all
//! changes since.

use crate::server::Source;
use alloc::collections::BTreeMap;
use nameserver::next_number;
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

type Channel = NotifyContract::Imp<NotifyContract::Start>;

enum State {
    Idle(Channel),
    /// Told of a change, and not yet ready for the next.
    Telling(NotifyContract::Imp<NotifyContract::Telling>),
    Gone,
}

struct Watcher {
    path: String,
    origin: u32,
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
    /// Adds a watcher of a normalized path and everything below; returns it if it cannot be
    /// watched.
    pub fn add(
        &mut self,
        path: String,
        origin: u32,
        channel: Channel,
        set: &WaitSet,
    ) -> Option<Channel> {
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
                path,
                origin,
                state: State::Idle(channel),
                changed: false,
            },
        );
        None
    }

    /// Receives from a watcher whose channel is ready. If it has closed, returns its path and
    /// origin.
    pub fn hear(&mut self, id: u32) -> Option<(String, u32)> {
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
        self.all.remove(&id).map(|w| (w.path, w.origin))
    }

    /// Tells the watchers of this path of a change.
    pub fn changed(&mut self, at: &str) {
        for watcher in self
            .all
            .values_mut()
            .filter(|w| path::below(at, &w.path).is_some())
        {
            watcher.changed = true;
            watcher.advance();
        }
    }
}
