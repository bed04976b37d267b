//! Watchers: clients that asked with Notify to be told of changes.
//!
//! A watcher that does not answer costs no more than one that does ([`sing_sdk::watcher`]).

use crate::request::Watcher as Channel;
use crate::server::Source;
use alloc::collections::BTreeMap;
use nameserver::next_number;
use nameserver::watched::Watched;
use sing_sdk::set::WaitSet;
use sing_sdk::watcher::Watcher as Told;

struct Watcher {
    watched: Watched,
    told: Told,
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
                told: Told::new(channel),
            },
        );
        None
    }

    /// Receives from a watcher whose channel is ready. If it has closed, returns what it watched.
    pub fn hear(&mut self, id: u32) -> Option<Watched> {
        let watcher = self.all.get_mut(&id)?;
        if watcher.told.hear() {
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

    /// Tells those that may see something of what is mounted at the root of a change there:
    /// `is_known` says whether a first name is not the mount's.
    pub fn changed_beyond(&mut self, is_known: impl Fn(&str) -> bool) {
        self.tell(|watched| watched.is_beyond(&is_known));
    }

    fn tell(&mut self, of: impl Fn(&Watched) -> bool) {
        for watcher in self.all.values_mut().filter(|w| of(&w.watched)) {
            watcher.told.tell();
        }
    }

    /// Whether any watches something below this path.
    pub fn reach(&self, at: &str) -> bool {
        self.all.values().any(|w| w.watched.reaches(at))
    }
}
