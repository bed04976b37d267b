//! Large pages of [`Memory`].

use super::*;

/// What Linux says of the mapping in which an address lies.
fn flags(at: u64) -> String {
    said(at, "VmFlags:")
}

/// The same under one name.
fn said(at: u64, name: &str) -> String {
    let all = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut found = false;
    for line in all.lines() {
        let ends = line.split(' ').next().and_then(|w| w.split_once('-'));
        let number = |text| u64::from_str_radix(text, 16).ok();
        if let Some((Some(from), Some(to))) = ends.map(|(a, b)| (number(a), number(b))) {
            found = (from..to).contains(&at);
        } else if let (true, Some(said)) = (found, line.strip_prefix(name)) {
            return said.trim().into();
        }
    }
    panic!("{at:#x} is in no mapping");
}

/// Puts a byte somewhere in a reservation that is accessible there; what was there.
fn put(at: u64, byte: u8) -> u8 {
    // SAFETY: a test's own reservation, to which nobody has references.
    unsafe { (at as *mut u8).replace(byte) }
}

/// Commits all of a reservation's first bytes in steps, and touches them.
fn grow(memory: &Memory, of: &mut Reservation, bytes: u64) {
    let step = 64 << 10;
    for from in (0..bytes).step_by(step as usize) {
        assert!(memory.commit(of.part(from, step)));
        for at in (from..from + step).step_by(PAGE as usize) {
            put(of.at() + at, 1);
        }
    }
}

#[test]
fn large_memories_have_large_pages() {
    let memory = Memory::new(u64::MAX);
    let asks = |of: &Reservation| flags(of.at()).split(' ').any(|flag| flag == "hg");
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    let (small, large) = (memory.reserve(1 << 30), memory.reserve(1 << 30));
    let (mut small, mut large) = (small.unwrap(), large.unwrap());
    grow(&memory, &mut small, wide::LARGE / 2);
    grow(&memory, &mut large, 2 * wide::LARGE);
    assert!(!asks(&small) && asks(&large));
    assert_eq!(memory.state().wide, 1);
    // What has no memory gets none.
    memory.blank(large.part(4 << 20, 1 << 20));
    assert!(!asks(&large));
    assert_eq!(memory.state().wide, 0);
    assert!(memory.commit(large.part(4 << 20, 1 << 20)));
    grow(&memory, &mut large, 3 * wide::LARGE);
    assert!(asks(&large));
    let kept = |at: u64| put(large.at() + at, 1);
    assert_eq!((kept(0), kept(4 << 20), kept(6 << 20)), (1, 1, 1));
    memory.release(large);
    assert_eq!(memory.state().wide, 0);
    memory.release(small);
}

#[test]
fn a_large_memory_behind_a_full_one_has_large_pages() {
    let memory = Memory::new(u64::MAX);
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    let (full, large) = (memory.reserve(ALIGN), memory.reserve(1 << 30));
    let (mut full, mut large) = (full.unwrap(), large.unwrap());
    assert_eq!(full.at() + ALIGN, large.at());
    assert!(memory.commit(full.part(0, ALIGN)));
    grow(&memory, &mut large, 2 * wide::LARGE);
    assert_eq!(memory.state().wide, 1);
    let has = |at: u64| flags(at).split(' ').any(|flag| flag == "hg");
    assert!(has(large.at()) && !has(full.at()));
    memory.release(large);
    memory.release(full);
}

#[test]
fn few_memories_have_large_pages() {
    let memory = Memory::new(u64::MAX);
    let mut all: Vec<_> = (0..wide::MOST + 2)
        .map(|_| memory.reserve(1 << 30).unwrap())
        .collect();
    for of in &mut all {
        assert!(memory.commit(of.part(0, wide::LARGE)));
    }
    assert_eq!(memory.state().wide, wide::MOST);
    for of in all {
        memory.release(of);
    }
    assert_eq!(memory.state().wide, 0);
}

#[test]
fn locked_memory_is_cleared() {
    let memory = Memory::new(u64::MAX);
    let mut of = memory.reserve(ALIGN).unwrap();
    assert!(memory.commit(of.part(0, ALIGN)));
    put(of.at(), 7);
    // SAFETY: the test's own memory, of which no contents change.
    let locked = unsafe { rustix::mm::mlock(of.at() as *mut _, PAGE as usize) };
    locked.expect("a page can be locked");
    memory.discard(of.part(0, ALIGN));
    assert_eq!(put(of.at(), 0), 0);
    memory.release(of);
}

#[test]
fn hidden_memory_has_no_access_and_keeps_its_pages() {
    // The pages that Linux has given to the mapping there.
    let pages = |at: u64| {
        let said = said(at, "Rss:");
        let kib = said.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        kib.unwrap() * 1024 / PAGE
    };
    let access = |at: u64| {
        let flags = flags(at);
        flags.split(' ').any(|flag| flag == "rd" || flag == "wr")
    };
    let memory = Memory::new(16 * PAGE);
    let mut of = memory.reserve(1 << 20).unwrap();
    assert!(memory.commit(of.part(0, 8 * PAGE)));
    let at = of.at();
    (0..8).for_each(|page| assert_eq!(put(at + page * PAGE, 0), 0));
    assert!(memory.hide(of.part(4 * PAGE, 4 * PAGE)));
    assert!(access(at) && !access(at + 4 * PAGE) && pages(at + 4 * PAGE) == 4);
    assert!(memory.reveal(of.part(4 * PAGE, 2 * PAGE)));
    assert!(access(at + 5 * PAGE) && !access(at + 6 * PAGE) && pages(at + 6 * PAGE) == 2);
    assert_eq!(put(at + 5 * PAGE, 1), 0);
    // It counts as what it is: memory.
    let mut further = memory.reserve(1 << 20).unwrap();
    assert!(!memory.commit(further.part(0, 9 * PAGE)));
    memory.decommit(of.part(5 * PAGE, 3 * PAGE));
    assert!(!access(at + 5 * PAGE) && memory.state().hidden.count() == 0);
    assert!(memory.commit(further.part(0, 9 * PAGE)));
    // What is not accessible has nothing to hide, and there are no more ranges than may be.
    assert!(!memory.hide(of.part(4 * PAGE, 2 * PAGE)));
    memory.release(further);
    memory.release(of);
    let many = Memory::new(u64::MAX);
    let mut all: Vec<Reservation> = (0..=MOST_HIDDEN)
        .map(|_| many.reserve(1 << 20).unwrap())
        .collect();
    let mut hidden = 0;
    for of in &mut all {
        assert!(many.commit(of.part(0, 2 * PAGE)));
        hidden += usize::from(many.hide(of.part(0, PAGE)));
    }
    assert_eq!(hidden, MOST_HIDDEN);
    all.into_iter().for_each(|of| many.release(of));
    assert_eq!(many.state().hidden.count(), 0);
}
