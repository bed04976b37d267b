//! Nodes and extents that were looked up lately: most requests go to few files, and a look-up in
//! the database takes longer than all else that a request needs.
//!
//! Invariant: what is here is what the records say. Each has the number of changes of its kind of
//! record ([`crate::meta::Meta::versions`]) as of when it was looked up, and is taken only while
//! that is the current number.

use crate::records::{Extent, Node};
use crate::types::NodeId;
use alloc::vec::Vec;

/// How many nodes, and extents.
const NODES: usize = 32;
const EXTENTS: usize = 512;
/// Blocks that share a place for an extent.
const NEIGHBOURS: u64 = 16;

/// How often records of nodes and of extents have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    pub nodes: u64,
    pub extents: u64,
}

#[derive(Default)]
pub struct Recent {
    nodes: Vec<Option<(NodeId, u64, Node)>>,
    extents: Vec<Option<(NodeId, u64, Extent)>>,
    /// Where the extent is that was taken last: a file that is read in order has few.
    last: usize,
}

const fn place(file: NodeId, block: u64) -> usize {
    let mixed = (block / NEIGHBOURS).wrapping_add(file.0.wrapping_mul(0x9e37_79b9));
    (mixed % EXTENTS as u64) as usize
}

impl Recent {
    /// A node, if it was looked up since the last change.
    pub fn node(&self, id: NodeId, now: Versions) -> Option<&Node> {
        match self.nodes.get(id.0 as usize % NODES) {
            Some(Some((found, version, node))) if *found == id && *version == now.nodes => {
                Some(node)
            }
            _ => None,
        }
    }

    /// A node has been looked up.
    pub fn keep_node(&mut self, id: NodeId, now: Versions, node: &Node) {
        self.nodes.resize(NODES, None);
        self.nodes[id.0 as usize % NODES] = Some((id, now.nodes, *node));
    }

    /// The record of a node has become this one, and nothing else has changed since `before`.
    pub fn change_node(&mut self, id: NodeId, before: Versions, now: Versions, node: &Node) {
        for (_, version, _) in self.nodes.iter_mut().flatten() {
            if *version == before.nodes {
                *version = now.nodes;
            }
        }
        self.keep_node(id, now, node);
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
