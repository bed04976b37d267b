//! Waiting for several things at once, and the parts that `switch_receive!` ([O] 4.4) is made of.
//!
//! Programs use [`Select`] if they learn only at run time what to wait for. Everything else here is
//! for the code that the macro makes.
//!
//! Invariants:
//! - Looking takes nothing from an endpoint: a message stays the first of its queue until its case
//!   fires.
//! - A wait that has taken something else (an event that lets one waiter through) puts it back if
//!   another case fires.

use crate::rt::{Handle, TypedEndpoint, Waitable};
use crate::time::{Timeout, uptime};
use crate::{Error, error, sys};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use sing_abi::{NO_TAGS, status};

pub use check::{covers_all, exhaustive};

#[doc(hidden)]
pub mod cases;
mod check;

/// The most things that one wait can be for. A set of endpoints counts as one.
pub const MAX: usize = 64;

/// The tag of a closed channel.
pub const CLOSED: i32 = status::CLOSED;

/// A message that can come in a state.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its name in the contract.
    pub name: &'static str,
    /// Whether it promises something of its arguments that a sender can break; the receiver then
    /// closes the channel.
    pub promises: bool,
}

/// An endpoint, with what can come in its state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a `switch_receive!`",
    label = "not an endpoint",
    note = "a case names a variable that owns an endpoint, or `set[key]` where the set is an `EndpointSet<E>`, an array or a \
            vector of `Option<E>`"
)]
pub trait Receives: TypedEndpoint {
    /// The messages that can come.
    const MESSAGES: &'static [Message];
    /// The same with the close of the channel, as a list of types.
    #[doc(hidden)]
    type Cases;
}

/// Looks at up to `N` things, again and again until enough has come.
///
/// ```
/// use sing_sdk::{Error, rt::Waitable, select::Select, sync::AutoEvent, time::Timeout};
///
/// /// Whether the first has come.
/// fn which(a: &AutoEvent, b: &AutoEvent) -> Result<bool, Error> {
///     let mut select = Select::<2>::new();
///     let (first, _) = (select.add(a.handle()), select.add(b.handle()));
///     select.wait(Timeout::FOREVER)?;
///     Ok(select.tag(first).is_some())
/// }
/// ```
#[derive(Debug)]
pub struct Select<const N: usize> {
    /// Written as far as `len` says: clearing room for 64 would be most of what a look at a few
    /// costs.
    handles: [MaybeUninit<u32>; N],
    tags: [MaybeUninit<i32>; N],
    len: usize,
    /// Whether something is known to have come, so that a wait is a look.
    known: bool,
}

impl<const N: usize> Default for Select<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Select<N> {
    const FITS: () = assert!(
        N <= MAX,
        "one wait is for at most 64 things; endpoints in the same state can be put into an EndpointSet, which counts as one"
    );

    /// Nothing to look at.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        let () = Self::FITS;
        Select {
            handles: [const { MaybeUninit::uninit() }; N],
            tags: [const { MaybeUninit::uninit() }; N],
            len: 0,
            known: false,
        }
    }

    /// Adds a thing; its place. Nothing ever comes at the place of [`Handle::NONE`].
    ///
    /// # Panics
    /// If there are `N` already.
    #[inline]
    pub fn add(&mut self, thing: Handle) -> usize {
        let place = self.len;
        if place >= N {
            full(N);
        }
        self.handles[place].write(thing.raw());
        self.tags[place].write(status::WOULD_BLOCK);
        self.len = place + 1;
        place
    }

    /// Adds a thing of which it is known what has come.
    #[inline]
    pub(crate) fn add_known(&mut self, thing: Handle, tag: i32) -> usize {
        let place = self.add(thing);
        self.tags[place].write(tag);
        self.known = true;
        place
    }

    /// The event that has come at a place: of an endpoint the index of its first message, or a
    /// negative number if the channel is closed; of a set the key of an endpoint that is ready; of
    /// anything else 0. `None` if nothing has.
    #[must_use]
    #[inline]
    pub fn tag(&self, place: usize) -> Option<i32> {
        assert!(place < self.len, "a selection has no such place");
        // SAFETY: it was written when the place was taken.
        let tag = unsafe { self.tags[place].assume_init() };
        (tag != status::WOULD_BLOCK).then_some(tag)
    }

    /// Looks at this place again.
    #[inline]
    pub fn again(&mut self, place: usize) {
        self.tags[place].write(status::WOULD_BLOCK);
    }

    /// Waits until something has come at a place where nothing had.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the time-out passed, [`Error::BadArgument`] if there is no such place.
    #[inline]
    pub fn wait(&mut self, timeout: Timeout) -> Result<(), Error> {
        if core::mem::take(&mut self.known) {
            // The known event ends the wait; a look at the others keeps the turns fair.
            let _ = self.look(Timeout::NONE);
            return Ok(());
        }
        self.look(timeout)
    }

    #[inline]
    fn look(&mut self, timeout: Timeout) -> Result<(), Error> {
        // SAFETY: both arrays are written for the length, which is at most theirs, and the tags can
        // be changed.
        let code = unsafe {
            sys::select(
                self.handles.as_ptr().cast(),
                self.tags.as_mut_ptr().cast(),
                self.len,
                timeout.nanos(),
            )
        };
        error::check(code).map(drop)
    }
}

