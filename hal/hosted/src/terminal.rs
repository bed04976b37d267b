//! The terminal: raw input while the system runs, restored on every way out.
//!
//! The console is a terminal if standard input and standard output both are: if one of them is a
//! pipe or a file, there is no user to edit lines for, and the terminal stays as it is.
//!
//! Input is raw: bytes as typed, no echo, Ctrl-C is the byte 3 and Enter the byte 13, as on a
//! serial line. Output keeps Linux's translation of line ends, so that the kernel's log and a panic
//! stay readable.

use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr,
    tcgetwinsize, tcsetattr,
};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The terminal's modes when the system started.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Whether the terminal has our modes now.
static RAW: AtomicBool = AtomicBool::new(false);

/// Whether this process is in the foreground of the terminal: from the background, changing the
/// modes would stop it.
fn foreground() -> bool {
    // SAFETY: both calls take numbers, return numbers and fail by returning -1.
    unsafe { libc::tcgetpgrp(libc::STDIN_FILENO) == libc::getpgrp() }
}

fn raw(mut modes: Termios) -> Termios {
    modes.input_modes -= InputModes::ICRNL
        | InputModes::INLCR
        | InputModes::IGNCR
        | InputModes::IXON
        | InputModes::ISTRIP
        | InputModes::BRKINT
        | InputModes::PARMRK;
    modes.local_modes -= LocalModes::ICANON
        | LocalModes::ECHO
        | LocalModes::ECHONL
        | LocalModes::ISIG
        | LocalModes::IEXTEN;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

/// Returns columns and rows of the console, if it is a terminal; default values if the terminal
/// does not know.
pub(crate) fn size() -> Option<(u32, u32)> {
    if !isatty(stdin()) {
        return None;
    }
    let size = tcgetwinsize(stdout()).ok()?;
    let or = |told: u16, usual| if told == 0 { usual } else { u32::from(told) };
    Some((or(size.ws_col, 80), or(size.ws_row, 24)))
}

/// Makes the terminal raw, if the console is one and this process is in its foreground.
pub(crate) fn enter() {
    if size().is_none() || !foreground() {
        return;
    }
    let Ok(modes) = tcgetattr(stdin()) else {
        return;
    };
    let before = BEFORE.get_or_init(|| modes);
    if tcsetattr(stdin(), OptionalActions::Now, &raw(before.clone())).is_ok() {
        RAW.store(true, SeqCst);
    }
}

/// Restores the terminal. Safe in signal handlers, and to call more than once.
pub(crate) fn leave() {
    if !RAW.swap(false, SeqCst) {
        return;
    }
    if let Some(before) = BEFORE.get() {
        // SAFETY: sets a disposition; without it, a process put in the background since would be
        // stopped here.
        unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
}

/// Makes the terminal raw again after the process was stopped and continued. Safe in signal
/// handlers.
pub(crate) fn resume() {
    if let Some(before) = BEFORE.get()
        && RAW.load(SeqCst)
        && foreground()
    {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &raw(before.clone()));
    }
}
