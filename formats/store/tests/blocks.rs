//! Who has which blocks: files that grow side by side stay in few pieces, and blocks that somebody
//! still reads or writes are nobody else's.

mod common;

use common::model::{check, tidy_all};
use common::{Ram, mounted};
use sing_store::{BLOCK, Error, NodeId, ROOT, Store};

fn append(store: &mut Store<Ram>, file: NodeId, bytes: u64) {
    let size = store.attributes(file).expect("attributes").size;
    let mut at = size;
    while at < size + bytes {
        let writing = store
            .prepare_write(file, at, size + bytes - at, 64)
            .expect("prepare");
        at = writing.end();
        store.written(writing, at, 1).expect("written");
    }
}

fn pieces(store: &mut Store<Ram>, file: NodeId) -> usize {
    let size = store.attributes(file).expect("attributes").size;
    let (mut at, mut count) = (0, 0);
    while at < size {
        let reading = store.map(file, at, size - at, 64).expect("map");
        count += reading.pieces.len();
        at += reading.bytes;
        store.done(reading);
    }
    count
}

#[test]
fn files_that_grow_side_by_side_stay_in_few_pieces() {
    let mut store = mounted(256 << 20);
    let names = ["a", "b", "c", "d"];
    let files = names.map(|name| store.create(ROOT, name, 1).expect("create"));
    for _ in 0..400 {
        for file in files {
            append(&mut store, file, 64 << 10);
        }
    }
    for file in files {
        let count = pieces(&mut store, file);
        assert!(count <= 16, "25 MiB in {count} pieces");
    }
    let alone = store.create(ROOT, "alone", 1).expect("create");
    for _ in 0..400 {
        append(&mut store, alone, 64 << 10);
    }
    let count = pieces(&mut store, alone);
    assert!(count <= 4, "25 MiB in {count} pieces");
    check(&mut store);
}

/// The blocks of a file, by their place on the disk.
fn places(store: &mut Store<Ram>, file: NodeId) -> Vec<u64> {
    let reading = store.map(file, 0, u64::MAX, 64).expect("map");
    let blocks = |p: &sing_store::Piece| {
        let disk = p.disk.expect("no hole");
        (disk..disk + p.bytes).step_by(BLOCK as usize)
    };
    let places = reading.pieces.iter().flat_map(blocks).collect();
    store.done(reading);
    places
}

#[test]
fn blocks_that_are_read_or_written_are_given_to_nobody() {
    for writes in [false, true] {
        let mut store = mounted(2 << 20);
        let file = store.create(ROOT, "file", 1).expect("create");
        append(&mut store, file, 400 << 10);
        store.sync().expect("sync");
        let old = places(&mut store, file);
        let reading = store.map(file, 0, u64::MAX, 64).expect("map");
        let writing = store
            .prepare_write(file, 0, 400 << 10, 64)
            .expect("prepare");
        store.unlink(ROOT, "file", 2).expect("unlink");
        let (mut reading, mut writing) = (Some(reading), Some(writing));
        if writes {
            store.done(reading.take().expect("reading"));
        } else {
            store.abandon(writing.take().expect("writing"));
        }
        tidy_all(&mut store);
        store.sync().expect("sync");
        tidy_all(&mut store);
        // Everything else is given away now.
        let other = store.create(ROOT, "other", 3).expect("create");
        let mut at = 0;
        loop {
            match store.prepare_write(other, at, BLOCK, 1) {
                Ok(new) => {
                    at = new.end();
                    store.written(new, at, 3).expect("written");
                }
                Err(Error::NoSpace) if store.reclaim().expect("reclaim") => {}
                Err(error) => {
                    assert_eq!(error, Error::NoSpace);
                    break;
                }
            }
        }
        let mut taken = std::collections::BTreeSet::new();
        let mut offset = 0;
        while offset < at {
            let part = store.map(other, offset, at - offset, 64).expect("map");
            for piece in &part.pieces {
                let disk = piece.disk.expect("no hole");
                taken.extend((disk..disk + piece.bytes).step_by(BLOCK as usize));
            }
            offset += part.bytes;
            store.done(part);
        }
        assert!(
            !old.iter().any(|place| taken.contains(place)),
            "writes: {writes}"
        );
        if let Some(reading) = reading {
            store.done(reading);
        }
        if let Some(writing) = writing {
            store
                .written(writing, 4096, 4)
                .expect("written to what is only held by that");
        }
        tidy_all(&mut store);
        store.sync().expect("sync");
        append(&mut store, other, 100 << 10);
        check(&mut store);
    }
}

#[test]
fn a_listing_goes_on_whatever_changes() {
    let mut store = mounted(4 << 20);
    for number in 0..300 {
        store
            .create(ROOT, &format!("stays {number}"), 1)
            .expect("create");
        store
            .create(ROOT, &format!("goes {number}"), 1)
            .expect("create");
    }
    let mut seen = Vec::new();
    let mut cookie = 0;
    for round in 0.. {
        let entries = store.list(ROOT, cookie, 10).expect("list");
        let Some(last) = entries.last() else { break };
        cookie = last.cookie;
        seen.extend(
            entries
                .iter()
                .map(|e| e.name.clone())
                .filter(|n| n.starts_with("stays")),
        );
        if round < 300 {
            let _ = store.unlink(ROOT, &format!("goes {}", (round * 7) % 300), 2);
            store
                .create(ROOT, &format!("comes {round}"), 2)
                .expect("create");
            store.sync().expect("sync");
        }
    }
    let wanted: Vec<_> = (0..300).map(|number| format!("stays {number}")).collect();
    assert_eq!(seen, wanted);
}
