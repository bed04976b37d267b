//! Addresses and memory.
//!
//! Addresses are carved out of arenas of a terabyte and more, each of which is one inaccessible
//! mapping of the process, so that thousands of reservations of 4 GiB cost Linux nothing; only what
//! is made accessible splits a mapping. How many such islands there can come to be is counted, so
//! that it is [`Memory::commit`] that fails when `vm.max_map_count` comes near, and never
//! `decommit`, which may not: reservations that lie side by side may form one island, and fall
//! apart when every other one is given back.
//!
//! Invariants:
//! - `open` is the number of reservations of which something is accessible. The kernel has one
//!   piece of each accessible, so there are no more islands than that, and giving up a reservation,
//!   which can leave one island more, leaves one fewer of these. So `commit` bounds the sum of
//!   both, and whatever is given up later, twice the number of islands does not exceed that. (The
//!   end of a reservation that is given up can leave one more, too: mappings are spared for those
//!   few. Where none is left, the memory goes and the addresses stay.)
//! - What is accessible is exactly `islands` without `hidden`, which lies in them and keeps its
//!   memory; everything else in an arena has no access at all. So each hidden range takes a mapping
//!   more than its island, and there are no more than [`MOST_HIDDEN`].
//! - What is accessible and has no memory is exactly `blanks`: Linux gives zeros to whoever reads
//!   there.
//! - Memory that becomes accessible is zero, because it was never touched or was replaced by a new
//!   mapping.
//! - No more than the limit is accessible at once, blanks not counted.

use crate::ranges::Ranges;
use crate::wide;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use sing_abi::PAGE;
use sing_kernel::hal::{self, Part, Reservation};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Alignment of reservations, in bytes.
const ALIGN: u64 = 65_536;
/// Size of an arena, and of one where a limit of addresses leaves no room for such: every address
/// counts there, and what an arena has behind its last large request is of little use.
const ARENA: u64 = 1 << 40;
const SMALL_ARENA: u64 = 64 << 20;
/// Mappings left to the rest of the process.
const SPARE_MAPPINGS: usize = 2048;
/// Bytes that become accessible in one step: Linux only changes the mapping.
pub(crate) const AT_ONCE: u64 = 4 << 20;
/// Ranges that keep their memory without access, at most: these mappings are among the spare ones.
const MOST_HIDDEN: usize = 256;

/// The resource for lack of which a request was refused.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Shortage {
    /// The memory limit.
    Limit,
    /// Linux gives no more addresses.
    Addresses,
    /// Linux gives no more memory.
    Memory,
    /// Linux gives no more mappings.
    Mappings,
}

impl Shortage {
    const ALL: [Shortage; 4] = [
        Shortage::Limit,
        Shortage::Addresses,
        Shortage::Memory,
        Shortage::Mappings,
    ];

    /// What is short, and what helps.
    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Shortage::Limit => ("memory", "raise --memory-limit"),
            Shortage::Addresses => (
                "addresses",
                "raise `ulimit -v`, which counts KiB; or run an image made with `--memory explicit`, \
                 whose memories reserve what their programs' manifests allow and not 4 GiB each",
            ),
            Shortage::Memory => (
                "memory",
                "Linux refuses it; raise `ulimit -v` or `ulimit -d`",
            ),
            Shortage::Mappings => ("mappings", "Linux refuses them; raise vm.max_map_count"),
        }
    }
}

/// Bytes of addresses that the process has, its own as well as the kernel's; 0 if Linux does not say.
fn addresses() -> u64 {
    let mut text = [0; 32];
    let read = File::open("/proc/self/statm").and_then(|mut file| file.read(&mut text));
    let text = text.get(..read.unwrap_or(0)).unwrap_or(&[]);
    let first = text.split(|byte| *byte == b' ').next().unwrap_or(&[]);
    let pages = std::str::from_utf8(first).ok().and_then(|n| n.parse().ok());
    PAGE.saturating_mul(pages.unwrap_or(0))
}

/// The process's addresses and memory, as far as the kernel uses them.
pub(crate) struct Memory {
    /// The most accessible bytes.
    limit: u64,
    /// The most islands before `commit` refuses.
    max_islands: usize,
    /// The resource for lack of which the last refused request failed.
    shortage: AtomicU8,
    /// How many bytes of addresses the last request for them asked for that was refused.
    refused: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    arenas: Ranges,
    free: Ranges,
    /// Reservations by their first addresses.
    taken: BTreeMap<u64, Taken>,
    open: usize,
    /// Reservations with large pages.
    wide: usize,
    islands: Ranges,
    hidden: Ranges,
    blanks: Ranges,
}

struct Taken {
    end: u64,
    /// Something of it is accessible.
    open: bool,
    /// Its accessible part has been given large pages.
    wide: bool,
}

