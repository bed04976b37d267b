//! Blocks of messages, read where they lie: nothing is copied, and the process that has sent one may have
//! ended. Dropping one gives it back.

use crate::link::{Outgoing, Words};
use crate::value::{Argument, Plain, Value};
use sing_hosted::Held;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::str::Utf8Error;

/// An empty text in a block, as no block is empty: a byte that no UTF-8 has.
const EMPTY: &[u8] = &[0xff];

/// `T[] in ExHeap` that has come. One of bytes is a slice of them; others are read element by element. What
/// lies there may be no value of the type, whatever the contract says: then an element is `None`.
pub struct Vector<'s, T> {
    held: Held<'s>,
    of: PhantomData<T>,
}

/// `T* in ExHeap` that has come.
pub struct Record<'s, T> {
    held: Held<'s>,
    of: PhantomData<T>,
}

/// `char[] in ExHeap` that has come: text in UTF-8, if the process has kept to that.
pub struct Text<'s> {
    held: Held<'s>,
}

impl<T: Plain> Vector<'_, T> {
    /// The number of its elements: as many as fit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len().checked_div(T::SIZE).unwrap_or(0)
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element with this index; `None` if there is none, or its bytes are no value.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let at = index.checked_mul(T::SIZE)?;
        T::read_from(self.held.get(at..)?.get(..T::SIZE)?)
    }

    /// All elements.
    pub fn elements(&self) -> impl Iterator<Item = Option<T>> {
        self.held.chunks_exact(T::SIZE.max(1)).map(T::read_from)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.held
    }
}

impl Deref for Vector<'_, u8> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.held
    }
}

impl<T: Plain> Record<'_, T> {
    /// The value; `None` if its bytes are none.
    #[must_use]
    pub fn get(&self) -> Option<T> {
        T::read_from(&self.held)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.held
    }
}

impl Text<'_> {
    /// The text.
    ///
    /// # Errors
    /// If it is none.
    pub fn to_str(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(self.bytes())
    }

    /// The text, with a sign in the place of what is none.
    #[must_use]
    pub fn to_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &*self.held {
            EMPTY => &[],
            bytes => bytes,
        }
    }

    /// The number of its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_lossy())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_lossy(), f)
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Vector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.elements()).finish()
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Record<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A block that may be absent. An `Option` of values is something else: words of their own.
#[derive(Debug)]
pub struct Maybe<T>(pub Option<T>);

macro_rules! come {
    ($($name:ident $(<$t:ident>)?, $make:expr;)*) => {$(
        impl<'s $(, $t: Plain)?> Value<'s> for $name<'s $(, $t)?> {
            fn take(words: &mut Words<'s>) -> Option<Self> {
                words.block()?.map($make)
            }
        }

        impl<'s $(, $t: Plain)?> Value<'s> for Option<$name<'s $(, $t)?>> {
            fn take(words: &mut Words<'s>) -> Option<Self> {
                Some(words.block()?.map($make))
            }
        }
    )*};
}
come! {
    Vector<T>, |held| Vector { held, of: PhantomData };
    Record<T>, |held| Record { held, of: PhantomData };
    Text, |held| Text { held };
}

macro_rules! go {
    ($([$($t:ident)?] $ty:ty, $bytes:expr;)*) => {$(
        impl $(<$t: Plain>)? Argument for $ty {
            const WORDS: usize = 1;
            fn give(self, out: &mut Outgoing) {
                out.block(|to| $bytes(self, to));
            }
        }

        impl $(<$t: Plain>)? Argument for Maybe<$ty> {
            const WORDS: usize = 1;
            fn give(self, out: &mut Outgoing) {
                match self.0 {
                    Some(there) => there.give(out),
                    None => out.word(0),
                }
            }
        }
    )*};
}
go! {
    [T] &[T], |all: &[T], to: &mut Vec<u8>| T::append(all, to);
    [T] &T, |one: &T, to: &mut Vec<u8>| T::append(std::slice::from_ref(one), to);
    [] &str, |text: &str, to: &mut Vec<u8>| to.extend_from_slice(match text {
        "" => EMPTY,
        text => text.as_bytes(),
    });
}
