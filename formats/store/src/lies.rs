//! File systems whose checksums are right and whose records lie: a check finds each lie, and no
//! operation panics over it or goes on for ever.

mod steps;
mod told;

use crate::disk::{Disk, DiskFault};
use crate::records::{EntryValue, VOLUME_KEY, entry_key, key, key2, tag};
use crate::{
    Error, FormatOptions, Kind, LONGEST_TARGET, MountOptions, NodeId, Progress, ROOT, Store,
};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Bound;
use told::LIES;

struct Ram(Vec<u8>);

impl Disk for Ram {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        let end = offset as usize + buffer.len();
        let data = self
            .0
            .get(offset as usize..end)
            .ok_or(DiskFault::OutOfRange)?;
        buffer.copy_from_slice(data);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault> {
        let end = offset as usize + data.len();
        let place = self
            .0
            .get_mut(offset as usize..end)
            .ok_or(DiskFault::OutOfRange)?;
        place.copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DiskFault> {
        Ok(())
    }
}

/// The nodes of the file system that the lies are told about.
struct Nodes {
    directory: NodeId,
    file: NodeId,
    other: NodeId,
    link: NodeId,
}

fn truth() -> (Store<Ram>, Nodes) {
    truth_on(2 << 20)
}

fn truth_on(bytes: usize) -> (Store<Ram>, Nodes) {
    let options = FormatOptions {
        label: "l".into(),
        uuid: [1; 16],
        now: 1,
    };
    let disk = Store::format(Ram(vec![0; bytes]), &options).expect("format");
    let mut store = Store::mount(disk, &MountOptions::default()).expect("mount");
    let directory = store
        .make_directory(ROOT, "directory", 1)
        .expect("directory");
    let file = store.create(directory, "file", 1).expect("file");
    let other = store.create(ROOT, "other", 1).expect("other");
    for at in 0..4 {
        // Apart, so that there are several extents.
        store
            .write_at(file, at * 40_960, &[1; 9000], 2)
            .expect("write");
        store
            .write_at(other, at * 20_480, &[2; 9000], 2)
            .expect("write");
    }
    let link = store.make_link(directory, "link", "file", 1).expect("link");
    (
        store,
        Nodes {
            directory,
            file,
            other,
            link,
        },
    )
}

fn exercise(store: &mut Store<Ram>, nodes: &Nodes) {
    for id in [
        ROOT,
        nodes.directory,
        nodes.file,
        nodes.other,
        nodes.link,
        NodeId(77),
    ] {
        let _ = store.attributes(id);
        let _ = store.hold(id);
        let _ = store.read_at(id, 0, &mut [0; 50_000]);
        let _ = store.read_link(id);
        let _ = store.list(id, 0, 10);
        let _ = store.list_by_name(id, None, 10);
        let _ = store.parent(id);
        let _ = store.size(id);
        for offset in [0, 9_000, 50_000, u64::MAX] {
            let _ = store.locate(id, offset);
        }
        for name in ["directory", "file", "link", "other"] {
            let _ = store.lookup(id, name);
            let _ = store.rename((id, name), (nodes.directory, "x"), 3);
            let _ = store.rename((nodes.directory, "x"), (id, name), 3);
            let _ = store.link(nodes.file, id, "more", 3);
            let _ = store.unlink(id, "more", 3);
        }
        let _ = store.write_at(id, 10_000, &[7; 50_000], 3);
        let _ = store.set_size(id, 5000, 3);
        let _ = store.set_size(id, 100_000, 3);
        let _ = store
            .map(id, 0, u64::MAX, 64)
            .map(|reading| store.done(reading));
        let _ = store.release(id);
    }
    for (directory, name) in [
        (nodes.directory, "file"),
        (ROOT, "other"),
        (nodes.directory, "link"),
    ] {
        let _ = store.unlink(directory, name, 4);
    }
    let _ = store.remove_directory(ROOT, "directory", 4);
    let mut steps = 0;
    while store.tidy() == Ok(Progress::More) && steps < 1000 {
        steps += 1;
    }
    let _ = store.sync();
    let _ = store.reclaim();
    let _ = store.check(3);
}

#[test]
fn the_truth_is_clean() {
    let (mut store, nodes) = truth();
    assert_eq!(
        store.check(5).map(|report| report.texts),
        Ok(Vec::<String>::new())
    );
    exercise(&mut store, &nodes);
    assert!(store.check(5).expect("check").is_clean());
}

#[test]
fn each_lie_is_found_and_does_no_harm() {
    for (name, tell) in LIES {
        let (mut store, nodes) = truth();
        store.meta.begin();
        tell(&mut store, &nodes);
        let label = store.volume().label.clone();
        store.meta.put(VOLUME_KEY, &store.state.encode(&label));
        store.meta.commit().expect("commit");
        let disk = store.meta.close();
        drop(store.region);
        let disk = disk.into_disk().expect("disk");
        let mut store = match Store::mount(disk, &MountOptions::default()) {
            Ok(store) => store,
            Err(Error::Corrupt(_)) => continue,
            Err(error) => panic!("{name}: {error:?}"),
        };
        let report = store.check(5).expect("check");
        assert!(!report.is_clean(), "{name} is not found");
        exercise(&mut store, &nodes);
    }
}

#[test]
fn a_wrong_key_does_not_keep_what_was_removed_from_being_given_back() {
    let (mut store, nodes) = truth();
    let used = store.state.used;
    store.meta.begin();
    // Of many lengths, before and behind the node's own.
    for length in (1..9).chain(10..20) {
        let mut wrong = key(tag::TIDY, nodes.file.0).to_vec();
        wrong.resize(length, 0);
        store.meta.put(&wrong, &[]);
    }
    // Of nodes that are not there.
    for node in [0, 2, 77, u64::MAX - 1] {
        store.meta.put(&key(tag::TIDY, node), &[]);
    }
    assert_eq!(store.node(NodeId(77)), Err(Error::NotFound));
    store.unlink(nodes.directory, "file", 4).expect("unlink");
    let mut steps = 0;
    while store.tidy().expect("tidy") == Progress::More {
        steps += 1;
        assert!(steps < 100, "it goes on for ever");
    }
    assert_eq!(store.attributes(nodes.file), Err(Error::NotFound));
    assert!(store.state.used < used, "nothing was given back");
    assert!(!store.check(5).expect("check").is_clean());
}

#[test]
fn no_link_leads_further_than_one_can() {
    for target in [&[b'a'; LONGEST_TARGET + 1][..], b"", b"a\0b", b"\xFF"] {
        let (mut store, nodes) = truth();
        store.meta.begin();
        store.meta.put(&key(tag::TARGET, nodes.link.0), target);
        let read = store.read_link(nodes.link);
        assert!(matches!(read, Err(Error::Corrupt(_))), "{read:?}");
    }
}

#[test]
fn a_record_between_many_nodes_does_not_send_a_check_back() {
    let (mut store, nodes) = truth_on(64 << 20);
    let file = store.node(nodes.file).expect("node");
    store.meta.begin();
    // As many as are looked at in one go, and then what is no node.
    let more = 32_768 - store.state.nodes;
    for id in 1000..1000 + more {
        store.put_node(NodeId(id), &file);
    }
    store.meta.put(&[tag::NODE, 1], &file.encode());
    store.meta.put(&[tag::NODE, 0xFF], &file.encode());
    let report = store.check(5).expect("check");
    assert!(!report.is_clean());
    assert_eq!(report.nodes, 32_768);
}

#[test]
fn no_listing_has_an_invalid_name() {
    for invalid in ["../x", "..", "a/b", "nul\0"] {
        let (mut store, nodes) = truth();
        let entry = EntryValue {
            node: nodes.file,
            kind: Kind::File,
            cookie: 9,
        };
        store.meta.begin();
        let by_name = entry_key(nodes.directory, invalid);
        store.meta.put(&by_name, &entry.encode());
        let by_cookie = key2(tag::COOKIE, nodes.directory.0, 9);
        store.meta.put(&by_cookie, &entry.encode_named(invalid));
        let listed = store.list(nodes.directory, 0, 10);
        assert!(matches!(listed, Err(Error::Corrupt(_))), "{invalid:?}");
        let named = store.list_by_name(nodes.directory, None, 10);
        assert!(matches!(named, Err(Error::Corrupt(_))), "{invalid:?}");
    }
}

#[test]
fn records_in_no_order_do_not_keep_a_look_going_for_ever() {
    let (mut store, nodes) = truth();
    for number in 0..60 {
        let name = alloc::format!("file {number}");
        store
            .create(nodes.directory, &name, 1)
            .expect("a file more");
    }
    let image = store.unmount().expect("unmount").0;
    let begins = key(tag::COOKIE, nodes.directory.0);
    let keys: Vec<usize> = (0..image.len() - 17)
        .filter(|&at| image[at..].starts_with(&begins))
        .map(|at| at + 9)
        .collect();
    assert!(keys.len() >= 60, "{}", keys.len());
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    for _ in 0..200 {
        let mut image = image.clone();
        for _ in 0..random.usize(1..8) {
            let [one, other] = [(); 2].map(|()| keys[random.usize(..keys.len())]);
            for byte in 0..8 {
                image.swap(one + byte, other + byte);
            }
        }
        let options = MountOptions {
            verify: false,
            ..MountOptions::default()
        };
        let mut store = Store::mount(Ram(image), &options).expect("mount");
        let mut cookie = 0;
        for _ in 0..100 {
            let Ok(entries) = store.list(nodes.directory, cookie, 7) else {
                refused += 1;
                break;
            };
            let Some(last) = entries.last() else { break };
            assert!(last.cookie > cookie, "a listing goes backwards");
            cookie = last.cookie;
        }
        let end = [tag::COOKIE + 1];
        let mut from = Bound::Included(Vec::from([tag::COOKIE]));
        let mut looks = 0;
        while let Ok(Some((found, _))) = store.meta.next(from.as_ref().map(Vec::as_slice), &end) {
            looks += 1;
            assert!(looks < 10_000, "it goes on for ever");
            from = Bound::Excluded(found);
        }
    }
    assert!(refused > 0);
}

#[test]
fn regions_of_another_size_are_refused() {
    let (store, _) = truth();
    let image = store.unmount().expect("unmount").0;
    let begins = b"redb\x1A\x0A\xA9\x0D\x0A";
    let places: Vec<usize> = (0..image.len() - 64)
        .filter(|&at| image[at..].starts_with(begins))
        .collect();
    assert!(!places.is_empty());
    // The pages of a region's head, and those of its data.
    for (field, all) in [(16, &[1, 7, 1 << 20][..]), (20, &[1, 2, 7, 100, 1 << 19])] {
        for number in all {
            let mut image = image.clone();
            for at in &places {
                image[at + field..][..4].copy_from_slice(&u32::to_le_bytes(*number));
            }
            for verify in [true, false] {
                let options = MountOptions {
                    verify,
                    ..MountOptions::default()
                };
                let mounted = Store::mount(Ram(image.clone()), &options).map(drop);
                assert!(
                    matches!(mounted, Err(Error::Corrupt(_))),
                    "{field} {number}: {mounted:?}"
                );
            }
        }
    }
}

/// All records as they are.
fn records(store: &mut Store<Ram>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let from = match all.last() {
            Some((last, _)) => Bound::Excluded(last.as_slice()),
            None => Bound::Unbounded,
        };
        match store.meta.next(from, &[u8::MAX]).expect("a record") {
            Some(record) => all.push(record),
            None => return all,
        }
    }
}

