//! The connections that there are. When there are as many as there may be, the one that has been
//! quiet for longest makes way: who only holds connections keeps nobody out.

use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::{AutoEvent, ManualEvent, Mutex};
use sing_sdk::time::{Timeout, uptime};

/// Between two looks whether one can make way.
const LOOK: Duration = Duration::from_millis(100);
/// How long one may be quiet before it makes way.
const QUIET: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
enum Use {
    Free,
    /// It is kept for the next connection.
    Kept,
    /// A request is served.
    Busy,
    /// It waits for a request since then.
    Quiet(Duration),
}

pub struct Slots {
    uses: Mutex<Vec<Use>>,
    /// Set for a connection that is to make way.
    leave: Vec<ManualEvent>,
    freed: AutoEvent,
}

impl Slots {
    pub fn new(count: usize) -> Result<Slots, Error> {
        let events = (0..count).map(|_| ManualEvent::new(false));
        Ok(Slots {
            uses: Mutex::new(vec![Use::Free; count]),
            leave: events.collect::<Result<_, _>>()?,
            freed: AutoEvent::new(false)?,
        })
    }

    /// Waits for a free place.
    pub fn take(&self) -> usize {
        loop {
            if let Some(free) = self.try_take() {
                return free;
            }
            // A time-out: it is looked again.
            let _ = sing_sdk::sync::wait(&self.freed, Timeout::from(LOOK));
        }
    }

    fn try_take(&self) -> Option<usize> {
        let mut uses = self.uses.lock();
        if let Some(free) = uses.iter().position(|u| matches!(u, Use::Free)) {
            uses[free] = Use::Kept;
            self.leave[free].reset();
            return Some(free);
        }
        let quiet = uses.iter().enumerate().filter_map(|(at, u)| match u {
            Use::Quiet(since) => Some((*since, at)),
            _ => None,
        });
        if let Some((since, at)) = quiet.min()
            && uptime().saturating_sub(since) >= QUIET
        {
            self.leave[at].set();
        }
        None
    }

    pub fn free(&self, slot: usize) {
        self.uses.lock()[slot] = Use::Free;
        self.freed.set();
    }

    pub fn busy(&self, slot: usize) {
        self.uses.lock()[slot] = Use::Busy;
    }

    pub fn quiet(&self, slot: usize) {
        self.uses.lock()[slot] = Use::Quiet(uptime());
    }

    /// Is set when the connection in this place should end.
    pub fn leave(&self, slot: usize) -> &ManualEvent {
        &self.leave[slot]
    }

    /// Has all end that serve no request.
    pub fn leave_all(&self) {
        self.leave.iter().for_each(ManualEvent::set);
    }

    /// How many there are, and how many of them serve a request.
    pub fn count(&self) -> (usize, usize) {
        let uses = self.uses.lock();
        let busy = uses.iter().filter(|u| matches!(u, Use::Busy)).count();
        let none = |u: &&Use| matches!(u, Use::Free | Use::Kept);
        let free = uses.iter().filter(none).count();
        (uses.len() - free, busy)
    }
}
