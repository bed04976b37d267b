//! Terminals of the tests' own, and systems that run at them.

use super::player::child;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Stdio};

/// A terminal: our end, and the child's.
pub fn terminal(columns: u16, rows: u16) -> (File, File) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the pointers are valid for the call, or null where that means nothing.
    let done = unsafe {
        let none = std::ptr::null_mut();
        libc::openpty(
            &raw mut ours,
            &raw mut theirs,
            none,
            std::ptr::null(),
            &raw const size,
        )
    };
    assert_eq!(done, 0);
    for fd in [ours, theirs] {
        // No child may hold our end, or it never sees it go.
        // SAFETY: sets a flag of a file of ours.
        let done = unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        assert_eq!(done, 0);
    }
    // SAFETY: both were just opened and are nobody else's.
    unsafe {
        (
            OwnedFd::from_raw_fd(ours).into(),
            OwnedFd::from_raw_fd(theirs).into(),
        )
    }
}

/// The terminal's modes, as far as they can differ.
pub fn modes(terminal: &File) -> (u32, u32, u32, u32) {
    // SAFETY: all zeros is a valid value; the pointer is valid for the call.
    unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut modes), 0);
        (modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag)
    }
}

/// Starts the child in the foreground of a terminal of its own.
pub fn in_terminal(test: &str, theirs: &File) -> Child {
    use std::os::unix::process::CommandExt;
    let stdio = || Stdio::from(theirs.try_clone().unwrap());
    let mut command = child(test);
    command.stdin(stdio()).stdout(stdio());
    // SAFETY: both calls are allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        })
    };
    command.spawn().unwrap()
}
