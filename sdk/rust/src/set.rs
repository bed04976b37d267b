//! Sets of endpoints: a service waits for all its clients with one.
//!
//! [`WaitSet`] is the kernel's set: endpoints of any type under numbers, of which a wait names one
//! that is ready. [`EndpointSet`] owns endpoints of one type and state, and is what
//! `switch_receive!` takes them from.
//!
//! Invariants:
//! - The cost of a wait does not depend on how many endpoints are idle: the kernel keeps those that
//!   are ready in a list.
//! - An endpoint that is taken out to be answered stays a member of the kernel's set, so that
//!   taking it and putting it back are no calls; messages that come meanwhile are found when it is
//!   back.

use crate::handle::Object;
use crate::rt::{Handle, TypedEndpoint, Waitable};
use crate::select::{Many, Patience, Receives, Select, Turn, never};
use crate::time::Timeout;
use crate::{Error, error, sys};
use alloc::vec::Vec;
use core::fmt;
use sing_abi::status;

/// Endpoints with owners elsewhere, watched under numbers. An endpoint that is closed or sent
/// leaves it.
#[derive(Debug)]
pub struct WaitSet(Object);

impl WaitSet {
    /// An empty set.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new() -> Result<WaitSet, Error> {
        Object::from_status(sys::set_create()).map(WaitSet)
    }

    /// Watches an endpoint under a number, at most 2^31 - 1. One that is watched already gets this
    /// number instead.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is in another set.
    pub fn add<E: TypedEndpoint>(&self, endpoint: &E, number: u32) -> Result<(), Error> {
        error::check(sys::set_add(self.0.raw(), endpoint.handle().raw(), number)).map(drop)
    }

    /// No longer watches it; whether it did.
    pub fn remove<E: TypedEndpoint>(&self, endpoint: &E) -> bool {
        self.remove_raw(endpoint.handle().raw())
    }

    fn remove_raw(&self, endpoint: u32) -> bool {
        sys::set_remove(self.0.raw(), endpoint) >= 0
    }

    /// Waits until an endpoint has a message or is closed by the other side; its number. Each in
    /// its turn.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the time-out passed.
    #[inline]
    pub fn wait(&self, timeout: Timeout) -> Result<u32, Error> {
        error::check(sys::set_wait(self.0.raw(), timeout.nanos()))
    }
}

impl Waitable for WaitSet {
    #[inline]
    fn handle(&self) -> Handle {
        Handle::from_raw(self.0.raw())
    }
}

/// A value that could not be taken, given back.
pub struct Refused<T> {
    /// The content.
    pub content: T,
    /// Why.
    pub error: Error,
}

impl<T> Refused<T> {
    /// The same with another content, made from this one.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Refused<U> {
        Refused {
            content: f(self.content),
            error: self.error,
        }
    }
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refused({:?})", self.error)
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> core::error::Error for Refused<T> {}

impl<T> From<Refused<T>> for Error {
    fn from(refused: Refused<T>) -> Error {
        refused.error
    }
}

enum Slot<E> {
    In(E),
    /// Taken out. Its handle, if it is still a member of the kernel's set.
    Out(Option<u32>),
    /// Free; the next free one.
    Free(Option<usize>),
}

struct Entry<E> {
    slot: Slot<E>,
    /// How often the key has been given to another endpoint: a part of the number in the kernel's
    /// set.
    generation: u32,
}

/// Bits of a number in the kernel's set that say which entry it is.
const INDEX_BITS: u32 = 18;
/// Endpoints at most, those that are taken out included.
const MOST: usize = 1 << INDEX_BITS;
const GENERATIONS: u32 = 1 << (31 - INDEX_BITS);

/// Endpoints of one type and state under keys. Dropping it closes all that are in it.
///
/// ```
/// use sing_sdk::prelude::*;
///
/// sing_sdk::contract!(
///     "
///     contract EchoContract {
///         in message Say(int x);
///         out message Said(int x);
///         state Start: Say? -> Said! -> Start;
///     }
///     "
/// );
///
/// /// Serves them until all have gone.
/// fn serve(clients: &mut EndpointSet<EchoContract::Exp<EchoContract::Start>>) {
///     while !clients.is_empty() {
///         switch_receive! {
///             case clients[key].Say(x) as client => clients.put(key, client.send_said(x)),
///             case clients[_].ChannelClosed() => {}
///         }
///     }
/// }
/// ```
///
/// A key is small, and belongs to its endpoint until that is found closed,
/// [removed](EndpointSet::remove), or
/// [given up](EndpointSet::forget) while it is out: until then no other endpoint gets it.
pub struct EndpointSet<E> {
    watched: WaitSet,
    entries: Vec<Entry<E>>,
    free: Option<usize>,
    len: usize,
    /// The endpoint that the kernel has named and a switch has passed over, because it was another
    /// case's turn: the next one.
    passed: Option<u32>,
}

