//! Synchronisation: events, a mutex around data, waiting for the first of several things.

use crate::handle::Object;
use crate::rt::{Handle, OneThread, Waitable};
use crate::time::{Timeout, waited};
use crate::{Error, error, sys};
use core::cell::UnsafeCell;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

macro_rules! event {
    ($(#[$doc:meta])* $name:ident, $create:path $(, $give_back:ident)?) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Object);

        impl $name {
            /// An event, set at first or not.
            ///
            /// # Errors
            /// [`Error::NoResources`] if handles are short.
            pub fn new(set: bool) -> Result<Self, Error> {
                Object::from_status($create(set.into())).map(Self)
            }

            /// Sets it.
            pub fn set(&self) {
                sys::event_set(self.0.raw());
            }

            /// Resets it.
            pub fn reset(&self) {
                sys::event_reset(self.0.raw());
            }
        }

        impl Waitable for $name {
            fn handle(&self) -> Handle {
                Handle::from_raw(self.0.raw())
            }
            $(
                fn give_back(&self) {
                    self.$give_back();
                }
            )?
        }
    };
}

event! {
    /// An event that lets one waiter through for each time it is set.
    AutoEvent, sys::auto_event_create, set
}
event! {
    /// An event that lets all waiters through while it is set.
    ManualEvent, sys::manual_event_create
}

/// Waits for one thing.
///
/// # Errors
/// [`Error::Timeout`] if the time-out passed.
pub fn wait(thing: &dyn Waitable, timeout: Timeout) -> Result<(), Error> {
    match waited(sys::wait_one(thing.handle().raw(), timeout.nanos()))? {
        true => Ok(()),
        false => Err(Error::Timeout),
    }
}

/// The most things that one wait can be for.
pub const MAX_WAIT: usize = 64;

/// Waits for the first of several things; its index. Those whose handle is 0 are passed over.
///
/// # Errors
/// [`Error::Timeout`] if the time-out passed, [`Error::BadArgument`] for more than [`MAX_WAIT`].
pub fn wait_any(handles: &[Handle], timeout: Timeout) -> Result<usize, Error> {
    if handles.len() > MAX_WAIT {
        return Err(Error::BadArgument);
    }
    // SAFETY: `handles` is readable for its length, and a handle is one `u32`.
    let code = unsafe { sys::wait_any(handles.as_ptr().cast(), handles.len(), timeout.nanos()) };
    error::check(code).map(|i| i as usize)
}

/// An interrupt line of a device. Needs the privilege `console`.
#[derive(Debug)]
pub struct Interrupt(Object);

impl Interrupt {
    /// The interrupt of a line.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such line, [`Error::BadState`] if another has it.
    pub fn new(line: u32) -> Result<Interrupt, Error> {
        Object::from_status(sys::interrupt_create(line)).map(Interrupt)
    }

    /// Acknowledges it, so that the next one can come.
    pub fn acknowledge(&self) {
        sys::interrupt_ack(self.0.raw());
    }
}

impl Waitable for Interrupt {
    fn handle(&self) -> Handle {
        Handle::from_raw(self.0.raw())
    }
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

/// Data that one thread at a time may use.
///
/// Taking it when it is free is one atomic instruction and no call; a thread that must wait does so
/// in the kernel.
pub struct Mutex<T: ?Sized> {
    state: AtomicU32,
    /// Handle of the event that waiters wait for; 0 until a thread has to.
    event: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and `state` lets only one guard exist at a
// time.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// A free mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            state: AtomicU32::new(FREE),
            event: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until it is free, and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if self
            .state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.wait();
        }
        MutexGuard::new(self)
    }

    /// Takes it if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            // Only then: a guard that is made and dropped frees the mutex, also one that another
            // thread has.
            .then(|| MutexGuard::new(self))
    }

    #[cold]
    fn wait(&self) {
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            match self.event() {
                // The event stays set until one waiter has come, so no wake-up is lost.
                Some(event) => drop(sys::wait_one(event, Timeout::FOREVER.nanos())),
                None => sys::yield_now(),
            }
        }
    }

    fn event(&self) -> Option<u32> {
        let known = self.event.load(Ordering::Acquire);
        if known != 0 {
            return Some(known);
        }
        let made = Object::from_status(sys::auto_event_create(0)).ok()?;
        match self
            .event
            .compare_exchange(0, made.raw(), Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Some(made.into_raw()),
            Err(other) => Some(other),
        }
    }
}

impl<T: ?Sized> Drop for Mutex<T> {
    fn drop(&mut self) {
        let event = *self.event.get_mut();
        if event != 0 {
            sys::handle_dispose(event);
        }
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// The right to use a mutex's data, until dropped. It stays with the thread that took it.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Keeps threads from giving it away, and from sharing it: a mutex may be shared whatever its
    /// data is, so that the reference above says nothing of that.
    _thread: OneThread,
}

// SAFETY: a shared guard gives a shared reference to the value, and nothing more.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// For the thread that has just taken the mutex.
    fn new(mutex: &'a Mutex<T>) -> Self {
        MutexGuard {
            mutex,
            _thread: OneThread::MARK,
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and it is borrowed mutably.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.mutex.state.swap(FREE, Ordering::Release) == AWAITED {
            // A waiter that is just about to make the event has not waited yet, and looks again
            // after.
            if let Some(event) = self.mutex.event() {
                sys::event_set(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_that_is_held_stays_so() {
        let mutex = Mutex::new(1);
        let held = mutex.lock();
        for _ in 0..3 {
            assert!(mutex.try_lock().is_none());
        }
        drop(held);
        assert_eq!(mutex.try_lock().map(|held| *held), Some(1));
        assert!(mutex.try_lock().is_some());
    }
}
