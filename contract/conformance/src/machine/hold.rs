//! Which endpoints a sequence keeps to itself: what it has begun to use and still needs, no other
//! conversation uses.

use super::Machine;
use std::collections::BTreeSet;

impl Machine {
    /// Finds out which endpoints are held where: used since the last named state, and used again
    /// before the next.
    pub(super) fn hold(&mut self) {
        let count = self.nodes.len();
        let (mut before, mut after) = (vec![BTreeSet::new(); count], vec![BTreeSet::new(); count]);
        loop {
            let sizes = |sets: &[BTreeSet<usize>]| sets.iter().map(BTreeSet::len).sum::<usize>();
            let known = sizes(&before) + sizes(&after);
            // Along the sequences, and back: so a long one takes no more rounds than a short one.
            for (n, node) in self.nodes.iter().enumerate() {
                for edge in &node.edges {
                    if !self.nodes[edge.target].named {
                        let earlier = before[n].clone();
                        before[edge.target].extend(earlier);
                        before[edge.target].extend(edge.act.endpoints());
                    }
                }
            }
            for (n, node) in self.nodes.iter().enumerate().rev() {
                for edge in &node.edges {
                    after[n].extend(edge.act.endpoints());
                    if !self.nodes[edge.target].named {
                        let later = after[edge.target].clone();
                        after[n].extend(later);
                    }
                }
            }
            if sizes(&before) + sizes(&after) == known {
                break;
            }
        }
        for (node, (before, after)) in self.nodes.iter_mut().zip(before.iter().zip(&after)) {
            node.held = before.intersection(after).copied().collect();
        }
    }
}
