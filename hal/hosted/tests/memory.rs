//! Addresses, memory and code of the hosted machine.

mod common;

use common::{access, mappings};
use sing_hosted::{Config, HostedHal};
use sing_kernel::hal::{Hal, Reservation};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const LIMIT: u64 = 256 << 20;
const SLOT: u64 = (4 << 30) + (32 << 20);

/// The machine, one test at a time: they count mappings.
fn hal() -> (&'static HostedHal, MutexGuard<'static, ()>) {
    static HAL: OnceLock<&'static HostedHal> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = Config {
        memory_limit: Some(LIMIT),
        ..Config::default()
    };
    (HAL.get_or_init(|| HostedHal::new(config).unwrap()), one)
}

fn bytes(at: u64, len: u64) -> &'static mut [u8] {
    assert_eq!(access(at, len), "rw-");
    // SAFETY: accessible, as just seen, and used by one test at a time.
    unsafe { std::slice::from_raw_parts_mut(at as *mut u8, len as usize) }
}

fn all_zero(at: u64, len: u64) -> bool {
    bytes(at, len).iter().all(|b| *b == 0)
}

/// Bytes of memory that Linux has given this process.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn what_is_blank_has_no_memory_and_reads_as_zero() {
    const BYTES: u64 = 64 << 20;
    let (hal, _one) = hal();
    let mut range = hal.reserve(BYTES).unwrap();
    let at = range.at();
    let (used, islands) = hal.memory_used();
    for _ in 0..3 {
        let before = resident();
        assert!(hal.commit(range.part(0, BYTES)));
        assert!(all_zero(at, BYTES));
        bytes(at, BYTES).fill(0xee);
        assert!(resident() > before + BYTES * 9 / 10);
        assert_eq!(hal.memory_used(), (used + BYTES, islands + 1));
        hal.blank(range.part(4096, BYTES - 8192));
        assert!(resident() < before + BYTES / 10);
        assert_eq!(hal.memory_used(), (used + 8192, islands + 1));
        assert!(all_zero(at + 4096, BYTES - 8192));
        assert_eq!((bytes(at, 1)[0], bytes(at + BYTES - 1, 1)[0]), (0xee, 0xee));
        // Bytes written there are lost.
        bytes(at + 8192, 10).fill(1);
        assert!(hal.commit(range.part(4096, 1 << 20)));
        assert!(all_zero(at + 4096, 1 << 20));
        assert_eq!(hal.memory_used().0, used + 8192 + (1 << 20));
        hal.decommit(range.part(0, BYTES));
        assert_eq!(hal.memory_used(), (used, islands));
    }
    // A blank is not counted against the limit, and memory again is.
    assert!(hal.commit(range.part(0, BYTES)));
    hal.blank(range.part(0, BYTES));
    let mut rest = hal.reserve(LIMIT).unwrap();
    let all = LIMIT - used;
    assert!(hal.commit(rest.part(0, all)));
    assert!(!hal.commit(range.part(0, BYTES)));
    hal.decommit(rest.part(0, BYTES));
    assert!(hal.commit(range.part(0, BYTES)));
    hal.release(rest);
    hal.release(range);
}

#[test]
fn what_is_committed_is_zero_whatever_was_there_before() {
    let (hal, _one) = hal();
    let mut range = hal.reserve(1 << 20).unwrap();
    let at = range.at();
    assert_eq!(at % 65_536, 0);
    assert_eq!(access(at, 1 << 20), "---");
    for round in 0..3 {
        assert!(hal.commit(range.part(4096, 64 << 10)));
        assert!(all_zero(at + 4096, 64 << 10), "round {round}");
        bytes(at + 4096, 64 << 10).fill(0xee);
        hal.discard(range.part(4096, 32 << 10));
        assert!(all_zero(at + 4096, 32 << 10), "round {round}");
        assert!(
            bytes(at + 4096 + (32 << 10), 32 << 10)
                .iter()
                .all(|b| *b == 0xee)
        );
        hal.decommit(range.part(4096, 64 << 10));
        assert_eq!(access(at, 1 << 20), "---");
    }
    // In pieces, some of them only partly there.
    assert!(hal.commit(range.part(0, 16 << 10)));
    assert!(hal.commit(range.part(32 << 10, 16 << 10)));
    bytes(at, 16 << 10).fill(1);
    hal.decommit(range.part(8 << 10, 32 << 10));
    assert!(hal.commit(range.part(8 << 10, 32 << 10)));
    assert!(bytes(at, 8 << 10).iter().all(|b| *b == 1));
    assert!(all_zero(at + (8 << 10), 40 << 10));
    // Released with memory in it, and reserved again: inaccessible, then zero.
    bytes(at, 48 << 10).fill(2);
    hal.release(range);
    assert_eq!(access(at, 1 << 20), "---");
    let mut again = hal.reserve(1 << 20).unwrap();
    assert!(hal.commit(again.part(0, 1 << 20)));
    assert!(all_zero(again.at(), 1 << 20));
    hal.release(again);
    assert_eq!(hal.memory_used(), (0, 0));
}