#[cold]
fn full(most: usize) -> ! {
    panic!(
        "this wait is for at most {most} things; endpoints in the same state can be put into an EndpointSet, which \
         counts as one"
    )
}

/// A message came that the kernel has not announced, or that the contract does not allow: it never
/// does.
#[cold]
#[doc(hidden)]
pub fn never() -> ! {
    panic!("a message came that its contract does not allow here")
}

/// Ends a program that would wait for ever.
#[cold]
#[doc(hidden)]
pub fn stuck() -> ! {
    panic!(
        "switch_receive! would wait for ever: whatever it waits for has come or is closed, and no case fires for that"
    )
}

/// How much longer a switch waits, over several waits.
#[doc(hidden)]
#[derive(Debug)]
pub struct Patience {
    timeout: Timeout,
    /// When it ends; asked for only if it ends at all.
    end: Option<Duration>,
}

impl Patience {
    /// Waits so long from now on.
    #[inline]
    pub fn lasting(timeout: impl Into<Timeout>) -> Patience {
        let timeout = timeout.into();
        let ends = timeout != Timeout::FOREVER && timeout != Timeout::NONE;
        Patience {
            timeout,
            end: ends.then(|| uptime().saturating_add(timeout.duration())),
        }
    }

    /// Waits until then, on the clock that [`uptime`] reads.
    #[inline]
    #[must_use]
    pub fn until(deadline: Duration) -> Patience {
        Patience {
            timeout: deadline.saturating_sub(uptime()).into(),
            end: Some(deadline),
        }
    }

    /// The time that is left; the first time, without a look at the clock.
    #[inline]
    pub fn left(&mut self, first: bool) -> Timeout {
        match self.end {
            Some(end) if !first => end.saturating_sub(uptime()).into(),
            _ => self.timeout,
        }
    }

    /// Waits once more; false if the time has passed.
    #[inline]
    pub fn wait<const N: usize>(&mut self, select: &mut Select<N>, first: bool) -> bool {
        let left = self.left(first);
        match select.wait(left) {
            Ok(()) => true,
            // There is nothing to wait for but the time.
            Err(Error::BadArgument) if left == Timeout::FOREVER => stuck(),
            Err(Error::BadArgument) => {
                sys::sleep(left.nanos());
                false
            }
            Err(_) => false,
        }
    }
}

/// Whose turn it is among cases that can fire: the one behind that which fired last comes first.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Turn(AtomicU32);

impl Turn {
    /// The first one's.
    #[must_use]
    pub const fn new() -> Turn {
        Turn(AtomicU32::new(0))
    }

    /// The first of so many that can, in turn.
    #[inline]
    pub fn first(&self, of: usize, mut can: impl FnMut(usize) -> bool) -> Option<usize> {
        let start = self.0.load(Ordering::Relaxed) as usize;
        let start = if start < of { start } else { 0 };
        for i in (start..of).chain(0..start) {
            if can(i) {
                // Threads that come by here at once may both get the same turn; no case is passed
                // over for that.
                self.0.store(i as u32 + 1, Ordering::Relaxed);
                return Some(i);
            }
        }
        None
    }
}

/// Endpoints in one state under keys: what `set[key]` in a switch can name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` holds no endpoints that a `switch_receive!` could wait for",
    note = "`EndpointSet<E>`, `[Option<E>; N]` and `Vec<Option<E>>` do"
)]
pub trait Many {
    /// An endpoint of it.
    type Endpoint: Receives;

