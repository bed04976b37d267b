//! Watchers: those that asked by Notify to be told of changes.
//!
//! A watcher that does not answer costs no more than one that does: of all that changes meanwhile it is told once.

use crate::server::Source;
use alloc::collections::BTreeMap;
use nameserver::next_number;
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

type Channel = NotifyContract::Imp<NotifyContract::Start>;

enum State {
    Idle(Channel),
    /// Told of a change, and not yet ready for another.
    Telling(NotifyContract::Imp<NotifyContract::Telling>),
    Gone,
}

struct Watcher {
    path: String,
    origin: u32,
    state: State,
    /// Something has changed since it was told last.
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
    /// Takes a watcher of a normalized path and what is below; gives it back where it cannot be watched.
    pub fn add(
        &mut self,
        path: String,
        origin: u32,
        channel: Channel,
        set: &WaitSet,
    ) -> Option<Channel> {
        self.last = next_number(self.last, |id| self.all.contains_key(&id));
        // It may be ready for more, or go away.
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

    /// Receives from a watcher whose channel is ready. Of one that has gone, its path and whose share it was on.
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

    /// Tells those that it concerns that something has changed at this path.
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
