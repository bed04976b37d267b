//! Disks that fail and disks that are full: an operation that fails has changed nothing, and all
//! goes on afterwards.

mod common;

use common::faulty::Faulty;
use common::model::{Model, check, compare, step, tidy_all};
use common::{Ram, options};
use sing_store::{Error, MountOptions, ROOT, Store};

fn mount<D: sing_store::Disk>(disk: D) -> Result<Store<D>, Error> {
    let options = MountOptions {
        cache: 1 << 17,
        changes: 64,
        ..MountOptions::default()
    };
    Store::mount(disk, &options)
}

/// Random operations on a disk of which some requests fail; returns how many it was asked for.
fn with_faults(seed: u64, first: u64, count: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = Faulty::new(Store::format(Ram::new(2 << 20), &options()).expect("format"));
    disk.fail(first..first + count);
    let Ok(mut store) = mount(disk.clone()) else {
        disk.fail(0..0);
        check(&mut mount(disk).expect("mount after a fault"));
        return u64::MAX;
    };
    let mut model = Model::new();
    for _ in 0..160 {
        step(&mut store, &mut model, &mut random, |e| {
            matches!(e, Error::Disk(_))
        });
    }
    let requests = disk.requests();
    disk.fail(0..0);
    compare(&mut store, &model);
    store.sync().expect("a sync after the faults");
    check(&mut store);
    drop(store);
    model.forget_held();
    let mut store = mount(disk).expect("mount");
    compare(&mut store, &model);
    tidy_all(&mut store);
    check(&mut store);
    requests
}

#[test]
fn a_disk_that_fails_at_any_request_costs_nothing_but_that_operation() {
    let all = with_faults(1, 0, 0);
    assert!(all > 200, "only {all} requests");
    for first in 1..all {
        with_faults(1, first, 1 + first % 4);
    }
    for seed in 2..20 {
        with_faults(seed, 40 * seed, 30);
    }
}

#[test]
fn a_full_disk_refuses_what_grows_and_goes_on() {
    let mut refused = 0;
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let size = [1 << 20, 3 << 19, 2 << 20][seed as usize % 3];
        let disk = Store::format(Ram::new(size), &options()).expect("format");
        let mut store = mount(disk).expect("mount");
        // Nearly all of the space is gone from the beginning on.
        let ballast = store.create(ROOT, "ballast", 1).expect("ballast");
        let mut at = 0;
        while let Ok(()) = store.write_at(ballast, at, &[1; 4096], 1) {
            at += 4096;
        }
        assert!(
            at > size as u64 / 8,
            "only {at} of {size} bytes are for files"
        );
        let mut model = Model::new();
        store.unlink(ROOT, "ballast", 1).expect("unlink");
        tidy_all(&mut store);
        for count in 0..400 {
            let full = |e| e == Error::NoSpace;
            let before = store.space().free;
            step(&mut store, &mut model, &mut random, full);
            refused += u32::from(before < 16 << 10);
            if count % 40 == 0 {
                compare(&mut store, &model);
                check(&mut store);
            }
        }
        store.sync().expect("sync");
        compare(&mut store, &model);
        let disk = store.unmount().expect("unmount");
        model.forget_held();
        let mut store = mount(disk).expect("mount");
        compare(&mut store, &model);
        check(&mut store);
        // Everything can be removed, and then there is as much space as before.
        remove_all(&mut store, ROOT);
        tidy_all(&mut store);
        store.sync().expect("sync");
        store.reclaim().expect("reclaim");
        check(&mut store);
        let free = store.space().free;
        assert!(free > at / 2, "{free} bytes are free, of {at}");
    }
    assert!(refused > 100, "the disk was full {refused} times only");
}

fn remove_all(store: &mut Store<Ram>, directory: sing_store::NodeId) {
    for entry in store.list(directory, 0, 1000).expect("list") {
        if entry.kind == sing_store::Kind::Directory {
            remove_all(store, entry.node);
            store
                .remove_directory(directory, &entry.name, 9)
                .expect("rmdir");
        } else {
            store.unlink(directory, &entry.name, 9).expect("unlink");
        }
    }
}

#[test]
fn what_stands_can_be_overwritten_on_a_full_disk() {
    let disk = Store::format(Ram::new(2 << 20), &options()).expect("format");
    let mut store = mount(disk).expect("mount");
    let file = store.create(ROOT, "file", 1).expect("file");
    let mut size = 0;
    while let Ok(()) = store.write_at(file, size, &[1; 4096], 1) {
        size += 4096;
    }
    let mut made = 0;
    while store.create(ROOT, &format!("{made}"), 1).is_ok() {
        made += 1;
    }
    for offset in [0, 5, 5000, size - 7] {
        store
            .write_at(file, offset, b"other", 2)
            .expect("an overwrite in place");
    }
    assert_eq!(
        store.write_at(file, size, &[0; 4096], 2),
        Err(Error::NoSpace)
    );
    store.sync().expect("sync");
    check(&mut store);
}

#[test]
fn names_fill_a_disk_and_go_again() {
    let disk = Store::format(Ram::new(1 << 20), &options()).expect("format");
    let mut store = mount(disk).expect("mount");
    let mut rounds = Vec::new();
    for _ in 0..4 {
        let mut made = 0u32;
        while store
            .create(ROOT, &format!("a file with a number, {made}"), 1)
            .is_ok()
        {
            made += 1;
        }
        store.sync().expect("sync");
        check(&mut store);
        for number in 0..made {
            store
                .unlink(ROOT, &format!("a file with a number, {number}"), 2)
                .expect("unlink");
        }
        tidy_all(&mut store);
        store.sync().expect("sync");
        check(&mut store);
        rounds.push(made);
    }
    // The metadata's space is used again.
    assert!(rounds[3] > 100 && rounds[3] >= rounds[0] / 2, "{rounds:?}");
}
