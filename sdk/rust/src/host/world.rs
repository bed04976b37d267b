//! The things that handles name, and waiting for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::vec::Vec;

/// The longest that a test waits for something that does not come.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A message under way: its number, its words, and those that are handles.
pub(crate) struct Message {
    pub(crate) number: i32,
    pub(crate) words: Vec<u64>,
    pub(crate) owned: &'static [usize],
}

/// An endpoint.
pub(crate) struct End {
    pub(crate) contract: &'static str,
    /// The contracts from which that derives.
    pub(crate) bases: &'static [&'static str],
    /// Whether it is the importing side.
    pub(crate) importing: bool,
    /// The other end; `None` when that is closed.
    pub(crate) peer: Option<u32>,
    pub(crate) queue: VecDeque<Message>,
}

/// What a handle names.
pub(crate) enum Thing {
    End(End),
    Block {
        bytes: Vec<u8>,
        ty: u32,
    },
    /// Endpoints with their keys, the one whose turn it is first.
    Set(VecDeque<(u32, u32)>),
    Event {
        set: bool,
        auto: bool,
    },
}

/// All of them.
pub(crate) struct World {
    pub(crate) things: BTreeMap<u32, Thing>,
    last: u32,
}

static WORLD: Mutex<World> = Mutex::new(World {
    things: BTreeMap::new(),
    last: 0,
});
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, World> {
    // A test that failed within has changed one thing whole, or nothing.
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Works with all things, and lets those look again that wait.
pub(crate) fn with<T>(work: impl FnOnce(&mut World) -> T) -> T {
    let done = work(&mut lock());
    CHANGED.notify_all();
    done
}

/// Tries again and again, until there is a result or the time is over. Negative nanoseconds are for
/// ever, which is [`PATIENCE`] here.
pub(crate) fn until<T>(
    nanos: i64,
    what: &str,
    mut attempt: impl FnMut(&mut World) -> Option<T>,
) -> Option<T> {
    let bounded = u64::try_from(nanos).map(Duration::from_nanos);
    let end = Instant::now() + bounded.unwrap_or(PATIENCE);
    let mut world = lock();
    loop {
        if let Some(result) = attempt(&mut world) {
            drop(world);
            CHANGED.notify_all();
            return Some(result);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            drop(world);
            assert!(
                bounded.is_ok(),
                "{what} for more than {} s: nobody in this test sends it",
                PATIENCE.as_secs()
            );
            return None;
        }
        let waited = CHANGED.wait_timeout(world, left);
        world = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl World {
    /// Takes a thing in; its handle.
    pub(crate) fn add(&mut self, thing: Thing) -> u32 {
        // Four thousand million things are more than a test makes.
        self.last += 1;
        self.things.insert(self.last, thing);
        self.last
    }

    pub(crate) fn end(&mut self, handle: u32) -> &mut End {
        match self.things.get_mut(&handle) {
            Some(Thing::End(end)) => end,
            _ => panic!("handle {handle} names no endpoint"),
        }
    }

    pub(crate) fn block(&mut self, handle: u32) -> &mut Vec<u8> {
        match self.things.get_mut(&handle) {
            Some(Thing::Block { bytes, .. }) => bytes,
            _ => panic!("handle {handle} names no block"),
        }
    }

    /// The first message's number, or that the channel is closed.
    pub(crate) fn peek(&mut self, handle: u32) -> Option<i32> {
        let end = self.end(handle);
        match end.queue.front() {
            Some(message) => Some(message.number),
            None if end.peer.is_none() => Some(sing_abi::status::CLOSED),
            None => None,
        }
    }

    /// What has come at a thing that is waited for, as `select` says it.
    pub(crate) fn come(&mut self, handle: u32) -> Option<i32> {
        match self.things.get_mut(&handle) {
            Some(Thing::End(_)) => self.peek(handle),
            Some(Thing::Set(_)) => self.member(handle).map(u32::cast_signed),
            Some(Thing::Event { set, auto }) => {
                let was = *set;
                *set &= !*auto;
                was.then_some(0)
            }
            _ => panic!("handle {handle} names nothing that can be waited for here"),
        }
    }

    /// The key of an endpoint of a set that is ready; its turn is over then.
    pub(crate) fn member(&mut self, set: u32) -> Option<u32> {
        let Some(Thing::Set(members)) = self.things.get(&set) else {
            panic!("handle {set} names no set");
        };
        let all: Vec<(u32, u32)> = members.iter().copied().collect();
        let place = all.iter().position(|(end, _)| self.peek(*end).is_some())?;
        if let Some(Thing::Set(members)) = self.things.get_mut(&set) {
            members.rotate_left(place + 1);
        }
        all.get(place).map(|(_, key)| *key)
    }

    /// Gives a thing up, with what it owns.
    pub(crate) fn dispose(&mut self, handle: u32) {
        let mut given_up = Vec::from([handle]);
        while let Some(handle) = given_up.pop() {
            let Some(Thing::End(end)) = self.things.remove(&handle) else {
                continue;
            };
            if let Some(Thing::End(peer)) = end.peer.and_then(|peer| self.things.get_mut(&peer)) {
                peer.peer = None;
            }
            for thing in self.things.values_mut() {
                if let Thing::Set(members) = thing {
                    members.retain(|(member, _)| *member != handle);
                }
            }
            for message in end.queue {
                let owned = message.owned.iter();
                // A handle is 32 bits of its word.
                given_up.extend(owned.filter_map(|at| message.words.get(*at).map(|w| *w as u32)));
            }
        }
    }
}
