//! T2: yielding the processor, on one core: threads of a process, and processes.
//!
//! Linux's scheduler need not switch at every `sched_yield`, so both sides count their yields, and
//! the cost is the time divided by all yields: from one return to the next, on whichever side.

use crate::host::{Child, Cores, check, pin};
use crate::measure::{Peer, cycles};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Yields of our side in a sample.
const COUNT: u64 = 200;

/// The peers.
pub fn peers() -> Vec<Peer> {
    vec![
        Peer::new("T2", "linux sched_yield, threads", threads),
        Peer::new("T2", "linux sched_yield, processes", processes),
    ]
}

fn give_way() {
    // SAFETY: takes nothing, always succeeds.
    unsafe { libc::sched_yield() };
}

/// Our side; `others` counts the other's yields.
fn samples(n: usize, others: &AtomicU64) -> Vec<f64> {
    // Until the other side has started.
    while others.load(Relaxed) < 10 {
        give_way();
    }
    let one = |_| {
        let (start, before) = (cycles(), others.load(Relaxed));
        for _ in 0..COUNT {
            give_way();
        }
        let took = cycles() - start;
        took as f64 / (COUNT + others.load(Relaxed) - before) as f64
    };
    (0..n).map(one).collect()
}

fn threads(n: usize) -> io::Result<Vec<f64>> {
    let core = Cores::find()?.first;
    let others = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let thread = {
        let (others, stop) = (Arc::clone(&others), Arc::clone(&stop));
        std::thread::spawn(move || {
            pin(core)?;
            while !stop.load(Relaxed) {
                others.fetch_add(1, Relaxed);
                give_way();
            }
            io::Result::Ok(())
        })
    };
    let all = samples(n, &others);
    stop.store(true, Relaxed);
    thread
        .join()
        .map_err(|_| io::Error::other("the other thread panicked"))??;
    Ok(all)
}

fn processes(n: usize) -> io::Result<Vec<f64>> {
    let others = Shared::new()?;
    let _child = Child::fork(Cores::find()?.first, || {
        others.word(0).fetch_add(1, Relaxed);
        give_way();
        Ok(())
    })?;
    Ok(samples(n, others.word(0)))
}

/// A page that a child shares with us.
pub struct Shared(*mut AtomicU64);

impl Shared {
    const BYTES: usize = 4096;

    /// A page of zeros.
    pub fn new() -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping that overlaps no other.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), Self::BYTES, access, flags, -1, 0) };
        check(at as i64)?;
        Ok(Self(at.cast()))
    }

    /// A word of it, on a cache line of its own.
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < Self::BYTES / 64);
        // SAFETY: within the page, which lives as long as this value; atomics may be shared with
        // the child.
        unsafe { &*self.0.add(index * 8) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no word of it outlives this value.
        unsafe { libc::munmap(self.0.cast(), Self::BYTES) };
    }
}
