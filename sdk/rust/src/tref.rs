//! [`TRef`]: a tracked resource where ownership cannot be followed at compile time ([O] 4.6).
//!
//! A `TRef` promises at run time what the types promise of an owner: its content has one owner at a
//! time, the cell or the thread that acquired it. A second acquire waits until the first gives
//! something back, for ever if it must: what would be a wrong use is a deadlock and never two
//! owners.
//!
//! Invariants:
//! - Blocks belong to a thread. One in a cell belongs to none: it is parked with the kernel, and
//!   becomes the property of the thread that acquires it.
//! - Dropping a full cell gives its content up.

use crate::handle::Object;
use crate::rt::{Block, Handle, Record, Text, Vector};
use crate::set::Refused;
use crate::sync::{AutoEvent, Mutex, wait};
use crate::time::Timeout;
use crate::tree::Content;
use crate::{Error, error, sys};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The contents that a [`TRef`] can hold: blocks and what is made of them, endpoints, plain data,
/// and tuples, options and vectors of such.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be held by a TRef",
    label = "not tracked",
    note = "blocks, vectors, records, texts, endpoints, plain data, and tuples, options and vectors of such can"
)]
pub trait Tracked: Sized {
    /// The same while no thread owns it.
    type Parked: Send;

    /// Gives it up to no thread in particular.
    ///
    /// # Errors
    /// The value, if handles are short.
    fn park(self) -> Result<Self::Parked, Refused<Self>>;

    /// Makes it the calling thread's.
    ///
    /// # Errors
    /// The parked value, if handles are short.
    fn unpark(parked: Self::Parked) -> Result<Self, Refused<Self::Parked>>;
}

/// A block that no thread owns. Dropping it frees the block.
#[derive(Debug)]
pub struct ParkedBlock(Object);

impl Tracked for Block {
    type Parked = ParkedBlock;

    fn park(self) -> Result<ParkedBlock, Refused<Self>> {
        match Object::from_status(sys::xh_park(self.handle().raw())) {
            Ok(parked) => {
                // The kernel has it; the thread's handle is gone.
                let _ = self.into_raw();
                Ok(ParkedBlock(parked))
            }
            Err(error) => Err(Refused {
                content: self,
                error,
            }),
        }
    }

    fn unpark(parked: ParkedBlock) -> Result<Self, Refused<ParkedBlock>> {
        match error::check(sys::xh_unpark(parked.0.raw())) {
            Ok(handle) => {
                let _ = parked.0.into_raw();
                // SAFETY: the kernel has just made it this thread's.
                Ok(unsafe { Block::from_raw(Handle::from_raw(handle)) })
            }
            Err(error) => Err(Refused {
                content: parked,
                error,
            }),
        }
    }
}

/// The types that are a block by another name.
macro_rules! blocks {
    ($($name:ident $(<$t:ident>)?;)*) => {$(
        impl $(<$t: Content>)? Tracked for $name $(<$t>)? {
            type Parked = ParkedBlock;

            fn park(self) -> Result<ParkedBlock, Refused<Self>> {
                self.into_block().park().map_err(|r| Refused {
                    content: Self::from_block(r.content),
                    error: r.error,
                })
            }

            fn unpark(parked: ParkedBlock) -> Result<Self, Refused<ParkedBlock>> {
                Block::unpark(parked).map(Self::from_block)
            }
        }
    )*};
}
blocks! { Vector<T>; Record<T>; Text; }

/// The types that belong to no thread anyway.
#[macro_export]
#[doc(hidden)]
macro_rules! tracked_as_it_is {
    ($( [$($generic:tt)*] $t:ty; )*) => {$(
        impl<$($generic)*> $crate::tref::Tracked for $t {
            type Parked = Self;

            fn park(self) -> ::core::result::Result<Self, $crate::set::Refused<Self>> {
                ::core::result::Result::Ok(self)
            }

            fn unpark(parked: Self) -> ::core::result::Result<Self, $crate::set::Refused<Self>> {
                ::core::result::Result::Ok(parked)
            }
        }
    )*};
}
tracked_as_it_is! {
    [] (); [] bool; [] char; [] f32; [] f64; [] String;
    [] u8; [] u16; [] u32; [] u64; [] usize; [] i8; [] i16; [] i32; [] i64; [] isize;
}

impl<T: Tracked> Tracked for Option<T> {
    type Parked = Option<T::Parked>;

    fn park(self) -> Result<Self::Parked, Refused<Self>> {
        self.map(T::park).transpose().map_err(|r| r.map(Some))
    }

    fn unpark(parked: Self::Parked) -> Result<Self, Refused<Self::Parked>> {
        parked.map(T::unpark).transpose().map_err(|r| r.map(Some))
    }
}

/// Moves all values from one form to the other; if one cannot, those that have moved move back.
fn all<A, B>(
    values: Vec<A>,
    there: fn(A) -> Result<B, Refused<A>>,
    back: fn(B) -> Result<A, Refused<B>>,
) -> Result<Vec<B>, Refused<Vec<A>>> {
    let mut moved = Vec::with_capacity(values.len());
    let mut rest = values.into_iter();
    while let Some(value) = rest.next() {
        match there(value) {
            Ok(value) => moved.push(value),
            Err(Refused { content, error }) => {
                // A handle was given up for each that has moved, so there is room for them where
                // they were.
                let mut content: Vec<A> = moved
                    .into_iter()
                    .map(|b| back(b).unwrap_or_else(|lost| unreturnable(lost.error)))
                    .chain([content])
                    .collect();
                content.extend(rest);
                return Err(Refused { content, error });
            }
        }
    }
    Ok(moved)
}

