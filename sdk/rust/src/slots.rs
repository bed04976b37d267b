//! Endpoints of several contracts and states under numbers, each charged to an origin: for services
//! that have more than one kind of client, or answer later and serve others meanwhile.
//!
//! The content of a slot is the service's own type, an enum over the states in which it can find an
//! endpoint. The service takes it out, does one step, and puts it back.
//!
//! Invariants:
//! - A slot is charged to its origin from [`Slots::insert`] to [`Slots::remove`], and no origin has
//!   more than its share ([`share`](crate::share)).
//! - A number that [`Slots::wait`] names is that of a slot which is filled; its endpoint has a
//!   message or is closed by the other side.

use crate::Error;
use crate::rt::{Handle, TypedEndpoint, Waitable};
use crate::set::WaitSet;
use crate::share::Shares;
use crate::time::Timeout;
use alloc::vec::Vec;
use core::fmt;

struct Slot<T> {
    origin: u32,
    /// `None` while the content is taken out.
    content: Option<T>,
    used: bool,
}

/// Contents under numbers.
pub struct Slots<T> {
    watched: WaitSet,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    shares: Shares,
    used: usize,
}

impl<T> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slots({} used)", self.used)
    }
}

impl<T> Slots<T> {
    /// No slot is used; at most `most` can be. Each origin gets `least` of them while there are
    /// free ones.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new(most: usize, least: usize) -> Result<Slots<T>, Error> {
        Ok(Slots {
            watched: WaitSet::new()?,
            slots: Vec::new(),
            free: Vec::new(),
            shares: Shares::new(most, least),
            used: 0,
        })
    }

    /// How many are used.
    #[must_use]
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether none is used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Takes a slot for an origin and watches the endpoint under its number. `fill` makes the
    /// content of the endpoint.
    ///
    /// # Errors
    /// The endpoint, with [`Error::NoResources`], where the origin has its share or nothing is
    /// free.
    pub fn insert<E: TypedEndpoint>(
        &mut self,
        origin: u32,
        endpoint: E,
        fill: impl FnOnce(E) -> T,
    ) -> Result<u32, (Error, E)> {
        if !self.shares.take(origin, 1) {
            return Err((Error::NoResources, endpoint));
        }
        let number = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        if let Err(error) = self.watched.add(&endpoint, number) {
            self.shares.give_back(origin, 1);
            return Err((error, endpoint));
        }
        let slot = Slot {
            origin,
            content: Some(fill(endpoint)),
            used: true,
        };
        match self.free.pop() {
            Some(number) => self.slots[number as usize] = slot,
            None => self.slots.push(slot),
        }
        self.used += 1;
        Ok(number)
    }

    /// Whether an origin can have one more.
    #[must_use]
    pub fn has_room(&mut self, origin: u32) -> bool {
        let granted = self.shares.take(origin, 1);
        if granted {
            self.shares.give_back(origin, 1);
        }
        granted
    }

    /// Waits for one that has a message or has been closed; its number.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the time-out passed.
    pub fn wait(&self, timeout: Timeout) -> Result<u32, Error> {
        self.watched.wait(timeout)
    }

    /// The content, taken out until it is put back.
    pub fn take(&mut self, number: u32) -> Option<T> {
        self.slots.get_mut(number as usize)?.content.take()
    }

    /// Puts a content back.
    pub fn put(&mut self, number: u32, content: T) {
        if let Some(slot) = self.slots.get_mut(number as usize)
            && slot.used
        {
            slot.content = Some(content);
        }
    }

    /// The content, in place.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.content.as_ref()
    }

    /// The content, in place, for change.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.content.as_mut()
    }

    /// The origin to which a used slot is charged.
    #[must_use]
    pub fn origin(&self, number: u32) -> Option<u32> {
        let slot = self.slots.get(number as usize)?;
        slot.used.then_some(slot.origin)
    }

    /// Frees a slot; its content, if that is in.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let slot = self.slots.get_mut(number as usize)?;
        if !slot.used {
            return None;
        }
        slot.used = false;
        let content = slot.content.take();
        self.shares.give_back(slot.origin, 1);
        self.free.push(number);
        self.used -= 1;
        content
    }

    /// Numbers of the used slots.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.slots.iter().enumerate();
        all.filter_map(|(n, slot)| slot.used.then_some(n as u32))
    }
}

impl<T> Waitable for Slots<T> {
    fn handle(&self) -> Handle {
        self.watched.handle()
    }
}
