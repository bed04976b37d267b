//! [`TRef`]: a tracked resource where ownership cannot be followed at compile time ([O] 4.6).
//!
//! What the types promise of an owner, a `TRef` promises while the program runs: its content has one owner at a time, the
//! cell or whoever acquired it. A second acquire waits until the first gives something back, for ever if it must: what
//! would be a wrong use is a deadlock and never two owners.
//!
//! Invariants:
//! - Blocks belong to a thread. One in a cell belongs to none: it is parked with the kernel, and becomes its thread's
//!   who acquires it.
//! - Dropping a full cell gives its content up.

use crate::handle::Object;
use crate::rt::{Block, Handle, Plain, Record, Text, Vector};
use crate::set::Refused;
use crate::sync::{AutoEvent, Mutex, wait};
use crate::time::Timeout;
use crate::{Error, error, sys};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What a [`TRef`] can hold: blocks and what is made of them, endpoints, plain data, and tuples, options and vectors of
/// such.
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
    /// The value, where handles are short.
    fn park(self) -> Result<Self::Parked, Refused<Self>>;

    /// Makes it the calling thread's.
    ///
    /// # Errors
    /// The parked value, where handles are short.
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

/// What is a block by another name.
macro_rules! blocks {
    ($($name:ident $(<$t:ident>)?;)*) => {$(
        impl $(<$t: Plain>)? Tracked for $name $(<$t>)? {
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

/// What belongs to no thread anyway.
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
tracked_as_it_is! { [] String; [] (); [T: Plain + Send] T; }

impl<T: Tracked> Tracked for Option<T> {
    type Parked = Option<T::Parked>;

    fn park(self) -> Result<Self::Parked, Refused<Self>> {
        self.map(T::park).transpose().map_err(Refused::some)
    }

    fn unpark(parked: Self::Parked) -> Result<Self, Refused<Self::Parked>> {
        parked.map(T::unpark).transpose().map_err(Refused::some)
    }
}

impl<T> Refused<T> {
    fn some(self) -> Refused<Option<T>> {
        self.map(Some)
    }

    fn map<U>(self, f: impl FnOnce(T) -> U) -> Refused<U> {
        Refused {
            content: f(self.content),
            error: self.error,
        }
    }
}

/// Moves all values from one form to the other; where one cannot, those that have moved move back.
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
                // A handle was given up for each that has moved, so there is room for them where they were.
                let mut content: Vec<A> = moved
                    .into_iter()
                    .filter_map(|b| back(b).ok())
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
