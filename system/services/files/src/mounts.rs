//! What is mounted, and which disks are being worked on.
//!
//! Invariant: a disk has one user at a time: a mounted file system, or a request that formats or
//! checks it. A disk is known by its path, and by what is on it: another path may lead to it.

use crate::drive::Drive;
use crate::faults;
use crate::volume::Mounted;
use sing_sdk::contracts::VolumeFault;
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;
use sing_store::{MountOptions, Store};

/// A mounted file system.
pub struct Mount {
    pub at: String,
    pub disk: String,
    pub label: String,
    pub read_only: bool,
    /// The channel to its thread; `None` while somebody uses it.
    pub worker: Option<Mounted>,
}

#[derive(Default)]
struct Table {
    mounts: Vec<Mount>,
    used: Vec<Key>,
}

/// By what a disk is known.
#[derive(Clone, PartialEq, Eq)]
enum Key {
    Path(String),
    /// Of the file system on it.
    Identity([u8; 16]),
}

impl Table {
    fn take(&mut self, key: Key) -> Result<Key, VolumeFault> {
        if self.used.contains(&key) {
            return Err(VolumeFault::Busy);
        }
        self.used.push(key.clone());
        Ok(key)
    }
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    mounts: Vec::new(),
    used: Vec::new(),
});

/// File systems mounted at a time: each has a thread and a cache.
pub const MOST: usize = 8;

/// The right to use a disk; given back when dropped.
pub struct Use(Vec<Key>);

impl Use {
    /// Takes a disk into use.
    pub fn of(disk: &str) -> Result<Use, VolumeFault> {
        let key = TABLE.lock().take(Key::Path(disk.into()))?;
        Ok(Use(vec![key]))
    }

    /// Takes the file system on it into use, too: the one that is there, or that is to be.
    pub fn hold(&mut self, identity: [u8; 16]) -> Result<(), VolumeFault> {
        let key = TABLE.lock().take(Key::Identity(identity))?;
        self.0.push(key);
        Ok(())
    }

    /// Mounts the file system on a disk, which nobody else uses under any path.
    pub fn mount(
        &mut self,
        mut drive: Drive,
        options: &MountOptions,
    ) -> Result<Store<Drive>, VolumeFault> {
        let identity = Store::probe(&mut drive).map_err(faults::volume)?.uuid;
        self.hold(identity)?;
        let store = Store::mount(drive, options).map_err(faults::volume)?;
        // Somebody may have formatted it before it was held.
        if store.volume().uuid != identity {
            return Err(VolumeFault::Busy);
        }
        Ok(store)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        TABLE.lock().used.retain(|key| !self.0.contains(key));
    }
}

/// Whether there is room for a further mount.
pub fn room() -> Result<(), VolumeFault> {
    if TABLE.lock().mounts.len() < MOST {
        Ok(())
    } else {
        Err(VolumeFault::NoResources)
    }
}

/// Enters a mounted file system.
pub fn add(mount: Mount) {
    TABLE.lock().mounts.push(mount);
}

/// Uses the channel to a file system's thread. `work` gives it back, or `None` if that has ended:
/// then it is mounted no longer.
pub fn with<T>(
    at: &str,
    work: impl FnOnce(Mounted) -> (Option<Mounted>, Result<T, VolumeFault>),
) -> Result<T, VolumeFault> {
    let worker = {
        let mut table = TABLE.lock();
        let mount = table.mounts.iter_mut().find(|mount| mount.at == at);
        let mount = mount.ok_or(VolumeFault::NotFound)?;
        mount.worker.take().ok_or(VolumeFault::Busy)?
    };
    let (worker, outcome) = work(worker);
    let mut table = TABLE.lock();
    match worker {
        Some(worker) => {
            if let Some(mount) = table.mounts.iter_mut().find(|mount| mount.at == at) {
                mount.worker = Some(worker);
            }
        }
        None => table.mounts.retain(|mount| mount.at != at),
    }
    outcome
}

/// A line for each: mount point, disk, `rw` or `ro`, label.
pub fn lines() -> String {
    let line = |mount: &Mount| {
        let way = if mount.read_only { "ro" } else { "rw" };
        format!("{}\t{}\t{way}\t{}\n", mount.at, mount.disk, mount.label)
    };
    TABLE.lock().mounts.iter().map(line).collect()
}
