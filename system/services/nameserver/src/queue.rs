//! Requests that wait for a provider: origins take turns, so that none waits behind all requests of
//! another.

use crate::request::Request;
use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Bound;
use sing_sdk::prelude::*;

#[derive(Default)]
pub struct Queue {
    waiting: BTreeMap<u32, VecDeque<Request>>,
    /// The origin of the last turn.
    turn: u32,
}

impl Queue {
    pub fn push(&mut self, request: Request) {
        let same = self.waiting.entry(request.asker.origin).or_default();
        same.push_back(request);
    }

    /// The next request.
    pub fn pop(&mut self) -> Option<Request> {
        let behind = (Bound::Excluded(self.turn), Bound::Unbounded);
        let next = self.waiting.range(behind).next();
        let (&origin, _) = next.or_else(|| self.waiting.first_key_value())?;
        self.turn = origin;
        let same = self.waiting.get_mut(&origin)?;
        let request = same.pop_front();
        if same.is_empty() {
            self.waiting.remove(&origin);
        }
        request
    }

    /// Removes a client's request.
    pub fn withdraw(&mut self, client: u32) -> Option<Request> {
        let place = |same: &VecDeque<Request>| same.iter().position(|r| r.asker.client == client);
        let mut all = self.waiting.iter();
        let (&origin, at) = all.find_map(|(origin, same)| Some((origin, place(same)?)))?;
        let same = self.waiting.get_mut(&origin)?;
        let request = same.remove(at);
        if same.is_empty() {
            self.waiting.remove(&origin);
        }
        request
    }

    /// All that wait.
    pub fn into_requests(self) -> Vec<Request> {
        self.waiting.into_values().flatten().collect()
    }
}
