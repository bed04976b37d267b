//! The channels over which clients are told that something has changed (`FileChangesContract`).
//!
//! Invariants:
//! - All who watch are told before the request is answered that has changed something: whatever changes
//!   names, attributes or contents says so by [`Volume::changed`] before that.
//! - Each is told once for each time that it has asked, so that a change costs no more messages than
//!   were sent for it; and there are [`MOST`] of them at most, each on the share of its origin.

use crate::volume::{Client, Volume};
use core::sync::atomic::{AtomicU32, Ordering};
use sing_sdk::contracts::FileFault;
use sing_sdk::prelude::*;
use sing_sdk::process;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::share::Shares;
use sing_store::{NodeId, ROOT};

pub type Start = FileChangesContract::Exp<FileChangesContract::Start>;

/// The most channels of it, of all origins together.
const MOST: usize = 64;
/// Those that each origin may have while there is room.
const LEAST: usize = 4;

/// File systems that were mounted by this process.
static MOUNTED: AtomicU32 = AtomicU32::new(0);

/// A channel of it.
pub enum Changes {
    Idle(FileChangesContract::Exp<FileChangesContract::Ready>),
    /// It is to be told of the next change.
    Watched(FileChangesContract::Exp<FileChangesContract::Watched>),
}

/// Whom to tell, and what each has of the bound.
pub struct Watched {
    /// The number of this file system: no other has it, as no other process has this one's id.
    volume: u64,
    /// The slots of those that are to be told.
    slots: Vec<u32>,
    shares: Shares,
}

impl Default for Watched {
    fn default() -> Watched {
        let count = MOUNTED.fetch_add(1, Ordering::Relaxed);
        Watched {
            volume: u64::from(process::id()) << 32 | u64::from(count),
            slots: Vec::new(),
            shares: Shares::new(MOST, LEAST),
        }
    }
}

impl Volume {
    /// Connects a channel to a directory.
    pub fn open_changes(
        &mut self,
        origin: u32,
        node: NodeId,
        endpoint: Endpoint,
    ) -> Result<(), (FileFault, Endpoint)> {
        // At the root of the name space, names of the name server come and go without this file system.
        if self.root && node == ROOT {
            return Err((FileFault::NotSupported, endpoint));
        }
        let start = endpoint.cast::<Start>();
        let start = start.map_err(|endpoint| (FileFault::NotSupported, endpoint))?;
        if !self.watched.shares.take(origin, 1) {
            return Err((FileFault::NoResources, start.into_endpoint()));
        }
        let volume = self.watched.volume;
        let begin = |start: Start| {
            let ready = start.send_success().send_of(volume, node.0);
            Client::Changes(Changes::Idle(ready))
        };
        match self.slots.insert(origin, start, begin) {
            Ok(_) => Ok(()),
            Err((_, start)) => {
                self.watched.shares.give_back(origin, 1);
                Err((FileFault::NoResources, start.into_endpoint()))
            }
        }
    }

    /// A channel asks to be told, or has gone.
    pub fn changes(&mut self, number: u32, channel: Changes) {
        if let Changes::Idle(ready) = channel
            && let Ok(asked) = ready.recv_watch()
        {
            let watched = Changes::Watched(asked.send_watching());
            self.slots.put(number, Client::Changes(watched));
            self.watched.slots.push(number);
            return;
        }
        self.watched.slots.retain(|watched| *watched != number);
        if let Some(origin) = self.slots.origin(number) {
            self.watched.shares.give_back(origin, 1);
        }
        self.slots.remove(number);
    }

    /// Something has changed, and is not answered yet.
    pub fn tell_changed(&mut self) {
        for number in core::mem::take(&mut self.watched.slots) {
            let next = match self.slots.take(number) {
                Some(Client::Changes(Changes::Watched(watched))) => {
                    Client::Changes(Changes::Idle(watched.send_changed()))
                }
                Some(other) => other,
                None => continue,
            };
            self.slots.put(number, next);
        }
    }
}
