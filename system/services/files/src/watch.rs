//! Who is told when names come and go (Notify, [O] 5.3).
//!
//! A watcher's directory is a path, and changes happen in nodes: so the node at the path is kept
//! with it, and found anew when a directory or a link has come, gone or moved.
//!
//! Invariants:
//! - A watcher is told of each change of names that its specification matches, or that is below
//!   one; also of others that are further down in its directory, as their paths are not known here.
//! - Each is a slot of its origin, and costs its origin as much as a change can cost for it: all
//!   together can make a change look up [`TOTAL`] names at most.

use crate::volume::{Client, Volume};
use alloc::collections::BTreeMap;
use sing_sdk::contracts::Refusal;
use sing_sdk::pattern::Pattern;
use sing_sdk::prelude::*;
use sing_sdk::share::Shares;
use sing_sdk::watcher::{Channel, Watcher};
use sing_store::{NodeId, ROOT};

/// The price of all watchers: for each the parts of its directory's path, and [`ONE`].
const TOTAL: usize = 512;
/// The price of a match with a name.
const ONE: usize = 4;
/// What each origin may have while there is room.
const LEAST: usize = 16;
/// Directories above a change that are looked at. One that lies deeper counts as below all.
const DEEPEST: usize = 1024;

struct Watch {
    directory: String,
    pattern: Pattern,
    /// The directory at that path, if there is one.
    node: Option<NodeId>,
    watcher: Watcher,
    origin: u32,
    price: usize,
}

impl Watch {
    /// Whether it is told of a name in the first directory of a way up.
    fn covers(&self, way: &[NodeId], name: &str) -> bool {
        match self.node {
            Some(node) if way.first() == Some(&node) => self.pattern.meets(name),
            Some(node) => way.last() != Some(&ROOT) || way.contains(&node),
            None => false,
        }
    }
}

/// All watchers, by the slots of their channels.
pub struct Watches {
    all: BTreeMap<u32, Watch>,
    shares: Shares,
}

impl Default for Watches {
    fn default() -> Watches {
        Watches {
            all: BTreeMap::new(),
            shares: Shares::new(TOTAL, LEAST),
        }
    }
}

impl Volume {
    /// Has a channel told of changes below a directory of this file system.
    pub fn watch(
        &mut self,
        directory: &str,
        pattern: Pattern,
        origin: u32,
        channel: Channel,
    ) -> Result<(), (Refusal, Channel)> {
        let node = match self.below(directory) {
            Err(Refusal::IsLink) => return Err((Refusal::IsLink, channel)),
            found => found.ok(),
        };
        let parts = directory.split('/').filter(|part| !part.is_empty());
        let price = ONE + parts.count();
        if !self.watches.shares.take(origin, price) {
            return Err((Refusal::NoResources, channel));
        }
        let mut watcher = None;
        let taken = self.slots.insert(origin, channel, |channel| {
            watcher = Some(Watcher::new(channel));
            Client::Watcher
        });
        match (taken, watcher) {
            (Ok(number), Some(watcher)) => {
                let watch = Watch {
                    directory: directory.into(),
                    pattern,
                    node,
                    watcher,
                    origin,
                    price,
                };
                self.watches.all.insert(number, watch);
                Ok(())
            }
            (Err((_, channel)), _) => {
                self.watches.shares.give_back(origin, price);
                Err((Refusal::NoResources, channel))
            }
            (Ok(_), None) => Ok(()),
        }
    }

    /// A watcher is ready for more, or has gone.
    pub fn heard(&mut self, number: u32) {
        let watch = self.watches.all.get_mut(&number);
        if watch.is_some_and(|watch| watch.watcher.hear()) {
            return self.slots.put(number, Client::Watcher);
        }
        self.slots.remove(number);
        if let Some(gone) = self.watches.all.remove(&number) {
            self.watches.shares.give_back(gone.origin, gone.price);
        }
    }

    /// Names have come or gone in directories, at once: each watcher is told once.
    pub fn named(&mut self, names: &[(NodeId, &str)]) {
        if self.watches.all.is_empty() {
            return;
        }
        let changes: Vec<_> = names.iter().map(|&(d, name)| (self.way(d), name)).collect();
        for watch in self.watches.all.values_mut() {
            if changes.iter().any(|(way, name)| watch.covers(way, name)) {
                watch.watcher.tell();
            }
        }
    }

    /// A directory and those above it, up to the root, but [`DEEPEST`] of them at most.
    fn way(&mut self, from: NodeId) -> Vec<NodeId> {
        let mut way = vec![from];
        while let Some(&last) = way.last()
            && last != ROOT
            && way.len() < DEEPEST
            && let Ok(parent) = self.store.parent(last)
        {
            way.push(parent);
        }
        way
    }

    /// A directory or a link has come, gone or moved: paths may lead elsewhere.
    pub fn renamed(&mut self) {
        let mut all = core::mem::take(&mut self.watches.all);
        for watch in all.values_mut().filter(|watch| watch.directory != "/") {
            let node = self.below(&watch.directory).ok();
            if node != watch.node {
                watch.node = node;
                watch.watcher.tell();
            }
        }
        self.watches.all = all;
    }
}
