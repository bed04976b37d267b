//! Runs the program on scripts.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A run's output, by lines, and its exit code.
pub struct Run {
    pub lines: Vec<String>,
    pub code: Option<i32>,
}

impl Run {
    /// The last line.
    pub fn summary(&self) -> &str {
        self.lines.last().map_or("", |l| l)
    }

    /// Fails unless everything passed and something ran.
    #[track_caller]
    pub fn expect_passes(&self) {
        let passed = self
            .summary()
            .split(' ')
            .next()
            .and_then(|n| n.parse::<u64>().ok());
        let first: Vec<&String> = self.lines.iter().take(20).collect();
        assert!(
            self.summary().ends_with(" passed, 0 failed, 0 skipped"),
            "{first:#?}\n{}",
            self.summary()
        );
        assert!(passed.is_some_and(|n| n > 0), "nothing ran");
        assert_eq!(self.code, Some(0));
    }
}

/// Runs the program with these arguments.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Run {
    let out = Command::new(env!("CARGO_BIN_EXE_sing-wast"))
        .args(arguments)
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&out.stdout)
        .lines()
        .map(String::from)
        .collect();
    Run {
        lines,
        code: out.status.code(),
    }
}

/// A directory for a test's scripts, removed at the test's end unless it fails: then they are kept
/// for inspection.
pub struct Scripts(PathBuf);

impl Scripts {
    pub fn new(name: &str) -> Scripts {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Scripts(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