/// Rounds up to the alignment of reservations.
fn rounded(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(ALIGN)
}

/// Maps inaccessible addresses, anywhere.
fn map_nowhere(bytes: u64) -> Result<u64, Errno> {
    // SAFETY: without MAP_FIXED the new mapping overlaps no other.
    let at = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            bytes as usize,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }
    .map(|at| at as u64)?;
    unlock(at, bytes);
    Ok(at)
}

/// Has Linux give no page to a mapping before it is touched, and take pages back: not so if the
/// program has locked all of its memory, of which this is none.
fn unlock(at: u64, bytes: u64) {
    // SAFETY: a mapping of the caller's, whose contents stay as they are. It fails only where
    // nothing is locked, or no mapping is left; whoever counts on it finds out.
    let _ = unsafe { rustix::mm::munlock(at as *mut _, bytes as usize) };
}

/// Reserves an inaccessible range outside the kernel's reservations, aligned to 64 KiB.
pub(crate) fn map_arena(bytes: u64) -> Result<u64, Errno> {
    let mapped = map_nowhere(bytes + ALIGN)?;
    let at = mapped.next_multiple_of(ALIGN);
    // SAFETY: the ends of the mapping just made, of which nobody has an address.
    unsafe {
        unmap(&(mapped..at));
        unmap(&(at + bytes..mapped + bytes + ALIGN));
    }
    Ok(at)
}

/// Gives addresses back to Linux, where there are any; a refusal leaves them mapped.
///
/// # Safety
/// They are whole mappings of the caller's, or parts of such, and nobody uses them from now on.
pub(crate) unsafe fn unmap(range: &Range<u64>) {
    if !range.is_empty() {
        // SAFETY: the caller's.
        let _ = unsafe {
            rustix::mm::munmap(range.start as *mut _, (range.end - range.start) as usize)
        };
    }
}

impl Drop for Memory {
    /// An embedded system has ended: its memory goes.
    fn drop(&mut self) {
        for (start, end) in self.state().arenas.common(0, u64::MAX) {
            // SAFETY: arenas are mappings of this one's own, and reservations in them were the
            // machine's, which has ended.
            unsafe { unmap(&(start..end)) };
        }
    }
}

impl State {
    /// Whether all of the range is reserved.
    fn reserved(&self, at: u64, end: u64) -> bool {
        self.arenas.overlap(at, end) == end - at && self.free.overlap(at, end) == 0
    }

    /// Panics unless all of the range is reserved. The argument types guarantee that; the only
    /// causes are a bug here, or another machine's reservation.
    fn check(&self, what: &str, at: u64, end: u64) {
        assert!(
            self.reserved(at, end),
            "{what} of {at:#x} to {end:#x}: not reserved"
        );
    }

    /// Notes a new reservation.
    fn give(&mut self, at: u64, bytes: u64) {
        let taken = Taken {
            end: at + bytes,
            open: false,
            wide: false,
        };
        self.taken.insert(at, taken);
    }

    /// Notes whether something of the reservation at this address is accessible.
    fn note(&mut self, at: u64) {
        let islands = &self.islands;
        let Some((&start, taken)) = self.taken.range_mut(..=at).next_back() else {
            return;
        };
        let is_open = islands.meets(start, taken.end);
        self.open = self.open + usize::from(is_open) - usize::from(taken.open);
        taken.open = is_open;
    }

    /// Gives the reservation whose memory at `at` has just become accessible large pages, if it is
    /// large and has none yet, or what is new of it. Returns where it begins.
    fn widen(&mut self, new: &Range<u64>) -> Option<u64> {
        let (&first, taken) = self.taken.range_mut(..=new.start).next_back()?;
        // Reservations side by side that are accessible up to each other form one island.
        let (start, end) = self.islands.around(new.start)?;
        let (start, end) = (start.max(first), end.min(taken.end));
        if end - start < wide::LARGE || self.blanks.meets(start, end) {
            return None;
        }
        if taken.wide {
            wide::advise(new, true);
        } else if self.wide < wide::MOST {
            taken.wide = true;
            self.wide += 1;
            wide::advise(&(start..end), true);
        } else {
            return None;
        }
        Some(start)
    }

    /// Takes large pages from the reservation at `at`, of which a part is to have no memory: Linux
    /// would give it some.
    fn narrow(&mut self, at: u64) {
        let Some((&first, taken)) = self.taken.range_mut(..=at).next_back() else {
            return;
        };
        if std::mem::take(&mut taken.wide) {
            self.wide -= 1;
            for (start, end) in self.islands.common(first, taken.end) {
                wide::advise(&(start..end), false);
            }
        }
    }

