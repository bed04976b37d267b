//! Tests of devices that do not confirm their reset, as the machine of these tests has two: the
//! first one reaches memory all the same, the second one is cut off by the machine.

use super::*;
use crate::ground::trusted::tests::small;
use crate::object::account;
use crate::object::exheap;
use crate::object::queue::tests::{block, part, set_up};
use sing_abi::REQUEST_LOST;

/// A device that has a holder and a request under way, and the block of that.
fn at_work(index: u32) -> (&'static Device, u32) {
    let account = account::root().unwrap();
    let device = get(index).unwrap();
    let mut s = device.state.lock();
    (s.holder, s.taken, s.open, s.references) = (9, true, true, 1);
    drop(s);
    set_up(&device.queues[0], account);
    let block = block(account);
    assert!(matches!(
        device.queues[0].add(&[part(block, 0, 64, true)]),
        Ok(0)
    ));
    (device, block)
}

/// Nobody gets it any more, though nobody has it.
fn is_set_aside(device: &Device) {
    let declared = DeviceUse {
        signatures: ["/virtio/99".into()].into(),
        ..DeviceUse::default()
    };
    assert!(device.matches(&declared) && device.is_broken());
    device.release();
    assert_eq!(device.holder(), 0);
    assert!(free(&declared).all(|other| other.index != device.index));
}

#[test]
fn what_an_unconfirmed_device_knew_of_stays_its_own() {
    let _alone = crate::alone();
    let _ticks = small().stubborn.ticks();
    let (device, block) = at_work(0);
    assert!(!device.cut_off());
    let looks = small().stubborn.looks(0);
    assert!(looks > 0);
    let queue = &device.queues[0];
    assert!(matches!(queue.first_done(), Ok(Err(status::WOULD_BLOCK))));
    device.dispose_queue(0, &mut Work::step());
    assert!(queue.is_used() && exheap::is_there(block));
    // It is not asked again: another reset would say nothing about the first.
    assert!(!device.stop() && !device.cut_off());
    assert_eq!(small().stubborn.looks(0), looks);
    is_set_aside(device);
    assert!(exheap::is_there(block));
}

#[test]
fn what_a_device_knew_of_comes_back_if_the_machine_cuts_it_off() {
    let _alone = crate::alone();
    let _ticks = small().stubborn.ticks();
    let (device, block) = at_work(1);
    assert!(device.cut_off());
    let queue = &device.queues[0];
    let Ok(Ok(done)) = queue.first_done() else {
        panic!("the request is taken back");
    };
    assert_eq!((done.written, done.allocations[0]), (REQUEST_LOST, block));
    queue.finish(&done);
    exheap::free(block);
    is_set_aside(device);
}
