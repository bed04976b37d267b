//! Images with flipped bits, cut off or overwritten: a mount refuses them or they are used without
//! a panic, and what is read is bounded.

mod common;

use common::model::{Model, step};
use common::{Ram, options};
use sing_store::{Error, MountOptions, NodeId, Progress, ROOT, Store};
use std::sync::OnceLock;

/// An image with some life in it.
fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let mut random = fastrand::Rng::with_seed(11);
        let disk = Store::format(Ram::new(2 << 20), &options()).expect("format");
        let mut store = Store::mount(disk, &MountOptions::default()).expect("mount");
        let mut model = Model::new();
        for _ in 0..400 {
            step(&mut store, &mut model, &mut random, |_| false);
        }
        store.unmount().expect("unmount").0
    })
}

/// Does everything there is to do; returns how often it was refused.
fn exercise(store: &mut Store<Ram>) -> usize {
    let mut refused = 0;
    let mut note = |failed: bool| refused += usize::from(failed);
    note(store.check(5).is_err());
    for id in (0..60).map(NodeId) {
        note(store.attributes(id).is_err());
        note(store.hold(id).is_err());
        let mut buffer = vec![0; 20_000];
        note(store.read_at(id, 1000, &mut buffer).is_err());
        note(store.read_link(id).is_err());
        note(store.parent(id).is_err());
        let mut cookie = 0;
        for _ in 0..20 {
            let entries = store.list(id, cookie, 7).unwrap_or_default();
            let Some(last) = entries.last() else { break };
            assert!(last.cookie > cookie, "a listing goes backwards");
            cookie = last.cookie;
        }
        note(store.write_at(id, 3000, &[1; 9000], 5).is_err());
        note(store.set_size(id, 2000, 5).is_err());
        note(store.create(id, "new", 5).is_err());
        note(store.rename((id, "a"), (ROOT, "b"), 5).is_err());
        note(store.rename((ROOT, "c"), (id, "d"), 5).is_err());
        note(store.unlink(id, "e", 5).is_err());
        note(store.link(id, ROOT, "linked", 5).is_err());
        note(store.remove_directory(id, "d", 5).is_err());
        let _ = store.release(id);
    }
    for _ in 0..300 {
        if !matches!(store.tidy(), Ok(Progress::More)) {
            break;
        }
    }
    note(store.sync().is_err());
    note(store.reclaim().is_err());
    note(store.check(5).is_err());
    refused
}

/// Whether it was mounted.
fn attempt(image: Vec<u8>) -> bool {
    let disk = Ram(image);
    let options = MountOptions {
        cache: 1 << 18,
        ..MountOptions::default()
    };
    match Store::mount(disk, &options) {
        Ok(mut store) => {
            exercise(&mut store);
            true
        }
        Err(_) => false,
    }
}

#[test]
fn an_image_in_order_is_exercised() {
    assert!(attempt(image().to_vec()));
}

#[test]
fn flipped_bits_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(3);
    let rounds = if cfg!(debug_assertions) { 300 } else { 3000 };
    let (mut mounted, mut refused) = (0, 0);
    for _ in 0..rounds {
        let mut image = image().to_vec();
        let length = image.len();
        for _ in 0..random.usize(1..20) {
            // Mostly where the metadata is: at the front and at the end.
            let at = match random.u8(..4) {
                0 => random.usize(..5 * 4096),
                1 => random.usize(..length),
                _ => length - 1 - random.usize(..length / 4),
            };
            image[at] ^= 1 << random.u8(..8);
        }
        if attempt(image) {
            mounted += 1
        } else {
            refused += 1
        }
    }
    assert!(
        mounted > 0 && refused > 0,
        "{mounted} mounted, {refused} refused"
    );
}

#[test]
fn overwritten_blocks_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(4);
    let rounds = if cfg!(debug_assertions) { 200 } else { 2000 };
    for _ in 0..rounds {
        let mut image = image().to_vec();
        let blocks = image.len() / 4096;
        for _ in 0..random.usize(1..6) {
            let to = match random.bool() {
                true => random.usize(..blocks),
                false => blocks - 1 - random.usize(..blocks / 4),
            } * 4096;
            match random.u8(..3) {
                0 => image[to..to + 4096].fill(random.u8(..)),
                // A block that was valid elsewhere.
                1 => {
                    let from = random.usize(..blocks) * 4096;
                    image.copy_within(from..from + 4096, to);
                }
                _ => random.fill(&mut image[to..to + 4096]),
            }
        }
        attempt(image);
    }
}

#[test]
fn an_image_that_is_cut_off_is_refused() {
    for blocks in [0, 1, 2, 3, 5, 100, 255, 256, 400, 511] {
        let mut image = image().to_vec();
        image.truncate(blocks * 4096);
        let refused = Store::mount(Ram(image), &MountOptions::default()).err();
        let fits = matches!(refused, Some(Error::NotStore | Error::Corrupt(_)));
        assert!(fits, "{blocks} blocks: {refused:?}");
    }
}

#[test]
fn what_is_no_file_system_is_refused() {
    for byte in [0, 0xFF, b'S'] {
        let disk = Ram(vec![byte; 1 << 20]);
        assert_eq!(
            Store::mount(disk, &MountOptions::default()).err(),
            Some(Error::NotStore)
        );
    }
    assert_eq!(
        Store::format(Ram::new(1 << 19), &options()).err(),
        Some(Error::TooSmall)
    );
}

#[test]
fn a_first_block_that_is_damaged_has_a_copy() {
    let mut image = image().to_vec();
    image[..4096].fill(0);
    assert!(attempt(image));
}
