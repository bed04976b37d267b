//! Questions about all runs from a situation: where does it stay possible that something happens?
//!
//! The answer spreads backwards, from situations to those that lead to them, in sweeps over all
//! steps in the order in which they lie in memory: up and down in turn, until nothing changes. As
//! situations are numbered by their distance from the start, a few sweeps are enough, and no table
//! of predecessors is needed.

use crate::explore::{Exploration, Mark};

/// The situations from which one of these can come about, themselves included.
#[must_use]
pub fn leading_to(exploration: &Exploration<'_>, mut marked: Vec<bool>) -> Vec<bool> {
    let mut downwards = true;
    loop {
        let mut changed = false;
        let count = exploration.expanded();
        for i in 0..count {
            let i = if downwards { count - 1 - i } else { i };
            if !marked[i] && exploration.follow(i).any(|t| marked[t]) {
                marked[i] = true;
                changed = true;
            }
        }
        if !changed {
            return marked;
        }
        downwards = !downwards;
    }
}

/// The situations from which a step with such a mark can come about.
#[must_use]
pub fn leading_to_step(exploration: &Exploration<'_>, wanted: impl Fn(&Mark) -> bool) -> Vec<bool> {
    let wanted: Vec<bool> = exploration.marks.iter().map(wanted).collect();
    let mut marked = vec![false; exploration.seen()];
    for (i, mark) in marked.iter_mut().enumerate().take(exploration.expanded()) {
        let labels = &exploration.labels[exploration.offsets[i]..exploration.offsets[i + 1]];
        *mark = labels.iter().any(|&l| wanted[usize::from(l)]);
    }
    leading_to(exploration, marked)
}
