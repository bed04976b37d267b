//! Random operations on a store and on a simple model: they agree, whatever is mounted in between.

mod common;

use common::model::{Model, Step, check, compare, step, tidy_all};
use common::mounted;
use sing_store::{MountOptions, Store};

#[test]
fn random_operations_agree_with_a_model() {
    let rounds = if cfg!(debug_assertions) { 20 } else { 150 };
    for seed in 0..rounds {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut store = mounted(8 << 20);
        let mut model = Model::new();
        for count in 0..600 {
            step(&mut store, &mut model, &mut random, |_| false);
            if count % 20 == 0 {
                compare(&mut store, &model);
            }
            if random.u8(..100) == 0 {
                let disk = store.unmount().expect("unmount");
                let options = MountOptions {
                    cache: 1 << 18,
                    changes: random.usize(1..300),
                    verify: random.bool(),
                    ..MountOptions::default()
                };
                store = Store::mount(disk, &options).expect("mount");
                model.forget_held();
                compare(&mut store, &model);
            }
            if random.u8(..50) == 0 {
                check(&mut store);
            }
        }
        compare(&mut store, &model);
        check(&mut store);
        for id in std::mem::take(&mut model.held) {
            store.release(id).expect("release");
        }
        tidy_all(&mut store);
        check(&mut store);
    }
    let _ = Step::Synced;
}

#[test]
fn a_store_that_was_only_read_is_as_it_was() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut store = mounted(4 << 20);
    let mut model = Model::new();
    for _ in 0..200 {
        step(&mut store, &mut model, &mut random, |_| false);
    }
    let disk = store.unmount().expect("unmount");
    model.forget_held();
    let before = disk.0.clone();
    let options = MountOptions {
        read_only: true,
        ..MountOptions::default()
    };
    let mut store = Store::mount(disk, &options).expect("mount");
    compare(&mut store, &model);
    check(&mut store);
    assert_eq!(
        store.create(sing_store::ROOT, "new", 1),
        Err(sing_store::Error::ReadOnly)
    );
    let disk = store.unmount().expect("unmount");
    assert!(disk.0 == before, "the disk has changed");
}
