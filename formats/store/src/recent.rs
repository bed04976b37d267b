//! Nodes, names and extents that were looked up lately: most requests go to few files, and a look-up in
//! the database takes longer than all else that a request needs.
//!
//! Invariant: what is here is what the records say. Each has the number of changes of its kind of
//! record ([`crate::meta::Meta::versions`]) as of when it was looked up, and is taken only while
//! that is the current number. Of the nodes all have the same, that of the last one: it is the one table
//! whose records are changed in place, by nearly every write.

use crate::records::{EntryValue, Extent, Node};
use crate::types::NodeId;
use alloc::string::String;
use alloc::vec::Vec;

/// How many nodes, names and extents.
const NODES: usize = 1024;
const NAMES: usize = 1024;
const EXTENTS: usize = 512;
/// Names that share a place: with one for each, two files that are asked for by turns would have each
/// other looked up again and again, and of a quarter as many names as there are places, one in five has
/// the place of another.
const SET: usize = 4;
/// Blocks that share a place for an extent.
const NEIGHBOURS: u64 = 16;

/// How often records of nodes, of names and of extents have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    pub nodes: u64,
    pub names: u64,
    pub extents: u64,
}

/// A name in a directory.
#[derive(Clone)]
struct Named {
    directory: NodeId,
    name: String,
    version: u64,
    entry: EntryValue,
}

#[derive(Default)]
pub struct Recent {
    nodes: Vec<Option<(NodeId, Node)>>,
    /// The number of changes as of which all nodes are.
    nodes_at: u64,
    names: Vec<Option<Named>>,
    extents: Vec<Option<(NodeId, u64, Extent)>>,
    /// Where the extent is that was taken last: a file that is read in order has few.
    last: usize,
}

const fn place(file: NodeId, block: u64) -> usize {
    let mixed = (block / NEIGHBOURS).wrapping_add(file.0.wrapping_mul(0x9e37_79b9));
    (mixed % EXTENTS as u64) as usize
}

/// Where the places of a name begin: FNV-1a of both.
fn name_place(directory: NodeId, name: &str) -> usize {
    let bytes = directory.0.to_le_bytes();
    let all = bytes.iter().chain(name.as_bytes());
    let mixed = all.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    ((mixed ^ mixed >> 32) % (NAMES / SET) as u64) as usize * SET
}

impl Recent {
    /// A node, if it was looked up since the last change.
    pub fn node(&self, id: NodeId, now: Versions) -> Option<&Node> {
        match self.nodes.get(id.0 as usize % NODES) {
            Some(Some((found, node))) if *found == id && self.nodes_at == now.nodes => Some(node),
            _ => None,
        }
    }

    /// A node has been looked up.
    pub fn keep_node(&mut self, id: NodeId, now: Versions, node: &Node) {
        if self.nodes_at != now.nodes {
            self.nodes.fill(None);
            self.nodes_at = now.nodes;
        }
        self.nodes.resize(NODES, None);
        self.nodes[id.0 as usize % NODES] = Some((id, *node));
    }

    /// The record of a node has become this one, and nothing else has changed since `before`.
    pub fn change_node(&mut self, id: NodeId, before: Versions, now: Versions, node: &Node) {
        if self.nodes_at == before.nodes {
            self.nodes_at = now.nodes;
        }
        self.keep_node(id, now, node);
    }

    /// What a name in a directory stands for, if it was looked up since the last change of a name. It
    /// is then the last to make way for others.
    pub fn entry(&mut self, directory: NodeId, name: &str, now: Versions) -> Option<EntryValue> {
        let at = name_place(directory, name);
        let set = self.names.get_mut(at..at + SET)?;
        let found = set.iter().position(|named| {
            named.as_ref().is_some_and(|named| {
                named.version == now.names && named.directory == directory && named.name == name
            })
        })?;
        set[..=found].rotate_right(1);
        set[0].as_ref().map(|named| named.entry)
    }

