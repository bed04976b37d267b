//! Watchers: those that asked by Notify to be told of changes.

use crate::server::Source;
use alloc::collections::{BTreeMap, VecDeque};
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

type Channel = NotifyContract::Imp<NotifyContract::Start>;

/// Watchers at most.
const MAX: usize = 1024;
/// Changes that may wait for one watcher; of more, the oldest are lost.
const MAX_WAITING: usize = 64;

enum State {
    Idle(Channel),
    /// Told of a change, and not yet ready for another.
    Telling(NotifyContract::Imp<NotifyContract::Telling>),
    Gone,
}

struct Watcher {
    path: String,
    state: State,
    waiting: VecDeque<String>,
}

impl Watcher {
    fn advance(&mut self) {
        self.state = match core::mem::replace(&mut self.state, State::Gone) {
            State::Idle(channel) => match self.waiting.pop_front() {
                None => State::Idle(channel),
                Some(change) => match Text::new(&change) {
                    Ok(change) => State::Telling(channel.send_changed(change)),
                    Err(_) => State::Gone,
                },
            },
            busy => busy,
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
    /// Takes a watcher of a normalized path and what is below; gives it back where there are too many.
    pub fn add(&mut self, path: String, channel: Channel, set: &WaitSet) -> Option<Channel> {
        if self.all.len() >= MAX {
            return Some(channel);
        }
        self.last += 1;
        // It may be ready for more, or go away.
        if set
            .add(&channel, Source::Watcher(self.last).number())
            .is_err()
        {
            return Some(channel);
        }
        let state = State::Idle(channel);
        self.all.insert(
            self.last,
            Watcher {
                path,
                state,
                waiting: VecDeque::new(),
            },
        );
        None
    }

    /// Receives from a watcher whose channel is ready.
    pub fn hear(&mut self, id: u32) {
        let Some(watcher) = self.all.get_mut(&id) else {
            return;
        };
        if let State::Telling(channel) = core::mem::replace(&mut watcher.state, State::Gone)
            && let Ok(channel) = channel.recv_ack()
        {
            watcher.state = State::Idle(channel);
            watcher.advance();
        }
        if matches!(watcher.state, State::Gone) {
            self.all.remove(&id);
        }
    }

    /// Tells those that it concerns that something has changed at this path.
    pub fn changed(&mut self, at: &str) {
        for watcher in self
            .all
            .values_mut()
            .filter(|w| path::below(at, &w.path).is_some())
        {
            if watcher.waiting.len() == MAX_WAITING {
                watcher.waiting.pop_front();
            }
            watcher.waiting.push_back(at.into());
            watcher.advance();
        }
    }
}