#[test]
fn no_more_than_the_limit_is_given() {
    let (hal, _one) = hal();
    assert_eq!(hal.total_pages(), LIMIT / 4096);
    let mut range = hal.reserve(2 * LIMIT).unwrap();
    assert!(hal.commit(range.part(0, LIMIT - 4096)));
    assert!(!hal.commit(range.part(LIMIT, 8192)));
    assert_eq!(
        access(range.at() + LIMIT, 8192),
        "---",
        "a commit that fails changes nothing"
    );
    assert!(hal.commit(range.part(LIMIT, 4096)));
    assert!(!hal.commit(range.part(LIMIT + 4096, 4096)));
    hal.decommit(range.part(0, 4096));
    assert!(hal.commit(range.part(LIMIT + 4096, 4096)));
    hal.release(range);
    assert_eq!(hal.memory_used(), (0, 0));
}

#[test]
fn ten_thousand_guarded_memories_fit() {
    let (hal, _one) = hal();
    let before = mappings().len();
    let mut slots: Vec<Reservation> = (0..10_000).map(|_| hal.reserve(SLOT).unwrap()).collect();
    assert!(
        mappings().len() < before + 100,
        "reserving must cost no mappings"
    );
    let mut sorted: Vec<u64> = slots.iter().map(Reservation::at).collect();
    sorted.sort_unstable();
    assert!(
        sorted.windows(2).all(|w| w[0] + SLOT <= w[1]),
        "reservations overlap"
    );
    for slot in &mut slots[..2000] {
        assert!(hal.commit(slot.part(0, 16 << 10)));
        bytes_unchecked(slot.at())[0] = 1;
    }
    assert_eq!(hal.memory_used(), (2000 * (16 << 10), 2000));
    assert!(
        mappings().len() < before + 4100,
        "an island must cost two mappings"
    );
    // Used, taken back and used again in another order, they must not crumble.
    for round in 0..3u64 {
        for (i, slot) in slots[..2000].iter_mut().enumerate() {
            if !(i as u64 * 7 + round).is_multiple_of(3) {
                hal.decommit(slot.part(0, SLOT));
                assert!(hal.commit(slot.part(0, 16 << 10)));
                bytes_unchecked(slot.at())[8192] = 2;
            }
        }
    }
    assert!(
        mappings().len() < before + 4100,
        "{} mappings",
        mappings().len()
    );
    for slot in slots {
        hal.release(slot);
    }
    assert_eq!(hal.memory_used(), (0, 0));
    assert!(
        mappings().len() < before + 100,
        "{} mappings left over",
        mappings().len()
    );
}

/// Without a look at the mappings, which takes long where there are many.
fn bytes_unchecked(at: u64) -> &'static mut [u8] {
    // SAFETY: the caller has committed 16 KiB there.
    unsafe { std::slice::from_raw_parts_mut(at as *mut u8, 16 << 10) }
}

