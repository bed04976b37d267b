use super::*;
use alloc::boxed::Box;

#[test]
fn reuses_and_keeps_addresses() {
    let s: Box<Slab<AtomicU32>> = Box::default();
    let (a, ra) = s.take().unwrap();
    let (b, _) = s.take().unwrap();
    assert_ne!(a, b);
    ra.store(7, Ordering::Relaxed);
    s.give(a);
    assert_eq!(s.live(), 1);
    let (c, rc) = s.take().unwrap();
    assert_eq!((a, 7), (c, rc.load(Ordering::Relaxed)));
    let more: Vec<u32> = (0..1000).map(|_| s.take().unwrap().0).collect();
    assert!(more.is_sorted());
    assert_eq!(s.live(), 1002);
    assert!(s.get(5000).is_none() && s.get(u32::MAX).is_none());
}

#[test]
fn marks_what_is_in_use() {
    let s: Box<Slab<AtomicU32>> = Box::default();
    let (a, _) = s.take().unwrap();
    let (b, _) = s.take().unwrap();
    s.give(a);
    assert!(!s.is_live(a) && s.is_live(b) && !s.is_live(b + 1) && !s.is_live(u32::MAX));
    assert_eq!(s.in_use().map(|(i, _)| i).collect::<Vec<u32>>(), [b]);
    assert_eq!(s.all().count(), 2);
}

#[test]
#[should_panic(expected = "given back twice")]
fn a_record_is_given_back_once() {
    let s: Box<Slab<AtomicU32>> = Box::default();
    let (a, _) = s.take().unwrap();
    s.give(a);
    s.give(a);
}

#[test]
fn every_index_has_a_place_of_its_own() {
    let ends = |k: u32| ((1u64 << (k + FIRST)) - (1 << FIRST)) as u32;
    for k in 0..24 {
        assert_eq!(place(ends(k)), (k as usize, 0));
        let last = (1usize << (k + FIRST)) - 1;
        assert_eq!(place(ends(k + 1) - 1), (k as usize, last));
    }
    assert_eq!(place(NONE).0, 24);
}

/// Hands out memory of one leaked piece, page by page, until its allowance is spent.
struct Scarce {
    at: u64,
    reserved: AtomicU64,
    left: AtomicU64,
}

// SAFETY: the pieces that it reserves do not overlap and are never freed.
unsafe impl Ground for Scarce {
    fn reserve(&self, bytes: u64) -> Option<u64> {
        Some(self.at + self.reserved.add(bytes))
    }

    fn commit(&self, _: u64, bytes: u64) -> bool {
        let enough = self.left.load(Ordering::Relaxed) >= bytes;
        if enough {
            self.left.sub(bytes);
        }
        enough
    }

    fn blank(&self, at: u64, bytes: u64) {
        // SAFETY: part of the leaked piece; the store no longer uses it.
        unsafe { ptr::write_bytes(at as *mut u8, 0, bytes as usize) };
        self.left.add(bytes);
    }
}

#[test]
fn a_store_ends_where_memory_does_and_not_before() {
    const BYTES: usize = 64 << 20;
    let memory: &'static mut [u8] = Vec::leak(alloc::vec![0; BYTES + PAGE]);
    let ground: &'static Scarce = Box::leak(Box::new(Scarce {
        at: (memory.as_mut_ptr() as u64).next_multiple_of(PAGE as u64),
        reserved: AtomicU64::new(0),
        left: AtomicU64::new(BYTES as u64 / 4 / STEP as u64 * STEP as u64),
    }));
    let s: Box<Slab<[u64; 16]>> = Box::default();
    let record = Slab::<[u64; 16]>::RECORD;
    let take = || s.take_from(|| Some(ground)).map(|t| t.0);
    let taken = core::iter::from_fn(take).count() as u32;
    assert!(u64::from(taken) * record > BYTES as u64 / 4 - 2 * STEP as u64);
    assert!(ground.left.load(Ordering::Relaxed) < STEP as u64);
    s.give(taken - 1);
    assert_eq!((take(), take()), (Some(taken - 1), None));
    // With more memory, the store resumes.
    ground.left.add(STEP as u64);
    assert_eq!(take(), Some(taken));
}

#[test]
fn memory_of_free_records_comes_back_and_others_stay_as_they_are() {
    const BYTES: usize = 32 << 20;
    let memory: &'static mut [u8] = Vec::leak(alloc::vec![0; BYTES + PAGE]);
    let ground: &'static Scarce = Box::leak(Box::new(Scarce {
        at: (memory.as_mut_ptr() as u64).next_multiple_of(PAGE as u64),
        reserved: AtomicU64::new(0),
        left: AtomicU64::new(BYTES as u64),
    }));
    let s: Box<Slab<[AtomicU32; 17]>> = Box::default();
    let take = || s.take_from(|| Some(ground)).unwrap();
    let trim = |thorough| {
        let more = s.has_surplus(thorough);
        more.then(|| s.step(&mut s.free.lock(), Some(ground)))
    };
    let total = 100_000;
    let mut all: Vec<u32> = Vec::new();
    for n in 0..total {
        let (i, record) = take();
        assert_eq!((i, record[16].load(Ordering::Relaxed)), (n, 0));
        record.iter().for_each(|w| w.store(!i, Ordering::Relaxed));
        all.push(i);
    }
    let full = ground.left.load(Ordering::Relaxed);
    assert!(trim(false).is_none());
    // All but a few records are given back, in no order, some of them during a pass.
    let mut kept = Vec::new();
    let mut x = 1u64;
    while let Some(last) = all.len().checked_sub(1) {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let i = all.swap_remove((x >> 33) as usize % (last + 1));
        if i % 20_000 == 7 || i > 95_000 && i.is_multiple_of(2) {
            kept.push(i);
        } else {
            s.give(i);
        }
        if x >> 60 == 0 {
            trim(false);
        }
    }
    while trim(true).is_some() {}
    let back = ground.left.load(Ordering::Relaxed) - full;
    assert!(back > 80_000 * Slab::<[AtomicU32; 17]>::RECORD, "{back}");
    let same = |kept: &[u32]| {
        kept.iter().all(|&i| {
            s.is_live(i)
                && s.get(i)
                    .is_some_and(|r| r.iter().all(|w| w.load(Ordering::Relaxed) == !i))
        })
    };
    assert!(same(&kept) && s.live() as usize == kept.len());
    assert!(s.get(50_000).is_none() && !s.is_live(50_000));
    assert_eq!(s.in_use().count(), kept.len());
    // All memory can be used again: each record once, with no more memory than at first.
    let again: Vec<u32> = (kept.len()..total as usize).map(|_| take().0).collect();
    let mut each: Vec<u32> = again.iter().chain(&kept).copied().collect();
    each.sort_unstable();
    assert!(each.iter().copied().eq(0..total) && same(&kept));
    assert_eq!(ground.left.load(Ordering::Relaxed), full);
    assert!(trim(false).is_none());
    again.iter().chain(&kept).for_each(|&i| s.give(i));
    while trim(true).is_some() {}
    assert_eq!((s.live(), take().0 < BYTES as u32), (0, true));
    assert!(ground.left.load(Ordering::Relaxed) > BYTES as u64 - (512 << 10));
}
