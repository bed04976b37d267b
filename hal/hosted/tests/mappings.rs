//! How many mappings the hosted machine takes: a process of Linux may have only so many.

mod common;

use common::mappings;
use sing_hosted::{Config, HostedHal};
use sing_kernel::hal::{Hal, Reservation};

/// Bytes of a reservation, the smallest that there is.
const PIECE: u64 = 64 << 10;

/// Reservations that lie side by side are one mapping, until every other one is given back.
#[test]
fn memory_can_be_taken_back_in_any_order() {
    let config = Config {
        memory_limit: Some(1 << 40),
        ..Config::default()
    };
    let hal = HostedHal::new(config).unwrap();
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let most: usize = most.trim().parse().unwrap();
    taken_back_without_a_mapping(hal, most);
    let taken = |bytes: u64| -> Option<Reservation> {
        let mut addresses = hal.reserve(bytes)?;
        if hal.commit(addresses.part(0, PIECE)) {
            return Some(addresses);
        }
        hal.release(addresses);
        None
    };
    // Each of these has a gap behind it: two mappings.
    let apart: Vec<Reservation> = (0..most / 6).map(|_| taken(2 * PIECE).unwrap()).collect();
    let beside: Vec<Reservation> = std::iter::from_fn(|| taken(PIECE)).take(most).collect();
    assert!(beside.len() > most / 4, "{} side by side", beside.len());
    assert!(mappings().len() < most);
    let (even, odd): (Vec<_>, Vec<_>) = beside
        .into_iter()
        .enumerate()
        .partition(|(i, _)| i % 2 == 0);
    for (_, addresses) in even {
        hal.release(addresses);
    }
    assert!(mappings().len() < most);
    for addresses in odd.into_iter().map(|(_, addresses)| addresses).chain(apart) {
        hal.release(addresses);
    }
    assert_eq!(hal.memory_used().0, 0);
}

/// Memory is taken back even if others in the process have taken all mappings.
fn taken_back_without_a_mapping(hal: &HostedHal, most: usize) {
    let (used, _) = hal.memory_used();
    let mut three: Vec<Reservation> = (0..3).map(|_| hal.reserve(PIECE).unwrap()).collect();
    for addresses in &mut three {
        assert!(hal.commit(addresses.part(0, PIECE)));
    }
    // Pages that are accessible in turns are a mapping each.
    let bytes = most * 2 * 4096;
    // SAFETY: a new mapping, which overlaps no other.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert_ne!(at, libc::MAP_FAILED);
    for page in (0..most * 2).step_by(2) {
        // SAFETY: a page of the mapping above, which nobody uses.
        if unsafe { libc::mprotect(at.byte_add(page * 4096), 4096, libc::PROT_READ) } != 0 {
            break;
        }
    }
    hal.release(three.remove(1));
    let (left, _) = hal.memory_used();
    // SAFETY: the mapping above, whole.
    assert_eq!(unsafe { libc::munmap(at, bytes) }, 0);
    assert_eq!(
        left,
        used + 2 * PIECE,
        "what has been given back is not used"
    );
    for addresses in three {
        hal.release(addresses);
    }
    assert_eq!(hal.memory_used().0, used);
}
