//! Questions about all runs from a situation, answered backwards: where does it stay possible that something happens?

use crate::explore::{Exploration, Mark};

/// The steps of an exploration, backwards.
pub struct Backwards<'a> {
    forward: &'a Exploration<'a>,
    /// Where the predecessors of each situation begin.
    offsets: Vec<usize>,
    sources: Vec<u32>,
}

impl<'a> Backwards<'a> {
    /// Turns the steps round.
    #[must_use]
    pub fn new(forward: &'a Exploration<'a>) -> Backwards<'a> {
        let count = forward.seen();
        let mut offsets = vec![0; count + 1];
        for &target in &forward.targets {
            offsets[target as usize + 1] += 1;
        }
        for i in 0..count {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut sources = vec![0; forward.targets.len()];
        for source in 0..forward.expanded() {
            for &target in &forward.targets[forward.offsets[source]..forward.offsets[source + 1]] {
                let place = &mut next[target as usize];
                sources[*place] = source as u32;
                *place += 1;
            }
        }
        Backwards {
            forward,
            offsets,
            sources,
        }
    }

    /// The situations from which one of these can come about, themselves included.
    #[must_use]
    pub fn leading_to(&self, mut marked: Vec<bool>) -> Vec<bool> {
        let mut todo: Vec<usize> = (0..marked.len()).filter(|&i| marked[i]).collect();
        while let Some(i) = todo.pop() {
            for &source in &self.sources[self.offsets[i]..self.offsets[i + 1]] {
                if !std::mem::replace(&mut marked[source as usize], true) {
                    todo.push(source as usize);
                }
            }
        }
        marked
    }

    /// The situations from which a step with such a mark can come about.
    #[must_use]
    pub fn leading_to_step(&self, wanted: impl Fn(&Mark) -> bool) -> Vec<bool> {
        let forward = self.forward;
        let wanted: Vec<bool> = forward.marks.iter().map(wanted).collect();
        let mut marked = vec![false; forward.seen()];
        for (i, mark) in marked.iter_mut().enumerate().take(forward.expanded()) {
            let labels = &forward.labels[forward.offsets[i]..forward.offsets[i + 1]];
            *mark = labels.iter().any(|&l| wanted[usize::from(l)]);
        }
        self.leading_to(marked)
    }
}