    /// Replaces whatever is accessible in the range, of one reservation, by inaccessible addresses.
    /// False where Linux has no mapping left for that: what is accessible there is blank then.
    fn close(&mut self, at: u64, end: u64) -> bool {
        if !self.islands.meets(at, end) {
            return true;
        }
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // A new mapping and not madvise with mprotect: one system call instead of two, and Linux
        // also forgets the old pages' state, so that the inaccessible mappings on both sides become
        // one again.
        // SAFETY: the range is reserved, so it lies within a mapping of ours; only the kernel's
        // callers hold addresses of it, and they have given its contents up.
        let done = unsafe {
            rustix::mm::mmap_anonymous(at as *mut _, (end - at) as usize, ProtFlags::empty(), flags)
        };
        if done.is_err() {
            // No mapping is left, whoever has taken the spare ones. The memory goes all the same,
            // and nobody is given the addresses again before they are closed.
            clear(at, end - at);
            for (start, stop) in self.islands.common(at, end) {
                self.blanks.insert(start, stop);
            }
            return false;
        }
        self.islands.remove(at, end);
        self.hidden.remove(at, end);
        self.blanks.remove(at, end);
        self.note(at);
        true
    }

    /// Returns the bytes of memory.
    fn bytes(&self) -> u64 {
        self.islands.bytes() - self.blanks.bytes()
    }
}

