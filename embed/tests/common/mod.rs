//! What the tests of embedding begin with. One system may be in a process, so the tests of one take turns.
#![allow(dead_code, reason = "each test program uses a part of it")]

use sing_embed::{Image, Program, System};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static TURN: Mutex<()> = Mutex::new(());

/// Waits for this test's turn, which it has until it drops this.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The image's file.
pub fn path() -> PathBuf {
    let path = std::env::var_os("SING_EMBED_IMAGE");
    path.expect("the system image for these tests; `cargo xtask test embed` makes it")
        .into()
}

pub fn image() -> Image<'static> {
    Image::open(&path()).unwrap()
}

pub fn start() -> System {
    System::start(&image()).unwrap()
}

/// A program whose calls may take so long.
pub fn within(program: Program<'_>, milliseconds: u64) -> Program<'_> {
    program.deadline(Duration::from_millis(milliseconds))
}

/// An executor of somebody else's, on this thread.
pub fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap()
}

/// Descriptors, threads, mappings, kibibytes of addresses and of memory of this process.
pub fn counts() -> [usize; 5] {
    let entries = |path| std::fs::read_dir(path).unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    [
        entries("/proc/self/fd"),
        entries("/proc/self/task"),
        maps.lines().count(),
        field("VmSize:"),
        field("VmRSS:"),
    ]
}

/// The handlers of all signals, and the mask of this thread, as Linux has them.
pub fn handlers() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let fields = ["SigBlk:", "SigIgn:", "SigCgt:"];
    let wanted = |line: &&str| fields.iter().any(|field| line.starts_with(field));
    status.lines().filter(wanted).collect()
}

pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}
