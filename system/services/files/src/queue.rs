//! Requests that wait for the disk, served in turns of the origins.

use alloc::collections::{BTreeMap, VecDeque};

/// Numbers of waiting requests, by origin.
#[derive(Default)]
pub struct Queue {
    waiting: BTreeMap<u32, VecDeque<u32>>,
    /// The origin that had the last turn.
    last: u32,
}

impl Queue {
    /// A request waits.
    pub fn push(&mut self, origin: u32, number: u32) {
        self.waiting.entry(origin).or_default().push_back(number);
    }

    /// The request that is next.
    pub fn pop(&mut self) -> Option<u32> {
        let after = self.waiting.range(self.last.saturating_add(1)..).next();
        let (origin, _) = after.or_else(|| self.waiting.iter().next())?;
        let origin = *origin;
        self.last = origin;
        let queue = self.waiting.get_mut(&origin)?;
        let number = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&origin);
        }
        number
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
