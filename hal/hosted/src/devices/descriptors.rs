//! Descriptors of this process, of which directories and sockets of the host have their parts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many there may be, up to so many: Linux is asked for what the user may have without privileges.
pub(super) fn up_to(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(u64::MAX);
    let wanted = wanted.min(limit.maximum.unwrap_or(u64::MAX));
    if now >= wanted {
        return now;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => now,
    }
}
