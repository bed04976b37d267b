//! Tests of reserving, committing and freeing memory, and of the heap.

use crate::probe::{Access, attempt};
use crate::run::{Outcome, check, versus};
use alloc::vec;
use alloc::vec::Vec;
use sing_kernel::hal::{Hal, Reservation};
use sing_pc::Pc;
use sing_pc::inside::{LOW, PAGE, frame_counts, kept_for_heap, take_run};

/// A reservation that is released at the end.
pub struct Reserved {
    range: Reservation,
    pub at: u64,
    pub bytes: u64,
}

impl Reserved {
    pub fn new(bytes: u64) -> Self {
        let range = Pc.reserve(bytes).expect("addresses are plenty");
        Reserved {
            at: range.at(),
            range,
            bytes,
        }
    }

    /// Commits the pages from an address on.
    pub fn commit(&mut self, at: u64, bytes: u64) -> bool {
        Pc.commit(self.range.part(at - self.at, bytes))
    }

    fn decommit(&mut self, at: u64, bytes: u64) {
        Pc.decommit(self.range.part(at - self.at, bytes));
    }

    fn discard(&mut self, at: u64, bytes: u64) {
        Pc.discard(self.range.part(at - self.at, bytes));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        Pc.release(core::mem::take(&mut self.range));
    }
}

/// The words of memory that the test has committed.
fn words(at: u64, bytes: u64) -> &'static mut [u64] {
    // SAFETY: the tests pass memory that they have committed, and use one such slice at a time.
    unsafe { core::slice::from_raw_parts_mut(at as *mut u64, bytes as usize / 8) }
}

fn is_zero(at: u64, bytes: u64) -> bool {
    words(at, bytes).iter().all(|&w| w == 0)
}

fn faults(at: u64) -> bool {
    attempt(Access::Read, at, 0).is_some_and(|f| f.address == at)
        && attempt(Access::Write, at, 0).is_some_and(|f| f.address == at)
}

pub fn commits_zeroed() -> Outcome {
    let mut r = Reserved::new(4 << 30);
    check!(
        r.at.is_multiple_of(64 * 1024),
        "not aligned to 64 KiB: {:#x}",
        r.at
    );
    check!(faults(r.at), "reserved memory is accessible");
    // Across the border of two page tables.
    let (at, bytes) = (r.at + (2 << 20) - 5 * PAGE, 10 * PAGE);
    check!(r.commit(at, bytes), "refused");
    check!(is_zero(at, bytes), "not zero");
    check!(
        faults(at - 1) && faults(at + bytes),
        "neighbours are accessible"
    );
    words(at, bytes).fill(u64::MAX);
    // A second commit keeps the contents; new pages are zero.
    check!(r.commit(at, bytes + PAGE), "refused");
    check!(
        words(at, bytes).iter().all(|&w| w == u64::MAX),
        "changed by a second commit"
    );
    check!(is_zero(at + bytes, PAGE), "new page not zero");
    Ok(())
}

pub fn decommits() -> Outcome {
    let mut r = Reserved::new(64 * PAGE);
    for round in 0..3 {
        check!(r.commit(r.at, r.bytes), "refused");
        check!(is_zero(r.at, r.bytes), "not zero in round {round}");
        words(r.at, r.bytes).fill(0x1234_5678);
        let (_, before) = frame_counts();
        r.decommit(r.at + PAGE, r.bytes - 2 * PAGE);
        check!(
            frame_counts().1 == before + 62,
            "{}",
            versus(frame_counts().1, before + 62)
        );
        for page in 1..63 {
            check!(
                faults(r.at + page * PAGE),
                "page {page} is still accessible"
            );
        }
        check!(
            words(r.at, PAGE)[0] == 0x1234_5678,
            "the page before has changed"
        );
        r.decommit(r.at, r.bytes);
    }
    Ok(())
}

pub fn discards() -> Outcome {
    let mut r = Reserved::new(4 << 20);
    check!(r.commit(r.at, 1 << 20), "refused");
    words(r.at, 1 << 20).fill(7);
    r.discard(r.at + PAGE, r.bytes - PAGE);
    check!(
        words(r.at, PAGE).iter().all(|&w| w == 7),
        "the page before has changed"
    );
    check!(is_zero(r.at + PAGE, (1 << 20) - PAGE), "not zero");
    words(r.at, 1 << 20).fill(8);
    check!(
        faults(r.at + (1 << 20)),
        "what was not committed has become accessible"
    );
    Ok(())
}

pub fn refuses_too_much() -> Outcome {
    let (total, before) = frame_counts();
    check!(before <= total, "{before} of {total} free");
    let mut r = Reserved::new((total + 1) * PAGE);
    check!(!r.commit(r.at, r.bytes), "committed more than there is");
    check!(
        faults(r.at) && faults(r.at + r.bytes - PAGE),
        "some of it is accessible"
    );
    check!(
        frame_counts().1 == before,
        "{}",
        versus(frame_counts().1, before)
    );

    // Nearly all memory beside the heap's share can be committed and is good; beyond that, each
    // page is refused.
    let kept = kept_for_heap();
    let bytes = (before - before / 256 - 16 - kept) * PAGE;
    check!(
        r.commit(r.at, bytes),
        "refused {bytes} bytes of {before} pages"
    );
    for page in (0..bytes).step_by(PAGE as usize) {
        words(r.at + page, PAGE)[1] = page;
    }
    for page in (0..bytes).step_by(PAGE as usize) {
        check!(
            words(r.at + page, PAGE)[1] == page,
            "two pages share a frame at {page:#x}"
        );
    }
    let mut more = bytes;
    while more < r.bytes && r.commit(r.at + more, PAGE) {
        more += PAGE;
    }
    check!(more < r.bytes, "more pages than there are");
    check!(faults(r.at + more), "the page refused is accessible");
    check!(!Pc.is_short(), "the heap's share counts as used");
    drop(r);
    check!(
        frame_counts().1 == before,
        "{}",
        versus(frame_counts().1, before)
    );
    Ok(())
}

