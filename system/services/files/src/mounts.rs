//! What is mounted, and which disks are being worked on.
//!
//! Invariant: a disk has one user at a time: a mounted file system, or a request that formats or
//! checks it.

use crate::volume::Mounted;
use sing_sdk::contracts::VolumeFault;
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;

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
    used: Vec<String>,
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    mounts: Vec::new(),
    used: Vec::new(),
});

/// File systems mounted at a time: each has a thread and a cache.
const MOST: usize = 8;

/// The right to use a disk; given back when dropped.
pub struct Use(String);

impl Use {
    /// Takes a disk into use.
    pub fn of(disk: &str) -> Result<Use, VolumeFault> {
        let mut table = TABLE.lock();
        if table.used.iter().any(|used| used == disk) {
            return Err(VolumeFault::Busy);
        }
        table.used.push(disk.into());
        Ok(Use(disk.into()))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        TABLE.lock().used.retain(|disk| *disk != self.0);
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
