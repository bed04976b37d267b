//! Whether this is the process in which something was made, or a fork of it. Asked at each call, and
//! so without a system call: a page that Linux wipes in a fork tells.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use sing_abi::PAGE;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The process in which it was made.
pub(crate) struct Origin {
    /// A page of the process's own, whose first word is not zero there; `None`: Linux had none.
    page: Option<u64>,
    process: u32,
}

impl Default for Origin {
    fn default() -> Origin {
        Origin {
            page: page().ok(),
            process: std::process::id(),
        }
    }
}

fn page() -> rustix::io::Result<u64> {
    let (bytes, access) = (PAGE as usize, ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping that overlaps no other.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }?;
    // SAFETY: the mapping above, which holds nothing yet.
    if let Err(error) = unsafe { madvise(at, bytes, Advice::LinuxWipeOnFork) } {
        // SAFETY: as above.
        unsafe { crate::memory::unmap(&(at as u64..at as u64 + PAGE)) };
        return Err(error);
    }
    let at = at as u64;
    word(at).store(1, Relaxed);
    Ok(at)
}

/// The first word of a page of an [`Origin`]'s.
fn word(page: u64) -> &'static AtomicU64 {
    // SAFETY: an aligned word of a page that is accessible, and not unmapped while this is used: the
    // caller has the `Origin`, and keeps no reference.
    unsafe { &*(page as *const AtomicU64) }
}

impl Origin {
    /// Whether this process is another, a fork.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self.page {
            Some(page) => word(page).load(Relaxed) == 0,
            None => std::process::id() != self.process,
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: the mapping is this value's, and nobody has a reference into it.
            unsafe { crate::memory::unmap(&(page..page + PAGE)) };
        }
    }
}
