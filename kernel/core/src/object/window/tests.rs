//! Tests of a window, with an IOMMU that only notes what it is told.

use super::*;
use crate::ground::trusted::tests::small;
use crate::object::account;
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::DMA_READ;

/// Bytes of a block, all of one size: the machine of these tests is small.
const BLOCK: u32 = 2 * PAGE as u32;
/// What the manifest declares.
const MOST: u64 = 4 * PAGE;

fn block(account: &'static Account) -> u32 {
    assert!(account.charge(exheap::cost(BLOCK)));
    exheap::allocate(BLOCK, 0, account).unwrap().0
}

fn wanted(allocation: u32, start: u32, len: u32, kind: u32) -> Wanted {
    Wanted {
        allocation,
        start,
        len,
        kind,
    }
}

/// The pages that the device reaches: addresses, and what it may do.
fn reached() -> Vec<(u64, DeviceAccess)> {
    small().window.lock().values().copied().collect()
}

fn base(allocation: u32) -> u64 {
    exheap::get(allocation).unwrap().block.get().base()
}

fn free(allocation: u32) {
    exheap::free_later(allocation, &mut Work::little());
}

#[test]
fn a_device_reaches_the_pages_of_what_is_mapped_until_it_is_unmapped() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let window = Window::new();
    let (a, b) = (block(account), block(account));
    let map = |wanted: &Wanted| window.map(0, wanted, MOST, account);
    let first = map(&wanted(a, 512, BLOCK - 512, DMA_WRITE)).unwrap();
    assert_eq!(first % PAGE, 512);
    let page = base(a);
    let (write, both) = (DeviceAccess::Write, DeviceAccess::Both);
    assert_eq!(reached(), [(page, write), (page + PAGE, write)]);
    let second = map(&wanted(b, 4096, 64, DMA_SHARED)).unwrap();
    assert_eq!(reached()[2..], [(base(b) + PAGE, both)]);
    // Only what is shared is the driver's, too, and no byte behind it.
    assert!(window.shared(first).is_none());
    let (memory, offset) = window.shared(second + 8).unwrap();
    assert_eq!(memory.store(offset, 8, 7), Some(()));
    assert_eq!(memory.load(offset, 8), Some(7));
    assert_eq!(memory.load(offset + 56, 8), None);
    assert_eq!(memory.load(offset + 1, 2), None);
    assert_eq!(memory.load(offset, 3), None);
    // By the address that was returned, and no other.
    for wrong in [0, first + 1, second + 8, 1 << 40, u64::MAX] {
        assert_eq!(window.unmap(0, wrong), Err(status::NOT_FOUND), "{wrong:#x}");
    }
    assert_eq!(window.unmap(0, first), Ok(a));
    assert_eq!(reached(), [(base(b) + PAGE, both)]);
    window.finish(first);
    assert_eq!(window.unmap(0, first), Err(status::NOT_FOUND));
    free(a);
    // What is left goes with the window.
    assert!(window.allocations_are_there(exheap::is_there) && exheap::is_there(b));
    small().window.lock().clear();
    window.dispose(&mut Work::little());
    assert!(!exheap::is_there(b));
}

#[test]
fn what_a_device_must_not_have_is_refused_and_nothing_is_mapped() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let window = Window::new();
    let a = block(account);
    let map = |wanted: &Wanted| window.map(0, wanted, MOST, account);
    let bad = Err(status::BAD_ARGUMENT);
    assert_eq!(map(&wanted(a, 0, BLOCK + 1, DMA_READ)), bad);
    assert_eq!(map(&wanted(a, BLOCK, 0, DMA_READ)), bad);
    assert_eq!(map(&wanted(a, 1, u32::MAX, DMA_READ)), bad);
    assert_eq!(map(&wanted(a, 0, 64, 3)), bad);
    let little = window.map(0, &wanted(a, 0, BLOCK, DMA_READ), PAGE, account);
    assert_eq!(little, bad);
    exheap::get(a).unwrap().block.set_read_only(true);
    assert_eq!(map(&wanted(a, 0, 64, DMA_WRITE)), bad);
    assert_eq!(map(&wanted(a, 0, 64, DMA_SHARED)), bad);
    exheap::get(a).unwrap().block.set_read_only(false);
    // Two blocks on one page.
    let (rest, _) = exheap::get(a).unwrap().split(2048).unwrap();
    let held = Err(status::HELD);
    assert_eq!(map(&wanted(a, 0, 64, DMA_READ)), held);
    assert_eq!(map(&wanted(rest, 0, 64, DMA_READ)), held);
    // The second page is one's alone.
    assert!(map(&wanted(rest, 2048, 4096, DMA_READ)).is_ok());
    assert_eq!(reached().len(), 1);
    // No more than is declared.
    let (b, c) = (block(account), block(account));
    assert!(map(&wanted(b, 0, BLOCK, DMA_READ)).is_ok());
    let full = map(&wanted(c, 0, BLOCK, DMA_READ));
    assert_eq!((full, reached().len()), (Err(status::WOULD_BLOCK), 3));
    small().window.lock().clear();
    window.dispose(&mut Work::little());
    free(a);
    free(c);
}

#[test]
fn what_a_device_may_still_reach_is_not_given_back() {
    let _alone = crate::alone();
    small();
    let account = account::root().unwrap();
    let window = Window::new();
    let a = block(account);
    let map = |wanted: &Wanted| window.map(0, wanted, MOST, account);
    let address = map(&wanted(a, 0, BLOCK, DMA_WRITE)).unwrap();
    small().stuck.store(true, Relaxed);
    assert_eq!(window.unmap(0, address), Err(status::CLOSED));
    assert!(exheap::is_there(a));
    small().stuck.store(false, Relaxed);
    assert_eq!(window.unmap(0, address), Ok(a));
    // Its place in the caller's table may fail to be: it is still the window's.
    assert_eq!(window.unmap(0, address), Ok(a));
    window.finish(address);
    window.dispose(&mut Work::little());
    assert!(exheap::is_there(a));
    free(a);
}
