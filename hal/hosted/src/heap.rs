//! The heap that the kernel allocates from in a hosted system: the C library's.
//!
//! Invariant: no `free` of the kernel's gives memory back to Linux, but of single allocations of
//! [`MAPPED`] bytes and more. By default glibc gives back the end of its heap as soon as 128 KiB of
//! it are free, all of it at once: megabytes, in up to 15 ms, within one call of the kernel. What
//! is kept is reused; it is as much as the kernel's records ever were, which the budgets of the
//! programs bound.

/// The size from which on an allocation is a mapping of its own, in bytes: the most that glibc
/// takes.
#[cfg(target_env = "gnu")]
const MAPPED: libc::c_int = 32 << 20;

/// Sets the heap up. Called once, when the machine starts.
#[cfg(target_env = "gnu")]
pub fn start() {
    // SAFETY: these set tunables under the allocator's own lock, and touch no memory of anybody's.
    // Where glibc refuses one (it answers zero), the heap works as before, only with the pauses.
    unsafe {
        // A command that has compiled the program before has no use for that memory any more.
        libc::malloc_trim(0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        // Merge each small piece with its neighbours when it is freed. By default glibc merges all
        // that were freed since, within one later call.
        libc::mallopt(libc::M_MXFAST, 0);
        // Other threads' arenas would be given back likewise.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Other C libraries are taken as they are.
#[cfg(not(target_env = "gnu"))]
pub fn start() {}