    /// Itself, through any number of references.
    fn switch_many(&self) -> &Self {
        self
    }

    /// Looks at them in a wait; the first place that they take in it.
    fn switch_watch<const N: usize>(&self, select: &mut Select<N>) -> usize;

    /// The key of one that is ready, in turn.
    fn switch_ready<const N: usize>(
        &mut self,
        select: &mut Select<N>,
        from: usize,
        turn: &Turn,
    ) -> Option<usize>;

    /// Another case has fired, though one of these may have been found ready.
    fn switch_passed<const N: usize>(&mut self, select: &Select<N>, from: usize);

    /// Waits for one that is ready.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the time-out passed.
    fn switch_wait(&mut self, turn: &Turn, patience: Patience) -> Result<usize, Error>;

    /// Takes one out that is ready.
    fn switch_take(&mut self, key: usize) -> Self::Endpoint;

    /// One that was taken out is gone.
    fn switch_gone(&mut self, key: usize);
}

impl<E: Receives> Many for [Option<E>] {
    type Endpoint = E;

    #[inline]
    fn switch_watch<const N: usize>(&self, select: &mut Select<N>) -> usize {
        let from = select.len;
        for endpoint in self {
            select.add(endpoint.as_ref().map_or(Handle::NONE, Waitable::handle));
        }
        from
    }

    #[inline]
    fn switch_ready<const N: usize>(
        &mut self,
        select: &mut Select<N>,
        from: usize,
        turn: &Turn,
    ) -> Option<usize> {
        turn.first(self.len(), |i| select.tag(from + i).is_some())
    }

    #[inline]
    fn switch_passed<const N: usize>(&mut self, _: &Select<N>, _: usize) {}

    /// Whose turn it is the kernel knows.
    fn switch_wait(&mut self, _: &Turn, mut patience: Patience) -> Result<usize, Error> {
        if self.len() > MAX {
            full(MAX);
        }
        let mut handles = [const { MaybeUninit::<u32>::uninit() }; MAX];
        for (place, endpoint) in handles.iter_mut().zip(self.iter()) {
            place.write(
                endpoint
                    .as_ref()
                    .map_or(Handle::NONE, Waitable::handle)
                    .raw(),
            );
        }
        let left = patience.left(true);
        let no_tags = core::ptr::without_provenance_mut(NO_TAGS as usize);
        // SAFETY: the array is written for the length, which is at most its own, and there are no
        // tags.
        let place =
            unsafe { sys::select(handles.as_ptr().cast(), no_tags, self.len(), left.nanos()) };
        match error::check(place) {
            // There is nothing to wait for but the time.
            Err(Error::BadArgument) if left == Timeout::FOREVER => stuck(),
            Err(Error::BadArgument) => {
                sys::sleep(left.nanos());
                Err(Error::Timeout)
            }
            Err(_) => Err(Error::Timeout),
            Ok(place) => Ok(place as usize),
        }
    }

    #[inline]
    fn switch_take(&mut self, key: usize) -> E {
        match self[key].take() {
            Some(endpoint) => endpoint,
            None => never(),
        }
    }

    #[inline]
    fn switch_gone(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn everybody_gets_a_turn() {
        let turn = Turn::new();
        let served: Vec<_> = (0..6).map(|_| turn.first(3, |_| true)).collect();
        assert_eq!(served, [0, 1, 2, 0, 1, 2].map(Some));
        // One that cannot is passed over, and does not hold up the others.
        let served: Vec<_> = (0..4).map(|_| turn.first(3, |i| i != 1)).collect();
        assert_eq!(served, [0, 2, 0, 2].map(Some));
        assert_eq!(turn.first(3, |_| false), None);
        assert_eq!(turn.first(0, |_| true), None);
    }

    #[test]
    fn a_turn_survives_that_there_are_fewer() {
        let turn = Turn::new();
        assert_eq!(turn.first(8, |i| i == 7), Some(7));
        assert_eq!(turn.first(2, |_| true), Some(0));
    }

    #[test]
    #[should_panic(expected = "at most 2 things")]
    fn more_than_there_is_room_for() {
        let mut select = Select::<2>::new();
        for _ in 0..3 {
            select.add(Handle::NONE);
        }
    }
}
