//! Lies that take several steps to come past, or to be told from the truth.

use super::{Ram, exercise, truth};
use crate::records::{Extent, key, key2, tag};
use crate::sizes::MOST_LOOKS;
use crate::{BLOCK, Error, Progress, ROOT, Store};
use alloc::vec;

/// However many records are there for nothing, a call looks at a bounded number of them, and the calls come past all.
#[test]
fn many_wrong_keys_are_passed_over_in_steps() {
    const WRONG: usize = 5 * MOST_LOOKS;
    let (mut store, nodes) = truth();
    let used = store.state.used;
    store.meta.begin();
    // Most of one prefix, between the root's and the first file's; and of nodes that are not there, behind all.
    for number in 0..WRONG as u64 {
        store.meta.put(&key2(tag::TIDY, ROOT.0, number), &[]);
        store.meta.put(&key(tag::TIDY, 1000 + number), &[]);
    }
    store.unlink(nodes.directory, "file", 4).expect("unlink");
    let calls = |store: &mut Store<Ram>| {
        let done = (1..100).find(|_| store.tidy().expect("tidy") == Progress::Done);
        done.expect("it ends")
    };
    // Each call has looked at so many at most.
    assert!(calls(&mut store) > 2 * WRONG / MOST_LOOKS);
    assert_eq!(store.attributes(nodes.file), Err(Error::NotFound));
    assert!(store.state.used < used, "nothing was given back");
    // A file that is removed before the place to which tidying has come does not wait for the next removal.
    for _ in 0..WRONG / MOST_LOOKS + 1 {
        assert_eq!(store.tidy(), Ok(Progress::More));
    }
    store.unlink(ROOT, "other", 5).expect("unlink");
    calls(&mut store);
    assert_eq!(store.attributes(nodes.other), Err(Error::NotFound));
}

/// Extents that overlap, in a file or on the disk: a check names them; a file's bytes are the same however they
/// are asked for, and stay within what the file has; and what is removed is given back at most once.
#[test]
fn extents_that_overlap_are_read_and_given_back_safely() {
    let starts = |store: &mut Store<Ram>, file| {
        let found = store.extent_from(file, 0).expect("extent").expect("one");
        found.start
    };
    type Overlap = fn(u64, u64) -> Extent;
    let overlaps: [(&str, Overlap); 4] = [
        ("in the file", |_, _| Extent {
            first: 1,
            start: 200,
            blocks: 30,
        }),
        ("in the file, on the same blocks", |own, _| Extent {
            first: 1,
            start: own,
            blocks: 2,
        }),
        ("on the disk, of one file", |own, _| Extent {
            first: 60,
            start: own,
            blocks: 2,
        }),
        ("on the disk, of two", |_, other| Extent {
            first: 60,
            start: other,
            blocks: 2,
        }),
    ];
    for (name, overlap) in overlaps {
        let (mut store, nodes) = truth();
        let (own, other) = (
            starts(&mut store, nodes.file),
            starts(&mut store, nodes.other),
        );
        let extent = overlap(own, other);
        store.meta.begin();
        store.meta.put(&extent.key(nodes.file), &extent.encode());
        let mut node = store.node(nodes.file).expect("node");
        node.size = 64 * BLOCK;
        store.put_node(nodes.file, &node);
        assert!(!store.check(5).expect("check").is_clean(), "{name}");
        let mut whole = vec![9; 64 * BLOCK as usize];
        let read = store.read_at(nodes.file, 0, &mut whole).expect("read");
        assert_eq!(read, whole.len(), "{name}");
        for (at, piece) in whole.chunks(512).enumerate() {
            let mut again = [8; 512];
            let read = store.read_at(nodes.file, at as u64 * 512, &mut again);
            assert_eq!((read, &again[..]), (Ok(512), piece), "{name}: {at}");
        }
        // The bytes that are read are zeros or the two files' own.
        assert!(whole.iter().all(|byte| matches!(byte, 0..=2)), "{name}");
        let used = store.state.used;
        store.unlink(nodes.directory, "file", 4).expect("unlink");
        let more = (0..100).take_while(|_| store.tidy() == Ok(Progress::More));
        assert!(more.count() < 100, "{name}: it goes on for ever");
        assert!(store.state.used <= used, "{name}");
        // Nor is there anything that no operation can be done on.
        exercise(&mut store, &nodes);
        store.check(5).expect("check");
    }
}