impl<T: Tracked> Tracked for Vec<T> {
    type Parked = Vec<T::Parked>;

    fn park(self) -> Result<Self::Parked, Refused<Self>> {
        all(self, T::park, T::unpark)
    }

    fn unpark(parked: Self::Parked) -> Result<Self, Refused<Self::Parked>> {
        all(parked, T::unpark, T::park)
    }
}

impl<A: Tracked, B: Tracked> Tracked for (A, B) {
    type Parked = (A::Parked, B::Parked);

    fn park(self) -> Result<Self::Parked, Refused<Self>> {
        both(self, A::park, B::park, A::unpark)
    }

    fn unpark(parked: Self::Parked) -> Result<Self, Refused<Self::Parked>> {
        both(parked, A::unpark, B::unpark, A::park)
    }
}

/// Moves both to the other form, or neither.
fn both<A, B, C, D>(
    (a, b): (A, B),
    first: fn(A) -> Result<C, Refused<A>>,
    second: fn(B) -> Result<D, Refused<B>>,
    mut back: impl FnMut(C) -> Result<A, Refused<C>>,
) -> Result<(C, D), Refused<(A, B)>> {
    let c = match first(a) {
        Ok(c) => c,
        Err(refused) => return Err(refused.map(|a| (a, b))),
    };
    match second(b) {
        Ok(d) => Ok((c, d)),
        // The handle that it had is free again.
        Err(refused) => match back(c) {
            Ok(a) => Err(refused.map(|b| (a, b))),
            Err(lost) => unreturnable(lost.error),
        },
    }
}

/// Handles were taken by other threads just while some were given back.
#[cold]
fn unreturnable(error: Error) -> ! {
    panic!("a TRef's content could be moved neither on nor back: {error}")
}

/// More than two are nested pairs.
macro_rules! tuples {
    ($($first:ident $($rest:ident)*;)*) => {$(
        #[allow(non_snake_case)]
        impl<$first: Tracked, $($rest: Tracked),*> Tracked for ($first, $($rest),*) {
            type Parked = <($first, ($($rest),*)) as Tracked>::Parked;

            fn park(self) -> Result<Self::Parked, Refused<Self>> {
                let ($first, $($rest),*) = self;
                let flat = |($first, ($($rest),*))| ($first, $($rest),*);
                ($first, ($($rest),*)).park().map_err(|r| r.map(flat))
            }

            fn unpark(parked: Self::Parked) -> Result<Self, Refused<Self::Parked>> {
                <($first, ($($rest),*))>::unpark(parked).map(|($first, ($($rest),*))| ($first, $($rest),*))
            }
        }
    )*};
}
tuples! { A B C; A B C D; }

/// A cell for a tracked value, for all threads of the program.
///
/// ```
/// use sing_sdk::{rt::Block, tref::TRef};
///
/// /// Marks the block, whichever thread has it just now.
/// fn mark(cell: &TRef<Block>) -> Option<()> {
///     let mut block = cell.acquire().ok()?;
///     block.store_u8(0, 1);
///     cell.release(block).ok()
/// }
/// ```
pub struct TRef<T: Tracked> {
    content: Mutex<Option<T::Parked>>,
    /// Set when the cell has become full. The first to come takes the content, and the others wait
    /// on.
    full: AutoEvent,
}

impl<T: Tracked> fmt::Debug for TRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TRef").finish_non_exhaustive()
    }
}

impl<T: Tracked> TRef<T> {
    /// A full cell.
    ///
    /// # Errors
    /// The content, if handles are short.
    pub fn new(content: T) -> Result<TRef<T>, Refused<T>> {
        match AutoEvent::new(false) {
            Ok(full) => Ok(TRef {
                content: Mutex::new(Some(content.park()?)),
                full,
            }),
            Err(error) => Err(Refused { content, error }),
        }
    }

    /// Waits until it is full, and empties it.
    ///
    /// # Errors
    /// If handles are short; the cell stays full.
    pub fn acquire(&self) -> Result<T, Error> {
        loop {
            if let Some(content) = self.try_acquire()? {
                return Ok(content);
            }
            wait(&self.full, Timeout::FOREVER)?;
        }
    }

    /// Empties it, if it is full.
    ///
    /// # Errors
    /// If handles are short; the cell stays full.
    pub fn try_acquire(&self) -> Result<Option<T>, Error> {
        // Held until it is known what becomes of the content: no thread may fill a cell that is
        // going to be full again.
        let mut place = self.content.lock();
        let Some(content) = place.take() else {
            return Ok(None);
        };
        match T::unpark(content) {
            Ok(content) => Ok(Some(content)),
            Err(Refused { content, error }) => {
                *place = Some(content);
                // Others may have room, of which this call may be the one that was woken.
                self.full.set();
                Err(error)
            }
        }
    }

    /// Fills it.
    ///
    /// # Errors
    /// The content, with [`Error::BadState`] if the cell is full, or if handles are short.
    pub fn release(&self, content: T) -> Result<(), Refused<T>> {
        if self.content.lock().is_some() {
            return Err(Refused {
                content,
                error: Error::BadState,
            });
        }
        match self.fill(content.park()?) {
            None => Ok(()),
            // Another thread was first.
            Some(parked) => match T::unpark(parked) {
                Ok(content) => Err(Refused {
                    content,
                    error: Error::BadState,
                }),
                Err(lost) => unreturnable(lost.error),
            },
        }
    }

    /// Fills it if it is empty; else gives the content back.
    fn fill(&self, parked: T::Parked) -> Option<T::Parked> {
        let mut content = self.content.lock();
        if content.is_some() {
            return Some(parked);
        }
        *content = Some(parked);
        self.full.set();
        None
    }
}
