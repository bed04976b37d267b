//! T1: a call into the kernel that does nothing.

use crate::measure::{Peer, sample};

/// Calls in a sample.
const COUNT: u32 = 500;

/// The peers.
pub fn peers() -> Vec<Peer> {
    let getpid = || {
        // SAFETY: takes nothing and returns a number. Not libc's own function, which may cache the
        // answer.
        unsafe { libc::syscall(libc::SYS_getpid) };
        Ok(())
    };
    let resolution = || {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the pointer is valid for the call.
        unsafe { libc::syscall(libc::SYS_clock_getres, libc::CLOCK_MONOTONIC, &raw mut time) };
        Ok(())
    };
    vec![
        Peer::new("T1", "linux getpid", move |n| sample(n, COUNT, getpid)),
        Peer::new("T1", "linux clock_getres", move |n| {
            sample(n, COUNT, resolution)
        }),
    ]
}