pub fn takes_runs() -> Outcome {
    let (total, before) = frame_counts();
    let mut runs = Vec::new();
    for (count, align, limit) in [
        (1, PAGE, LOW),
        (16, 64 * 1024, LOW),
        (512, 2 << 20, u64::MAX),
        (3, PAGE, 16 << 20),
        (16, PAGE, u64::MAX),
    ] {
        let mut run = take_run(count, align, limit).ok_or("none, of nearly all memory")?;
        let at = run.physical();
        check!(
            at.start.is_multiple_of(align),
            "{at:x?} is not aligned to {align:#x}"
        );
        check!(
            at.end <= limit && at.end - at.start == count * PAGE,
            "{at:x?} for {count} frames"
        );
        check!(run.bytes().iter().all(|&b| b == 0), "not cleared");
        run.bytes().fill(runs.len() as u8 + 1);
        runs.push(run);
    }
    check!(
        frame_counts().1 == before - 548,
        "{}",
        versus(frame_counts().1, before - 548)
    );
    for (i, run) in runs.iter_mut().enumerate() {
        check!(
            run.bytes().iter().all(|&b| b == i as u8 + 1),
            "two runs overlap"
        );
    }
    let mut starts: Vec<u64> = runs.iter().map(|r| r.physical().start).collect();
    starts.dedup();
    check!(starts.len() == 5, "the same run twice");
    for (count, align, limit) in [
        (0, PAGE, LOW),
        (total, PAGE, u64::MAX),
        (u64::MAX, PAGE, u64::MAX),
        (1, PAGE, PAGE),
        (1, 1 << 50, u64::MAX),
    ] {
        check!(
            take_run(count, align, limit).is_none(),
            "{count} frames below {limit:#x}"
        );
    }
    drop(runs);
    check!(
        frame_counts().1 == before,
        "{}",
        versus(frame_counts().1, before)
    );
    Ok(())
}

pub fn releases_everything() -> Outcome {
    let mut neighbour = Reserved::new(PAGE);
    check!(neighbour.commit(neighbour.at, PAGE), "refused");
    words(neighbour.at, PAGE).fill(99);
    let (_, before) = frame_counts();
    for round in 0..50 {
        let mut r = Reserved::new((4 << 30) + (32 << 20));
        for far in [0, 1 << 20, 3 << 20, 1 << 30, (4 << 30) - PAGE] {
            check!(r.commit(r.at + far, PAGE), "refused");
        }
        // In some rounds a part is decommitted before the release.
        if round % 2 == 0 {
            r.decommit(r.at, 8 << 20);
        }
        drop(r);
        check!(
            frame_counts().1 == before,
            "{}",
            versus(frame_counts().1, before)
        );
    }
    check!(
        words(neighbour.at, PAGE).iter().all(|&w| w == 99),
        "a neighbour has changed"
    );
    Ok(())
}

pub fn reserves_apart() -> Outcome {
    let size = (4 << 30) + (32 << 20);
    let mut all: Vec<Reserved> = (0..10_000).map(|_| Reserved::new(size)).collect();
    let mut starts: Vec<u64> = all.iter().map(|r| r.at).collect();
    starts.sort_unstable();
    check!(
        starts.windows(2).all(|w| w[1] - w[0] >= size),
        "two reservations overlap"
    );
    let arena = Pc.code_arena();
    check!(
        starts
            .iter()
            .all(|&s| s >= arena.end || s + size <= arena.start),
        "in the code arena"
    );
    // Every second one, then a size that no gap has.
    let mut odd = false;
    all.retain(|_| {
        odd = !odd;
        odd
    });
    let large = Reserved::new(size + 1);
    check!(
        all.iter()
            .all(|r| r.at + size <= large.at || large.at + size < r.at),
        "overlaps"
    );
    check!(
        Pc.reserve(1 << 60).is_none(),
        "more addresses than there are"
    );
    check!(
        Pc.reserve(u64::MAX).is_none(),
        "more addresses than there are"
    );
    Ok(())
}

pub fn heap_grows() -> Outcome {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize
    };
    let mut held: Vec<Vec<u8>> = Vec::new();
    for i in 0..5_000 {
        let size = if i % 100 == 0 {
            200_000
        } else {
            1 + random() % 3_000
        };
        held.push(vec![i as u8; size]);
        if random() % 3 == 0 {
            let v = held.swap_remove(random() % held.len());
            check!(v.iter().all(|&b| b == v[0]), "a block has changed");
        }
    }
    check!(
        held.iter().all(|v| v.iter().all(|&b| b == v[0])),
        "a block has changed"
    );
    #[repr(align(8192))]
    struct Aligned(u8);
    let aligned = alloc::boxed::Box::new(Aligned(1));
    check!(
        (&raw const *aligned as u64).is_multiple_of(8192),
        "not aligned"
    );
    check!(aligned.0 == 1, "changed");
    Ok(())
}
