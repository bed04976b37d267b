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
