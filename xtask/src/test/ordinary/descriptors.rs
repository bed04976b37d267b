//! A program that has all of its descriptors open.

use super::{Ordinary, is};
use crate::files;
use anyhow::Result;
use std::fs;

/// The test's name.
pub const MANY: &str = "many open files";
/// The descriptors of this process that such a system wants: for as many files as a directory may have open, and for
/// others.
const DESCRIPTORS: u64 = 1280 + 384;

/// Whether Linux gives a process as many descriptors as the test needs, without privileges.
pub fn enough() -> Result<(), String> {
    let limits = fs::read_to_string("/proc/self/limits").map_err(|e| e.to_string())?;
    match most(&limits) {
        Some(most) if most < DESCRIPTORS => Err(format!(
            "Linux gives a process {most} descriptors at most here (`ulimit -Hn`), and a program that has 1,024 \
             files open needs {DESCRIPTORS}"
        )),
        _ => Ok(()),
    }
}

/// The hard limit in the text of `/proc/self/limits`; `None` if there is none.
fn most(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let numbers = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    numbers.split_whitespace().nth(1)?.parse().ok()
}

/// A program has as many files open as it has descriptors: it is the only one in its system.
pub fn many(machine: &Ordinary<'_>) -> Result<()> {
    let shared = machine.folder.join("shared");
    files::write(&shared.join("in.txt"), "of the host\n")?;
    let option = format!("{}::/", shared.display());
    is(&machine.run(&["--dir", &option], "many", &[], b"")?, 0, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hard_limit_of_descriptors_is_found() {
        let limits = |files: &str| {
            format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax cpu time  9  9  seconds\nMax open files  {files}  files\n"
            )
        };
        assert_eq!(most(&limits("1024  4096")), Some(4096));
        assert_eq!(most(&limits("1024  unlimited")), None);
        assert_eq!(most(""), None);
    }
}
