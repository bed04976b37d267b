//! The lies: each changes the records of a file system in order, so that a check has something to find.

use super::{Nodes, Ram};
use crate::records::{EntryValue, Extent, Node, State, encode_bitmap, entry_key, key, key2, tag};
use crate::{Kind, LONGEST_TARGET, NodeId, ROOT, Store};

fn change_node(store: &mut Store<Ram>, id: NodeId, change: impl FnOnce(&mut Node)) {
    let mut node = store.node(id).expect("node");
    change(&mut node);
    store.put_node(id, &node);
}

fn extent(store: &mut Store<Ram>, file: NodeId, extent: Extent) {
    store.meta.put(&extent.key(file), &extent.encode());
}

/// Puts an entry into the directory, and into its listing.
fn listed(store: &mut Store<Ram>, nodes: &Nodes, name: &str, node: NodeId, kind: Kind) {
    let entry = EntryValue {
        node,
        kind,
        cookie: 9,
    };
    let directory = nodes.directory;
    store.meta.put(&entry_key(directory, name), &entry.encode());
    store.meta.put(
        &key2(tag::COOKIE, directory.0, 9),
        &entry.encode_named(name),
    );
}

pub(super) type Lie = (&'static str, fn(&mut Store<Ram>, &Nodes));

pub(super) const LIES: &[Lie] = &[
    ("a record of no kind", |s, _| s.meta.put(b"?", b"what")),
    ("a key that is too long", |s, n| {
        s.meta.put(&key2(tag::NODE, n.file.0, 1), &[0; 69])
    }),
    ("a node with a key that is too short", |s, _| {
        s.meta.put(&[tag::NODE, 0xFF], &[0; 69])
    }),
    ("an entry with a key that is too short", |s, _| {
        s.meta.put(&[tag::ENTRY, 1], &[0; 17])
    }),
    ("a listing with a key that is too short", |s, _| {
        s.meta.put(&[tag::COOKIE, 1], &[0; 17])
    }),
    ("a listing with a key that is too long", |s, n| {
        let key = key2(tag::COOKIE, n.directory.0, 1);
        s.meta.put(&[&key[..], &[0]].concat(), &[0; 17]);
    }),
    ("an extent with a key that is too short", |s, _| {
        s.meta.put(&[tag::EXTENT, 1], &[1; 16])
    }),
    ("an extent with a key that is too long", |s, n| {
        let key = key2(tag::EXTENT, n.file.0, 1);
        s.meta.put(&[&key[..], &[0]].concat(), &[1; 16]);
    }),
    ("a bitmap with a key that is too long", |s, _| {
        s.meta.put(&key2(tag::SPACE, 0, 0), &[0; 256])
    }),
    ("a target with a key that is too short", |s, _| {
        s.meta.put(&[tag::TARGET], b"x")
    }),
    ("something to tidy with a key that is too long", |s, n| {
        s.meta.put(&key2(tag::TIDY, n.file.0, 0), &[])
    }),
    ("a node that is too short", |s, n| {
        s.meta.put(&key(tag::NODE, n.file.0), &[0; 3])
    }),
    ("a node of no kind", |s, n| {
        s.meta.put(&key(tag::NODE, n.file.0), &[9; 69])
    }),
    ("no node", |s, n| s.meta.remove(&key(tag::NODE, n.file.0))),
    ("too few links", |s, n| {
        change_node(s, n.file, |node| node.links = 0)
    }),
    ("too many links", |s, n| {
        change_node(s, n.file, |node| node.links = u32::MAX)
    }),
    ("too few blocks", |s, n| {
        change_node(s, n.file, |node| node.blocks = 1)
    }),
    ("a size below the extents", |s, n| {
        change_node(s, n.file, |node| node.size = 1)
    }),
    ("a directory that counts wrongly", |s, n| {
        change_node(s, n.directory, |node| node.size = 0);
    }),
    ("a directory of many entries", |s, n| {
        change_node(s, n.directory, |node| node.size = u64::MAX / 4);
    }),
    ("a directory at the end of its cookies", |s, n| {
        change_node(s, n.directory, |node| node.cookie = u64::MAX);
    }),
    ("a directory in itself", |s, n| {
        change_node(s, n.directory, |node| node.parent = n.directory.0);
    }),
    ("a directory below a file", |s, n| {
        change_node(s, n.directory, |node| node.parent = n.file.0);
    }),
    ("a directory that is a file", |s, n| {
        change_node(s, n.directory, |node| node.kind = Kind::File);
    }),
    ("a file that is a directory", |s, n| {
        change_node(s, n.file, |node| node.kind = Kind::Directory);
    }),
    ("a link without a target", |s, n| {
        s.meta.remove(&key(tag::TARGET, n.link.0))
    }),
    ("a target that is not UTF-8", |s, n| {
        s.meta.put(&key(tag::TARGET, n.link.0), &[0xFF; 3]);
    }),
    ("a target that is too long", |s, n| {
        s.meta
            .put(&key(tag::TARGET, n.link.0), &[b'/'; LONGEST_TARGET + 1]);
        change_node(s, n.link, |node| node.size = LONGEST_TARGET as u64 + 1);
    }),
    ("a target that is empty", |s, n| {
        s.meta.put(&key(tag::TARGET, n.link.0), &[]);
        change_node(s, n.link, |node| node.size = 0);
    }),
    ("an entry of another node", |s, n| {
        let entry = EntryValue {
            node: n.other,
            kind: Kind::File,
            cookie: 1,
        };
        s.meta.put(&entry_key(n.directory, "file"), &entry.encode());
    }),
    ("an entry of the root", |s, n| {
        listed(s, n, "x", ROOT, Kind::Directory);
    }),
    ("an entry that is not listed", |s, n| {
        s.meta.remove(&key2(tag::COOKIE, n.directory.0, 1));
    }),
    ("an entry with an invalid name", |s, n| {
        listed(s, n, "../x", n.file, Kind::File);
    }),
    ("an entry that is too short", |s, n| {
        s.meta.put(&entry_key(n.directory, "file"), &[1; 5]);
    }),
    ("a listing of what is not there", |s, n| {
        s.meta.remove(&entry_key(n.directory, "file"));
    }),
    ("an extent of no blocks", |s, n| {
        extent(
            s,
            n.file,
            Extent {
                first: 90,
                start: 100,
                blocks: 0,
            },
        );
    }),
    ("an extent beyond the disk", |s, n| {
        extent(
            s,
            n.file,
            Extent {
                first: 90,
                start: u64::MAX - 5,
                blocks: 100,
            },
        );
    }),
    ("an extent longer than the disk", |s, n| {
        extent(
            s,
            n.file,
            Extent {
                first: 0,
                start: 20,
                blocks: 1 << 40,
            },
        );
    }),
    ("an extent over the first block", |s, n| {
        extent(
            s,
            n.file,
            Extent {
                first: 0,
                start: 0,
                blocks: 3,
            },
        );
    }),
    ("an extent over the metadata", |s, n| {
        let chunk = u64::from(s.region.chunks()[0]) * s.layout.chunk;
        extent(
            s,
            n.file,
            Extent {
                first: 0,
                start: chunk,
                blocks: 3,
            },
        );
    }),
    ("an extent that two files have", |s, n| {
        let start = s.map(n.other, 0, 4096, 1).map(|r| {
            let start = r.pieces[0].disk.unwrap_or(0) / 4096;
            s.done(r);
            start
        });
        let start = start.expect("map");
        extent(
            s,
            n.file,
            Extent {
                first: 0,
                start,
                blocks: 2,
            },
        );
    }),
    ("extents that overlap", |s, n| {
        extent(
            s,
            n.file,
            Extent {
                first: 1,
                start: 200,
                blocks: 30,
            },
        );
    }),
    ("an extent of no file", |s, _| {
        extent(
            s,
            NodeId(77),
            Extent {
                first: 0,
                start: 200,
                blocks: 3,
            },
        );
    }),
    ("a bitmap without blocks", |s, _| {
        s.meta.remove(&key(tag::SPACE, 0))
    }),
    ("a bitmap of all blocks", |s, _| {
        s.meta
            .put(&key(tag::SPACE, 0), &encode_bitmap(&[u64::MAX; 32]));
    }),
    ("a bitmap that is too short", |s, _| {
        s.meta.put(&key(tag::SPACE, 0), &[1; 5])
    }),
    ("a bitmap beyond the disk", |s, _| {
        s.meta
            .put(&key(tag::SPACE, 1 << 50), &encode_bitmap(&[1; 32]));
    }),
    ("something to tidy that is not", |s, _| {
        s.meta.put(&key(tag::TIDY, 77), &[])
    }),
    ("too few nodes", |s, _| {
        s.state = State {
            nodes: 1,
            ..s.state
        }
    }),
    ("too many blocks", |s, _| {
        s.state = State {
            used: u64::MAX,
            ..s.state
        }
    }),
    ("numbers that were given already", |s, _| {
        s.state = State { next: 5, ..s.state }
    }),
];