    /// A name has been looked up.
    pub fn keep_entry(&mut self, directory: NodeId, name: &str, now: Versions, entry: EntryValue) {
        self.names.resize(NAMES, None);
        let at = name_place(directory, name);
        let set = &mut self.names[at..at + SET];
        set.rotate_right(1);
        set[0] = Some(Named {
            directory,
            name: name.into(),
            version: now.names,
            entry,
        });
    }

    /// The extent that has this block of a file, if it was looked up since the last change.
    pub fn extent(&mut self, file: NodeId, block: u64, now: Versions) -> Option<Extent> {
        let has = |at: usize| match self.extents.get(at) {
            Some(Some((found, version, extent)))
                if *found == file
                    && *version == now.extents
                    && extent.first <= block
                    && block < extent.end() =>
            {
                Some(*extent)
            }
            _ => None,
        };
        has(self.last).or_else(|| {
            let at = place(file, block);
            let found = has(at)?;
            self.last = at;
            Some(found)
        })
    }

    /// An extent has been looked up for this block.
    pub fn keep_extent(&mut self, file: NodeId, block: u64, now: Versions, extent: Extent) {
        self.extents.resize(EXTENTS, None);
        self.last = place(file, block);
        self.extents[self.last] = Some((file, now.extents, extent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Kind;

    #[test]
    fn a_name_is_known_until_one_changes() {
        let mut recent = Recent::default();
        let mut now = Versions::default();
        let entry = |node| EntryValue {
            node: NodeId(node),
            kind: Kind::File,
            cookie: node,
        };
        let node = |found: Option<EntryValue>| found.map(|entry| entry.node.0);
        for number in 1..=3 {
            recent.keep_entry(NodeId(number), "a", now, entry(number));
        }
        assert_eq!(node(recent.entry(NodeId(2), "a", now)), Some(2));
        assert_eq!(node(recent.entry(NodeId(2), "b", now)), None);
        assert_eq!(node(recent.entry(NodeId(4), "a", now)), None);
        now.nodes += 1;
        assert_eq!(node(recent.entry(NodeId(1), "a", now)), Some(1));
        now.names += 1;
        assert_eq!(node(recent.entry(NodeId(1), "a", now)), None);
        // More than there is room for: each is what it was kept as, or not known.
        for number in 0..10_000 {
            recent.keep_entry(NodeId(number), "a", now, entry(number));
            let at = number / 2;
            let found = node(recent.entry(NodeId(at), "a", now));
            assert!(found.is_none_or(|found| found == at));
        }
        assert_eq!(recent.names.len(), NAMES);
    }

    #[test]
    fn names_that_share_a_place_do_not_drive_each_other_out() {
        let mut recent = Recent::default();
        let now = Versions::default();
        let entry = |number| EntryValue {
            node: NodeId(number),
            kind: Kind::File,
            cookie: number,
        };
        let first = name_place(NodeId(0), "a");
        let shares = |number: &u64| name_place(NodeId(*number), "a") == first;
        let same: Vec<u64> = (0..100_000).filter(shares).take(SET + 1).collect();
        let [in_use @ .., further] = same.as_slice() else {
            panic!("{same:?}");
        };
        for number in in_use {
            recent.keep_entry(NodeId(*number), "a", now, entry(*number));
        }
        for _ in 0..3 {
            for number in in_use {
                let found = recent.entry(NodeId(*number), "a", now);
                assert_eq!(found.map(|entry| entry.node.0), Some(*number));
            }
        }
        // A further one takes the place of the one that was asked for longest ago.
        recent.keep_entry(NodeId(*further), "a", now, entry(*further));
        assert!(recent.entry(NodeId(in_use[0]), "a", now).is_none());
        for number in in_use[1..].iter().chain([further]) {
            assert!(recent.entry(NodeId(*number), "a", now).is_some());
        }
    }
}
