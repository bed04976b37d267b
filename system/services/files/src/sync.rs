//! Syncs: what waits in memory reaches the disk, and who asked for that is told.
//!
//! Invariants:
//! - A sync goes in steps, with turns of all clients between them. It has what was changed before it
//!   began; who asks meanwhile waits for the next one.
//! - Each client is told of lost writes, whoever was told before.

use crate::drive::{Drive, Lost};
use crate::faults;
use crate::volume::{At, Client, Volume};
use core::time::Duration;
use sing_sdk::contracts::{DirectoryContract, FileContract, FileFault};
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

/// How long changes wait for a sync.
pub const COMMIT: Duration = Duration::from_secs(1);
/// So many changes are written down at once.
const CHANGES: usize = 2048;

/// A request for a sync that is not answered yet.
pub enum Sync {
    File(FileContract::Exp<FileContract::Ready_Sync>),
    Directory(DirectoryContract::Exp<DirectoryContract::Ready_Sync>),
}

/// A sync under way: how far the disk has been gone through for dirty blocks, and who waits for it.
pub struct Sweep {
    from: u64,
    pub syncs: Vec<u32>,
}

impl Volume {
    /// Begins the sync that is due, if one is, and does a step of the one under way.
    pub fn sync_in_steps(&mut self) {
        let changes = self.store.changes();
        self.note_changes();
        if changes >= CHANGES {
            // They wait for no data. If it fails, they wait for the next one.
            let _ = self.commit();
        }
        let due = self.dirty.is_some_and(|since| uptime() >= since + COMMIT);
        if self.sweep.is_none() && (due || !self.syncs.is_empty()) {
            let syncs = core::mem::take(&mut self.syncs);
            self.sweep = Some(Sweep { from: 0, syncs });
        }
        self.sync_step();
    }

    /// The next step of a sync that is under way.
    fn sync_step(&mut self) {
        let Some(mut sweep) = self.sweep.take() else {
            return;
        };
        let outcome = match self.store.with_disk(|drive| drive.write_back(sweep.from)) {
            Ok(Some(from)) => {
                sweep.from = from;
                self.sweep = Some(sweep);
                return;
            }
            Ok(None) => self.commit(),
            Err(fault) => Err(faults::file(fault.into())),
        };
        // What got dirty meanwhile waits for the next one, and so does all if this one has failed.
        let more = self.store.with_disk(|drive| drive.cache.is_dirty());
        self.dirty = (more || outcome.is_err()).then(uptime);
        for number in sweep.syncs {
            self.synced(number, outcome);
        }
    }

    /// The metadata reaches the disk, and what the disk itself has kept back.
    fn commit(&mut self) -> Result<(), FileFault> {
        self.tidying = true;
        match self.read_only {
            true => Ok(()),
            false => self.store.sync().map_err(faults::file),
        }
    }

    /// A whole sync at once, where nobody else is to be served.
    pub fn sync(&mut self) -> Result<(), FileFault> {
        let settled = self.store.with_disk(Drive::settle_all);
        let outcome = settled
            .map_err(|fault| faults::file(fault.into()))
            .and_then(|()| self.commit());
        self.dirty = outcome.is_err().then(uptime);
        outcome
    }

    pub fn lost(&mut self) -> Lost {
        self.store.with_disk(|drive| drive.lost())
    }

    /// Something may have changed: tells who watches, and notes that a sync is to come.
    pub fn changed(&mut self) {
        self.tell_changed();
        self.note_changes();
    }

    fn note_changes(&mut self) {
        if self.dirty.is_none() && self.store.changes() > 0 {
            self.dirty = Some(uptime());
        }
    }

    /// A client waits for a sync.
    pub fn ask_sync(&mut self, number: u32, sync: Sync, at: At) {
        self.slots.put(number, Client::Syncing(sync, at));
        self.syncs.push(number);
    }

    fn synced(&mut self, number: u32, outcome: Result<(), FileFault>) {
        let Some(Client::Syncing(sync, at)) = self.slots.take(number) else {
            return;
        };
        // What was lost since this client was told last may be its own. If the sync itself failed for
        // another reason, it is told the next time.
        let lost = self.lost();
        let fault = lost.since(at.lost).map(|f| faults::file(f.into()));
        let (outcome, at) = match outcome {
            Err(other) if fault != Some(other) => (Err(other), at),
            _ => {
                let told = At {
                    lost: lost.count,
                    ..at
                };
                (fault.map_or(Ok(()), Err), told)
            }
        };
        if outcome.is_err() {
            self.told = self.told.max(at.lost);
        }
        let client = match (sync, outcome) {
            (Sync::File(file), Ok(())) => Client::File(file.send_done(), at),
            (Sync::File(file), Err(fault)) => Client::File(file.send_failed(fault), at),
            (Sync::Directory(d), Ok(())) => Client::Directory(d.send_done(), at),
            (Sync::Directory(d), Err(fault)) => Client::Directory(d.send_failed(fault), at),
        };
        self.slots.put(number, client);
    }
}
