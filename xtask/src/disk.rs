//! Disks of the machines: files of the host.

use crate::project::Project;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The disk that `cargo xtask run` makes and keeps, in the project's folder.
pub const KEPT: &str = "disk.img";
/// The bytes of disks that are made here. Only what is written takes room on the host.
const BYTES: u64 = 64 << 20;

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its file.
    pub path: PathBuf,
    /// Whether it cannot be written.
    pub read_only: bool,
    /// Whether it is an NVMe disk, not a virtio one.
    pub nvme: bool,
}

impl Disk {
    /// Reads `FILE`, `FILE,ro`, `FILE,nvme` or `FILE,ro,nvme` from the command line.
    pub fn named(text: OsString) -> Disk {
        let bytes = text.as_bytes();
        let name = bytes.strip_suffix(b",nvme");
        let nvme = name.is_some();
        let bytes = name.unwrap_or(bytes);
        let name = bytes.strip_suffix(b",ro");
        let read_only = name.is_some();
        Disk {
            path: OsString::from_vec(name.unwrap_or(bytes).to_vec()).into(),
            read_only,
            nvme,
        }
    }

    /// Whether something has been written to its beginning, as a file system does.
    pub fn is_in_use(&self) -> bool {
        let mut beginning = Vec::new();
        let read =
            File::open(&self.path).and_then(|file| file.take(64 << 10).read_to_end(&mut beginning));
        read.is_ok() && beginning.iter().any(|byte| *byte != 0)
    }

    /// Its name as QEMU's options take one, in which a comma is written twice.
    pub fn for_qemu(&self) -> OsString {
        crate::qemu::value(self.path.as_os_str())
    }

    /// An empty disk for one run; its file is the caller's to remove.
    pub fn scratch(project: &Project) -> Result<Disk> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let run = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("disk-{}-{run}.img", std::process::id());
        let path = project.out().join(name);
        make(&path, OpenOptions::new().create(true).truncate(true))?;
        Ok(Disk {
            path,
            read_only: false,
            nvme: false,
        })
    }

    /// The project's own disk, made if there is none, or if `fresh`. `None`, with a word to the
    /// user, if another system has it.
    pub fn kept(project: &Project, fresh: bool) -> Result<Option<Disk>> {
        let path = project.root.join(KEPT);
        if !path.exists() {
            make(&path, OpenOptions::new().create_new(true))?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if fresh {
                bail!(
                    "--fresh: {} is in use by another system; end that first",
                    path.display()
                );
            }
            eprintln!(
                "{} is in use by another system; this one starts without a disk (`--disk FILE` gives it one)",
                path.display()
            );
            return Ok(None);
        }
        if fresh {
            empty(&file).with_context(|| format!("cannot clear {}", path.display()))?;
        }
        Ok(Some(Disk {
            path,
            read_only: false,
            nvme: false,
        }))
    }
}

fn make(path: &std::path::Path, options: &mut OpenOptions) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let made = options
        .write(true)
        .open(path)
        .and_then(|f| f.set_len(BYTES));
    made.with_context(|| format!("cannot create the disk {}", path.display()))
}

fn empty(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.set_len(BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_a_file_and_how_it_is_opened() {
        for (text, path, read_only, nvme, qemu) in [
            ("a", "a", false, false, "a"),
            ("a,ro", "a", true, false, "a"),
            ("a,nvme", "a", false, true, "a"),
            ("a,ro,nvme", "a", true, true, "a"),
            ("a,b", "a,b", false, false, "a,,b"),
            (",ro,ro", ",ro", true, false, ",,ro"),
        ] {
            let disk = Disk::named(text.into());
            assert_eq!(
                (disk.path.to_str(), disk.read_only, disk.nvme),
                (Some(path), read_only, nvme)
            );
            assert_eq!(disk.for_qemu().to_str(), Some(qemu));
        }
    }
}