impl<E> fmt::Debug for EndpointSet<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointSet({} in)", self.len)
    }
}

impl<E: TypedEndpoint> EndpointSet<E> {
    /// An empty set.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new() -> Result<EndpointSet<E>, Error> {
        Ok(EndpointSet {
            watched: WaitSet::new()?,
            entries: Vec::new(),
            free: None,
            len: 0,
            passed: None,
        })
    }

    /// How many endpoints are in it; those that are taken out do not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The keys of those that are in it.
    pub fn keys(&self) -> impl Iterator<Item = usize> + '_ {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(key, e)| matches!(e.slot, Slot::In(_)).then_some(key))
    }

    /// The endpoint under a key, if it is in.
    #[must_use]
    pub fn get(&self, key: usize) -> Option<&E> {
        match &self.entries.get(key)?.slot {
            Slot::In(endpoint) => Some(endpoint),
            _ => None,
        }
    }

    /// Whether a key is somebody's: its endpoint is in, or taken out to be answered.
    #[must_use]
    pub fn holds(&self, key: usize) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|e| !matches!(e.slot, Slot::Free(_)))
    }

    /// Takes an endpoint in; its key.
    ///
    /// # Errors
    /// The endpoint, with [`Error::BadState`] if it is a member of another set: taken out there and
    /// not
    /// [released](EndpointSet::release). With [`Error::NoResources`] if there are 2^18 already.
    pub fn insert(&mut self, endpoint: E) -> Result<usize, Refused<E>> {
        let refuse = |content, error| Err(Refused { content, error });
        let key = match self.free {
            Some(key) => key,
            None if self.entries.len() < MOST => self.entries.len(),
            None => return refuse(endpoint, Error::NoResources),
        };
        let generation = self.entries.get(key).map_or(0, |e| e.generation);
        if let Err(error) = self.watched.add(&endpoint, number(key, generation)) {
            return refuse(endpoint, error);
        }
        match self.entries.get_mut(key) {
            Some(entry) => {
                if let Slot::Free(next) = entry.slot {
                    self.free = next;
                }
                entry.slot = Slot::In(endpoint);
            }
            None => self.entries.push(Entry {
                slot: Slot::In(endpoint),
                generation,
            }),
        }
        self.len += 1;
        Ok(key)
    }

    /// Takes an endpoint out for good.
    pub fn remove(&mut self, key: usize) -> Option<E> {
        let endpoint = self.take(key)?;
        self.watched.remove(&endpoint);
        self.free_key(key);
        Some(endpoint)
    }

    /// Takes an endpoint out until it is [put](EndpointSet::put) back.
    #[inline]
    pub fn take(&mut self, key: usize) -> Option<E> {
        let entry = self.entries.get_mut(key)?;
        let handle = match &entry.slot {
            Slot::In(endpoint) => endpoint.handle().raw(),
            _ => return None,
        };
        match core::mem::replace(&mut entry.slot, Slot::Out(Some(handle))) {
            Slot::In(endpoint) => {
                self.len -= 1;
                Some(endpoint)
            }
            _ => None,
        }
    }

    /// Puts an endpoint back under the key under which it was taken out: no call into the kernel.
    ///
    /// # Panics
    /// If it is not the one that was taken out under this key.
    #[inline]
    pub fn put(&mut self, key: usize, endpoint: E) {
        let handle = endpoint.handle().raw();
        let Some(entry) = self.entries.get_mut(key) else {
            misplaced(key)
        };
        match entry.slot {
            Slot::Out(Some(member)) if member == handle => {}
            // It was ready while it was out, and the kernel's set has been told to forget it.
            Slot::Out(None)
                if self
                    .watched
                    .add(&endpoint, number(key, entry.generation))
                    .is_ok() => {}
            _ => misplaced(key),
        }
        entry.slot = Slot::In(endpoint);
        self.len += 1;
    }

    /// Gives up the key of an endpoint that is taken out and has been closed or sent; whether it
    /// was out.
    pub fn forget(&mut self, key: usize) -> bool {
        let out = matches!(
            self.entries.get(key),
            Some(Entry {
                slot: Slot::Out(_),
                ..
            })
        );
        if out {
            self.free_key(key);
        }
        out
    }

    /// Gives up the key of an endpoint that is taken out and goes on elsewhere, in any state:
    /// another set can take it then. Whether it was the one that is out under this key.
    pub fn release<T: TypedEndpoint>(&mut self, key: usize, endpoint: &T) -> bool {
        let raw = endpoint.handle().raw();
        match self.entries.get(key).map(|e| &e.slot) {
            Some(Slot::Out(Some(member))) if *member == raw => {
                self.watched.remove_raw(raw);
            }
            Some(Slot::Out(None)) => {}
            _ => return false,
        }
        self.free_key(key);
        true
    }

    fn free_key(&mut self, key: usize) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.slot = Slot::Free(self.free);
            entry.generation = (entry.generation + 1) % GENERATIONS;
            self.free = Some(key);
        }
    }

    /// Whether the endpoint of this number is in, and ready.
    fn is_ready(&self, number: u32) -> bool {
        let entry = self.entries.get(number as usize & (MOST - 1));
        entry.is_some_and(|e| match &e.slot {
            Slot::In(endpoint) if e.generation == number >> INDEX_BITS => {
                sys::endpoint_peek(endpoint.handle().raw()) != status::WOULD_BLOCK
            }
            _ => false,
        })
    }

    /// The key that the kernel names, if its endpoint is in. The kernel forgets one that is ready
    /// while it is out, until it is put back.
    #[inline]
    fn claim(&mut self, found: u32) -> Option<usize> {
        let key = found as usize & (MOST - 1);
        match self.entries.get_mut(key) {
            Some(entry) if entry.generation == found >> INDEX_BITS => match entry.slot {
                Slot::In(_) => return Some(key),
                Slot::Out(Some(member)) => {
                    // It is a member, since the kernel has named it; so this is its handle still.
                    self.watched.remove_raw(member);
                    entry.slot = Slot::Out(None);
                    return None;
                }
                Slot::Out(None) | Slot::Free(_) => {}
            },
            _ => {}
        }
        forgotten(key)
    }
}