impl Memory {
    /// Makes an allocator without addresses yet; at most `limit` bytes accessible at once.
    pub(crate) fn new(limit: u64) -> Self {
        let max_map_count = std::fs::read_to_string("/proc/sys/vm/max_map_count")
            .ok()
            .and_then(|text| text.trim().parse::<usize>().ok())
            .unwrap_or(65_530);
        // An island takes two mappings: itself, and the inaccessible addresses behind it.
        let max_islands = max_map_count.saturating_sub(SPARE_MAPPINGS) / 2;
        Self {
            limit,
            max_islands,
            shortage: AtomicU8::new(0),
            refused: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most bytes accessible at once.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the resource that the last refused request lacked, and the remedy.
    pub(crate) fn shortage(&self) -> hal::Shortage {
        let shortage = Shortage::ALL[usize::from(self.shortage.load(Relaxed))];
        let (what, remedy) = shortage.describe();
        let more = self.refused.load(Relaxed);
        let bytes = matches!(shortage, Shortage::Addresses)
            .then(|| (more, addresses().saturating_add(more)));
        hal::Shortage {
            what,
            bytes,
            remedy,
        }
    }

    fn short(&self, of: Shortage) {
        self.shortage.store(of as u8, Relaxed);
    }

    /// Returns the bytes accessible now, and the number of islands they form.
    pub(crate) fn used(&self) -> (u64, usize) {
        let state = self.state();
        (state.bytes(), state.islands.count())
    }

    pub(crate) fn reserve(&self, bytes: u64) -> Option<Reservation> {
        let bytes = rounded(bytes)?;
        let at = self.take(bytes)?;
        // SAFETY: taken out of the free ranges, so in no other reservation; arenas are mappings of
        // our own.
        Some(unsafe { Reservation::new(at, bytes) })
    }

    fn take(&self, bytes: u64) -> Option<u64> {
        let mut state = self.state();
        if let Some(at) = state.free.take(bytes) {
            state.give(at, bytes);
            return Some(at);
        }
        for size in [ARENA.max(bytes), SMALL_ARENA.max(bytes), bytes] {
            if size.checked_add(ALIGN).is_none() {
                continue;
            }
            if let Ok(at) = map_arena(size) {
                state.arenas.insert(at, at + size);
                state.free.insert(at, at + size);
                let at = state.free.take(bytes)?;
                state.give(at, bytes);
                return Some(at);
            }
        }
        self.refused.store(bytes, Relaxed);
        self.short(Shortage::Addresses);
        None
    }

    pub(crate) fn release(&self, addresses: Reservation) {
        let mut state = self.state();
        let (at, end) = (addresses.at(), addresses.at() + addresses.bytes());
        state.check("release", at, end);
        if state.close(at, end) {
            let gone = state.taken.remove(&at);
            state.wide -= usize::from(gone.is_some_and(|taken| taken.wide));
            state.free.insert(at, end);
        }
    }

    pub(crate) fn commit(&self, part: Part<'_>) -> bool {
        let Range { start: at, end } = part.range();
        let bytes = end - at;
        if bytes == 0 {
            return true;
        }
        let mut state = self.state();
        state.check("commit", at, end);
        // Only of what could not be closed is anything hidden still.
        for (start, stop) in state.hidden.common(at, end) {
            if !protect(start, stop, MprotectFlags::READ | MprotectFlags::WRITE) {
                self.short(Shortage::Mappings);
                return false;
            }
            state.hidden.remove(start, stop);
        }
        let already = state.islands.overlap(at, end);
        let blank = state.blanks.overlap(at, end);
        if state.bytes() + blank + (bytes - already) > self.limit {
            self.short(Shortage::Limit);
            return false;
        }
        if already == bytes {
            state.blanks.remove(at, end);
            clear(at, bytes);
            return true;
        }
        let islands = state.islands.count();
        if islands >= self.max_islands || islands + state.open >= 2 * self.max_islands {
            self.short(Shortage::Mappings);
            return false;
        }
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        if !protect(at, end, access) {
            // Part of the range may have become accessible before Linux found that it cannot split
            // a mapping.
            state.islands.insert(at, end);
            state.note(at);
            if already == 0 {
                state.close(at, end);
            }
            self.short(Shortage::Memory);
            return false;
        }
        state.islands.insert(at, end);
        state.note(at);
        state.blanks.remove(at, end);
        if already > 0 {
            clear(at, bytes);
        }
        let wide = state.widen(&(at..end));
        drop(state);
        // Nobody else gives up what the caller holds a part of.
        if let Some(start) = wide {
            wide::grown(start, &(at..end));
        }
        true
    }

    pub(crate) fn blank(&self, part: Part<'_>) {
        let Range { start, end } = part.range();
        let mut state = self.state();
        assert!(
            state.islands.overlap(start, end) == end - start,
            "{start:#x} to {end:#x} is to be blank and not accessible"
        );
        state.narrow(start);
        state.blanks.insert(start, end);
        clear(start, end - start);
    }

    pub(crate) fn decommit(&self, part: Part<'_>) {
        let Range { start, end } = part.range();
        let mut state = self.state();
        state.check("decommit", start, end);
        state.close(start, end);
    }

    /// Takes the access away and keeps the memory: to give it back takes a fault for each page when it
    /// is needed again.
    pub(crate) fn hide(&self, part: Part<'_>) -> bool {
        let Range { start, end } = part.range();
        let mut state = self.state();
        let whole = state.islands.overlap(start, end) == end - start;
        if !whole || state.blanks.meets(start, end) || state.hidden.count() >= MOST_HIDDEN {
            return false;
        }
        // Also where Linux refuses: some of it may have no access then, until it is closed, or
        // committed again if that fails, too.
        state.hidden.insert(start, end);
        protect(start, end, MprotectFlags::empty())
    }

    pub(crate) fn reveal(&self, part: Part<'_>) -> bool {
        let Range { start, end } = part.range();
        let mut state = self.state();
        assert!(
            state.hidden.overlap(start, end) == end - start,
            "{start:#x} to {end:#x} is to be revealed and not hidden"
        );
        let revealed = protect(start, end, MprotectFlags::READ | MprotectFlags::WRITE);
        if revealed {
            state.hidden.remove(start, end);
        }
        revealed
    }

    pub(crate) fn discard(&self, part: Part<'_>) {
        let Range { start, end } = part.range();
        self.state().check("discard", start, end);
        clear(start, end - start);
    }
}

/// Changes the access to a part of an island; false if Linux has no mapping left for that.
fn protect(start: u64, end: u64, access: MprotectFlags) -> bool {
    let bytes = (end - start) as usize;
    // SAFETY: the caller has checked that the range is reserved, and only its owner uses it.
    unsafe { rustix::mm::mprotect(start as *mut _, bytes, access) }.is_ok()
}

/// Drops the contents of a reserved range; its accessible part then reads as zero.
fn clear(at: u64, bytes: u64) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the caller has checked that the range is reserved, and its owner gives the contents
    // up. For private anonymous memory this advice is no hint: Linux promises zeros.
    let clear =
        || unsafe { rustix::mm::madvise(at as *mut _, bytes as usize, Advice::LinuxDontNeed) };
    let done = clear().or_else(|errno| match errno {
        // What the program that the system is in has locked, Linux does not drop.
        Errno::INVAL => {
            unlock(at, bytes);
            clear()
        }
        errno => Err(errno),
    });
    if let Err(errno) = done {
        panic!("cannot clear memory at {at:#x}: {errno}");
    }
}

/// Returns the bytes that this process may use: the machine's available memory, or its control
/// group's limit, if that is less.
pub(crate) fn machine_bytes() -> u64 {
    let available = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find(|line| line.starts_with("MemAvailable:"))?;
            Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
        });
    let group = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .filter_map(|path| {
        std::fs::read_to_string(path)
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    })
    .min();
    let bytes = available.unwrap_or(1 << 30).min(group.unwrap_or(u64::MAX));
    bytes / PAGE * PAGE
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
