//! What the file system's control worker is asked for ([O] 5.4.1): to make, mount, unmount and
//! check file systems.

use crate::failure::Failure;
use VolumeContract::imp;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::client;
use sing_sdk::contracts::{VolumeContract, VolumeFault};
use sing_sdk::names::Names;
use sing_sdk::rt::Text;

/// Where the control worker is.
const CONTROL: &str = "/fsctrl";

/// A channel to the control worker.
pub struct Worker(VolumeContract::Imp<VolumeContract::Ready>);

/// In words, with the way out where there is one.
fn words(fault: VolumeFault) -> &'static str {
    match fault {
        VolumeFault::NotFound => "no disk is there, or nothing is mounted there",
        VolumeFault::InUse => "the disk holds something; `format --force` writes over it",
        VolumeFault::Busy => {
            "in use, or a disk is being formatted or checked; `umount --force` closes what is open"
        }
        VolumeFault::Held => "the mount point is taken, or is no path",
        VolumeFault::NotFormatted => "no file system is on the disk; `format` makes one",
        VolumeFault::Version => "the file system on the disk is of a version that is not known",
        VolumeFault::Damaged => "the file system is damaged; `check` says where",
        VolumeFault::BadSize => "the disk is too small or too large for a file system",
        VolumeFault::ReadOnly => "the disk cannot be written",
        VolumeFault::Medium => "the disk could not read or write, or its driver has gone",
        VolumeFault::BadName => "a label is a text of at most 63 bytes",
        VolumeFault::NoResources => "out of memory or handles",
    }
}

/// What the answer says of a path; `None` if the worker has gone.
fn taken<T>(path: &str, answer: Option<Result<T, VolumeFault>>) -> Result<T, Failure> {
    match answer {
        Some(answer) => answer.map_err(|fault| Failure::because(path, words(fault))),
        None => Err(Failure::of(path)(Error::Closed)),
    }
}

fn text(text: &str) -> Result<Text, Failure> {
    Text::new(text).map_err(Failure::of(text))
}

/// The bytes of a file system.
pub struct Space {
    /// Of the disk in all.
    pub total: u64,
    /// Those that files can still take.
    pub free: u64,
    /// Files, directories and links.
    pub nodes: u64,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The mount point.
    pub at: String,
    /// The disk.
    pub disk: String,
    /// `rw` or `ro`.
    pub mode: String,
    /// The label.
    pub label: String,
}

impl Worker {
    /// Binds the control worker.
    ///
    /// # Errors
    /// Nobody serves it.
    pub fn bind(names: &mut Names) -> Result<Worker, Failure> {
        let bound = client::bind(names, CONTROL, |names, path| {
            let (imp, exp) = VolumeContract::new_channel()?;
            names.bind(path, exp)?;
            Ok(Worker(imp.recv_success()?))
        });
        bound.map_err(|error| match error {
            Error::NotFound => Failure::because(
                CONTROL,
                "no file system runs; `services files start` starts it",
            ),
            error => Failure::of(CONTROL)(error),
        })
    }

    /// Makes an empty file system.
    ///
    /// # Errors
    /// As the worker says, here and below.
    pub fn format(self, disk: &str, label: &str, force: bool) -> Result<Worker, Failure> {
        let answer = match self.0.call_format(text(disk)?, text(label)?, force) {
            imp::Ready_Format::Done(next) => Some(Ok(Worker(next))),
            imp::Ready_Format::Failed(fault, _) => Some(Err(fault)),
            imp::Ready_Format::Closed => None,
        };
        taken(disk, answer)
    }

    /// Mounts the file system on a disk.
    ///
    /// # Errors
    /// As above.
    pub fn mount(self, disk: &str, at: &str, read_only: bool) -> Result<(), Failure> {
        let answer = match self.0.call_mount(text(disk)?, text(at)?, read_only) {
            imp::Ready_Mount::Done(_) => Some(Ok(())),
            imp::Ready_Mount::Failed(fault, _) => Some(Err(fault)),
            imp::Ready_Mount::Closed => None,
        };
        taken(&alloc::format!("{disk} at {at}"), answer)
    }

    /// Unmounts what is mounted at a path.
    ///
    /// # Errors
    /// As above.
    pub fn unmount(self, at: &str, force: bool) -> Result<(), Failure> {
        let answer = match self.0.call_unmount(text(at)?, force) {
            imp::Ready_Unmount::Done(_) => Some(Ok(())),
            imp::Ready_Unmount::Failed(fault, _) => Some(Err(fault)),
            imp::Ready_Unmount::Closed => None,
        };
        taken(at, answer)
    }

    /// Checks the file system on a disk: the number of problems, and a line for each.
    ///
    /// # Errors
    /// As above.
    pub fn check(self, disk: &str) -> Result<(u32, String), Failure> {
        let answer = match self.0.call_check(text(disk)?) {
            imp::Ready_Check::Report(problems, text, _) => Some(Ok((problems, text.to_lossy()))),
            imp::Ready_Check::Failed(fault, _) => Some(Err(fault)),
            imp::Ready_Check::Closed => None,
        };
        taken(disk, answer)
    }

    /// The room of the file system that is mounted at a path.
    ///
    /// # Errors
    /// As above.
    pub fn space(self, at: &str) -> Result<(Space, Worker), Failure> {
        let answer = match self.0.call_get_space(text(at)?) {
            imp::Ready_GetSpace::Space(total, free, nodes, next) => {
                let space = Space { total, free, nodes };
                Some(Ok((space, Worker(next))))
            }
            imp::Ready_GetSpace::Failed(fault, _) => Some(Err(fault)),
            imp::Ready_GetSpace::Closed => None,
        };
        taken(at, answer)
    }

    /// What is mounted.
    ///
    /// # Errors
    /// As above.
    pub fn mounts(self) -> Result<(Vec<Mount>, Worker), Failure> {
        let answer = match self.0.call_get_mounts() {
            imp::Ready_GetMounts::Mounts(lines, next) => {
                Some(Ok((mounts(&lines.to_lossy()), Worker(next))))
            }
            imp::Ready_GetMounts::Failed(fault, _) => Some(Err(fault)),
            imp::Ready_GetMounts::Closed => None,
        };
        taken(CONTROL, answer)
    }
}

fn mounts(lines: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut fields = line.split('\t').map(String::from);
        let mut next = || fields.next().unwrap_or_default();
        Mount {
            at: next(),
            disk: next(),
            mode: next(),
            label: next(),
        }
    };
    lines.lines().map(mount).collect()
}

/// A number of bytes in a unit that a person reads.
#[must_use]
pub fn human(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if unit == 0 || tenths >= 1000 {
        alloc::format!("{} {}", tenths / 10, UNITS[unit])
    } else {
        alloc::format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_in_units() {
        for (bytes, said) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (102_400, "100 KiB"),
            (64 << 20, "64.0 MiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(human(bytes), said);
        }
    }

    #[test]
    fn mounts_are_lines_of_four_fields() {
        let all = mounts("/fs\t/dev/a\trw\tfirst\n/b\t/dev/b\tro\t\n");
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].at.as_str(), all[0].label.as_str()),
            ("/fs", "first")
        );
        assert_eq!(
            (all[1].disk.as_str(), all[1].mode.as_str()),
            ("/dev/b", "ro")
        );
    }
}