#[inline]
fn number(key: usize, generation: u32) -> u32 {
    key as u32 | generation << INDEX_BITS
}

#[cold]
fn misplaced(key: usize) -> ! {
    panic!(
        "EndpointSet: no endpoint was taken out under key {key} that could be put back, or it was another; a new one is \
         taken in with insert"
    )
}

#[cold]
fn forgotten(key: usize) -> ! {
    panic!(
        "EndpointSet: the endpoint that was forgotten under key {key} is open still; one that goes on elsewhere is given up \
         with release"
    )
}

#[cold]
fn empty() -> ! {
    panic!(
        "switch_receive!: the set is empty, so nothing can ever come; look at is_empty first, or give a timeout"
    )
}

impl<E: Receives> Many for EndpointSet<E> {
    type Endpoint = E;

    #[inline]
    fn switch_watch<const N: usize>(&self, select: &mut Select<N>) -> usize {
        match self.passed.filter(|n| self.is_ready(*n)) {
            Some(number) => select.add_known(self.watched.handle(), number.cast_signed()),
            None => select.add(self.watched.handle()),
        }
    }

    #[inline]
    fn switch_ready<const N: usize>(
        &mut self,
        select: &mut Select<N>,
        from: usize,
        _: &Turn,
    ) -> Option<usize> {
        let found = select.tag(from)?;
        self.passed = None;
        let key = self.claim(found.cast_unsigned());
        if key.is_none() {
            select.again(from);
        }
        key
    }

    #[inline]
    fn switch_passed<const N: usize>(&mut self, select: &Select<N>, from: usize) {
        self.passed = select.tag(from).map(i32::cast_unsigned);
    }

    #[inline]
    fn switch_wait(&mut self, _: &Turn, mut patience: Patience) -> Result<usize, Error> {
        let mut timeout = patience.left(true);
        if self.len == 0 && timeout == Timeout::FOREVER {
            empty();
        }
        loop {
            let found = self.watched.wait(timeout)?;
            if let Some(key) = self.claim(found) {
                return Ok(key);
            }
            timeout = patience.left(false);
        }
    }

    #[inline]
    fn switch_take(&mut self, key: usize) -> E {
        match self.take(key) {
            Some(endpoint) => endpoint,
            None => never(),
        }
    }

    #[inline]
    fn switch_gone(&mut self, key: usize) {
        // Only one that is out: this can be called by anybody.
        self.forget(key);
    }
}
