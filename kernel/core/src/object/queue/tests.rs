//! Tests of a queue against a device that does as it likes.

use super::*;
use crate::ground::trusted::tests::small;
use crate::object::account;
use alloc::vec::Vec;

/// Bytes of a block.
const BLOCK: u32 = 2048;

/// A queue of so many descriptors, without a device, for blocks of this account.
fn queue(account: &'static Account, size: u16) -> Queue {
    let slot = |i: usize| Slot {
        next: i as u16 + 1,
        ..Slot::default()
    };
    let inner = Inner {
        ring: Ring::new(size).unwrap(),
        bell: Bell::silent(),
        slots: Charged::from_fn(usize::from(size), account, slot).unwrap(),
        free: 0,
        free_count: size,
        under_way: 0,
        lost: false,
    };
    Queue {
        inner: SpinLock::new(Some(inner)),
    }
}

/// Sets up a device's queue likewise.
pub(crate) fn set_up(of: &Queue, account: &'static Account) {
    *of.inner.lock() = queue(account, 16).inner.lock().take();
}

/// A block, all of one size: the machine of these tests is small.
pub(crate) fn block(account: &'static Account) -> u32 {
    assert!(account.charge(exheap::cost(BLOCK)));
    exheap::allocate(BLOCK, 0, account).unwrap().0
}

pub(crate) fn part(allocation: u32, start: u32, len: u32, writes: bool) -> Part {
    Part {
        allocation,
        start,
        len,
        writes,
    }
}

/// What the device claims to be done with.
fn claim(queue: &Queue, head: u32, len: u32) {
    queue.with(|q| q.ring.claim(head, len));
}

#[test]
fn what_a_device_claims_counts_once_and_only_for_what_it_has() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let q = queue(account, 16);
    let (a, b) = (block(account), block(account));
    let number = q.add(&[
        part(a, 0, 16, false),
        part(b, 0, BLOCK, true),
        part(a, 32, 1, true),
    ]);
    let number = number.unwrap();
    assert!(matches!(q.first_done(), Ok(Err(status::WOULD_BLOCK))));
    // More than was written can be.
    claim(&q, number.into(), u32::MAX);
    let Ok(Ok(done)) = q.first_done() else {
        panic!("it is done")
    };
    assert_eq!(
        (done.number, done.written, done.parts),
        (number, BLOCK + 1, 3)
    );
    assert_eq!(done.allocations[..3], [a, b, a]);
    q.finish(&done);
    assert!(matches!(q.first_done(), Ok(Err(status::WOULD_BLOCK))));
    // The same once more, although it has been taken back.
    claim(&q, number.into(), 0);
    assert!(matches!(q.first_done(), Err(Nonsense)));
    q.lose();
    assert!(matches!(q.first_done(), Ok(Err(status::CLOSED))));
    for a in [a, b] {
        exheap::free(a);
    }
}

#[test]
fn claims_that_cannot_be_are_nonsense() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    for head in [1, 16, 0x1_0000] {
        let q = queue(account, 16);
        let a = block(account);
        assert!(matches!(q.add(&[part(a, 0, 64, false)]), Ok(0)));
        claim(&q, head, 0);
        assert!(matches!(q.first_done(), Err(Nonsense)), "{head}");
        q.lose();
        q.dispose(&mut Work::step());
    }
    // Two are claimed, of which one is known: a count that runs ahead.
    let q = queue(account, 16);
    let a = block(account);
    assert!(matches!(q.add(&[part(a, 0, 64, false)]), Ok(0)));
    claim(&q, 0, 0);
    claim(&q, 0, 0);
    assert!(matches!(q.first_done(), Err(Nonsense)));
    // After a reset it comes back, once.
    q.lose();
    let Ok(Ok(done)) = q.first_done() else {
        panic!("it is taken back")
    };
    assert_eq!((done.written, done.allocations[0]), (REQUEST_LOST, a));
    q.finish(&done);
    assert!(matches!(q.first_done(), Ok(Err(status::CLOSED))));
    exheap::free(a);
    q.dispose(&mut Work::step());
}

#[test]
fn a_full_queue_says_so_and_keeps_nothing_of_what_it_refuses() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let q = queue(account, 16);
    let mut blocks = Vec::new();
    // Three parts each that are not neighbours: five requests fit, and a sixth does not.
    let add = || {
        let a = block(account);
        let parts = [
            part(a, 0, 8, false),
            part(a, 16, 8, false),
            part(a, 32, 8, true),
        ];
        let added = q.add(&parts);
        if added.is_err() {
            exheap::free(a);
        }
        added
    };
    for _ in 0..5 {
        blocks.push(add().unwrap());
    }
    assert!(matches!(add(), Err(status::WOULD_BLOCK)));
    // They come back in another order, and their descriptors serve again.
    for &number in blocks.iter().rev() {
        claim(&q, number.into(), 8);
    }
    let mut back = Vec::new();
    while let Ok(Ok(done)) = q.first_done() {
        q.finish(&done);
        back.push(done.number);
        exheap::free(done.allocations[0]);
    }
    assert!(back.iter().eq(blocks.iter().rev()));
    for _ in 0..5 {
        assert!(add().is_ok());
    }
    assert!(matches!(add(), Err(status::WOULD_BLOCK)));
    q.lose();
    q.dispose(&mut Work::step());
    assert!(matches!(q.add(&[]), Err(status::CLOSED)));
}

#[test]
fn who_tells_the_device_learns_what_is_done_already() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let q = queue(account, 4);
    let a = block(account);
    let number = q.add(&[part(a, 0, 8, false)]).unwrap();
    assert_eq!(q.notify(), Some(false));
    // Interrupts are wanted while nobody tells the device of anything.
    assert_eq!(q.with(|q| q.ring.are_interrupts_wanted()), Some(true));
    claim(&q, number.into(), 0);
    assert_eq!(q.notify(), Some(true));
    assert_eq!(q.with(|q| q.ring.are_interrupts_wanted()), Some(true));
    q.lose();
    assert_eq!(q.notify(), None);
    q.dispose(&mut Work::step());
}

#[test]
fn what_never_fits_is_told_from_what_does_not_fit_now() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let q = queue(account, 4);
    let a = block(account);
    // More parts, none neighbour of another, than the queue has descriptors.
    let parts: Vec<Part> = (0..5).map(|i| part(a, i * 64, 8, false)).collect();
    assert!(matches!(q.add(&parts), Err(status::BAD_ARGUMENT)));
    assert!(q.add(&parts[..4]).is_ok());
    q.lose();
    q.dispose(&mut Work::step());
}