/// Other bytes: some changed, extreme numbers in the place of some, some more or fewer.
fn other(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    let at = random.usize(..bytes.len().max(1));
    match random.u8(..6) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.u8(..8),
        2 if !bytes.is_empty() => {
            let value = [0, 1, 0x7F, 0x80, u8::MAX][random.usize(..5)];
            let end = (at + random.usize(1..9)).min(bytes.len());
            bytes[at..end].fill(value);
        }
        3 => bytes.truncate(at),
        4 => bytes.extend((0..random.usize(1..40)).map(|_| random.u8(..))),
        _ => {
            for byte in bytes.iter_mut().skip(1) {
                *byte = random.u8(..);
            }
        }
    }
}

#[test]
fn any_lies_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(23);
    let (mut found, mut refused) = (0, 0);
    for _ in 0..400 {
        let (mut store, nodes) = truth();
        let all = records(&mut store);
        store.meta.begin();
        for _ in 0..random.usize(1..5) {
            let (mut key, mut value) = all[random.usize(..all.len())].clone();
            match random.u8(..4) {
                0 => store.meta.remove(&key),
                1 => {
                    // A further record, or one in the place of this one.
                    if random.bool() {
                        store.meta.remove(&key);
                    }
                    other(&mut random, &mut key);
                    if random.bool() {
                        other(&mut random, &mut value);
                    }
                    store.meta.put(&key, &value);
                }
                _ => {
                    other(&mut random, &mut value);
                    store.meta.put(&key, &value);
                }
            }
        }
        store.meta.commit().expect("commit");
        let disk = store.meta.close();
        drop(store.region);
        let disk = disk.into_disk().expect("disk");
        match Store::mount(disk, &MountOptions::default()) {
            Ok(mut store) => {
                let report = store.check(5).expect("check");
                found += usize::from(!report.is_clean());
                exercise(&mut store, &nodes);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(
        found > 100 && refused > 0,
        "{found} found, {refused} refused"
    );
}