#[test]
fn mappings_run_out_in_commit_and_nowhere_else() {
    let (hal, _one) = hal();
    let max: u64 = std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    if max * 8192 / 2 > LIMIT {
        return; // The memory limit would be reached first.
    }
    let mut range = hal.reserve(max * 8192).unwrap();
    let committed = (0..max)
        .take_while(|i| hal.commit(range.part(i * 8192, 4096)))
        .count() as u64;
    assert!(
        committed > max / 3 && committed < max / 2,
        "{committed} islands of {max}"
    );
    for i in 0..committed {
        hal.decommit(range.part(i * 8192, 4096));
    }
    assert!(hal.commit(range.part((max - 1) * 8192, 4096)));
    hal.release(range);
    assert_eq!(hal.memory_used(), (0, 0));
}

#[test]
fn more_addresses_than_there_are_is_none() {
    let (hal, _one) = hal();
    assert_eq!(hal.reserve(1 << 48), None);
    assert_eq!(hal.reserve(u64::MAX), None);
    let small = hal.reserve(1).unwrap();
    assert_eq!(small.bytes(), 65_536);
    hal.release(small);
}

// That released addresses are not used, and foreign ones not given up, is tested where the types
// say so: see `sing_kernel::hal::Reservation`.

#[test]
#[should_panic(expected = "not reserved")]
fn addresses_behind_a_reservation_are_not_committed() {
    let (hal, _one) = hal();
    let mut range = hal.reserve(65_536).unwrap();
    hal.commit(range.part(61_440, 8192));
}

#[test]
#[should_panic(expected = "not reserved")]
fn a_part_does_not_wrap_round() {
    let (hal, _one) = hal();
    let mut range = hal.reserve(65_536).unwrap();
    hal.decommit(range.part(u64::MAX - 4095, 8192));
}

#[test]
#[should_panic(expected = "not whole pages")]
fn parts_of_pages_are_not_committed() {
    let (hal, _one) = hal();
    let mut range = hal.reserve(65_536).unwrap();
    hal.commit(range.part(8, 4096));
}

#[test]
fn code_is_never_writable_and_executable() {
    let (hal, _one) = hal();
    let arena = hal.code_arena();
    let mut last = 0;
    for value in 0..64u8 {
        // mov eax, VALUE; ret
        let at = hal.load_code(&[0xb8, value, 0, 0, 0, 0xc3]).unwrap();
        assert!(at > last && arena.contains(&at) && at % 4096 == 0);
        last = at;
        assert_eq!(access(at, 4096), "r-x");
        // SAFETY: the code above, which returns a number.
        let function: extern "sysv64" fn() -> u32 = unsafe { std::mem::transmute(at as usize) };
        assert_eq!(function(), u32::from(value));
        // SAFETY: readable, as just seen.
        let rest = unsafe { std::slice::from_raw_parts((at + 6) as *const u8, 4090) };
        assert!(
            rest.chunks(2).all(|pair| pair == [0x0f, 0x0b]),
            "behind the code nothing runs"
        );
    }
    for mapping in mappings() {
        assert!(!mapping.access.ends_with("wx"), "{mapping:x?}");
        let inside = mapping.start < arena.end && mapping.end > arena.start;
        assert!(!inside || !mapping.access.contains('w'), "{mapping:x?}");
    }
    // Linux itself is refused a write there, which a fault in this process could not show.
    let zero = std::fs::File::open("/dev/zero").unwrap();
    // SAFETY: the kernel checks the address and refuses.
    let read = unsafe { libc::read(std::os::fd::AsRawFd::as_raw_fd(&zero), last as *mut _, 1) };
    assert_eq!(read, -1);
    assert_eq!(
        std::io::Error::last_os_error().raw_os_error(),
        Some(libc::EFAULT)
    );
}

#[test]
fn a_full_arena_is_none_and_stays_usable() {
    let (hal, _one) = hal();
    let arena = hal.code_arena();
    // A gigabyte of zeros that nobody touches.
    let too_much = vec![0; (arena.end - arena.start) as usize + 1];
    assert_eq!(hal.load_code(&too_much), None);
    assert!(hal.load_code(&[0xc3]).is_some());
    assert!(hal.load_code(&[]).is_some());
}

#[test]
fn there_is_one_machine_in_a_process() {
    let (_hal, _one) = hal();
    assert!(matches!(
        HostedHal::new(Config::default()),
        Err(sing_hosted::Error::AlreadyStarted)
    ));
}
