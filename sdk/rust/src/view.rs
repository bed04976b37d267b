//! Views: parts of blocks and vectors, borrowed.
//!
//! A view cannot outlive the owner's turn: while it lives, the block cannot be sent, shared or
//! dropped, and while one lives through which it can be changed, no other code reaches it.
//! [`ViewMut::split_at`] makes two of one that do not overlap.
//!
//! Invariant: a view lies inside its block, so that no access of it can end the program.

use crate::Error;
use crate::heap::{load, store};
use crate::rt::{Block, OneThread, Plain, Vector};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Bound, RangeBounds};

/// A borrowed part of a block.
#[derive(Debug)]
struct Part {
    /// Like the block's own, and before it: the compiler's refusal names the first.
    _thread: OneThread,
    block: ManuallyDrop<Block>,
    /// Bytes before the first element.
    start: usize,
    /// Elements.
    len: usize,
}

impl Part {
    fn new<T: Plain>(block: &Block, range: impl RangeBounds<usize>) -> Result<Part, Error> {
        const { assert!(T::SIZE > 0, "elements without bytes cannot be counted") };
        let most = block.len() / T::SIZE;
        let start = match range.start_bound() {
            Bound::Included(n) => *n,
            Bound::Excluded(n) => n.checked_add(1).ok_or(Error::BadArgument)?,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(n) => n.checked_add(1).ok_or(Error::BadArgument)?,
            Bound::Excluded(n) => *n,
            Bound::Unbounded => most,
        };
        if start > end || end > most {
            return Err(Error::BadArgument);
        }
        Ok(Part::at(block, start * T::SIZE, end - start))
    }

    fn at(block: &Block, start: usize, len: usize) -> Part {
        Part {
            _thread: OneThread::MARK,
            // SAFETY: it is never dropped, and the views below borrow the owner for as long as they
            // live.
            block: ManuallyDrop::new(unsafe { Block::from_raw(block.handle()) }),
            start,
            len,
        }
    }

    fn cut<T: Plain>(&self, at: usize) -> Option<(Part, Part)> {
        let rest = self.len.checked_sub(at)?;
        Some((
            Part::at(&self.block, self.start, at),
            Part::at(&self.block, self.start + at * T::SIZE, rest),
        ))
    }

    #[inline]
    fn get<T: Plain>(&self, index: usize) -> Option<T> {
        (index < self.len)
            .then(|| load(&self.block, self.start + index * T::SIZE))
            .flatten()
    }

    #[inline]
    fn set<T: Plain>(&mut self, index: usize, value: T) -> bool {
        let inside = index < self.len;
        if inside {
            store(&mut self.block, self.start + index * T::SIZE, value);
        }
        inside
    }

    /// Copies elements out in pieces.
    fn copy_to<T: Plain>(&self, out: &mut [T]) -> bool {
        out.len() == self.len
            && pieces::<T>(self.len).all(|(first, count)| {
                if T::SIZE > ROOM {
                    return self.get(first).map(|value| out[first] = value).is_some();
                }
                let mut bytes = [0; ROOM];
                let bytes = &mut bytes[..count * T::SIZE];
                self.block.read(self.start + first * T::SIZE, bytes);
                let values = bytes.chunks_exact(T::SIZE).map(T::read_from);
                out[first..].iter_mut().zip(values).all(|(to, value)| {
                    value.is_some_and(|value| {
                        *to = value;
                        true
                    })
                })
            })
    }

    fn copy_from<T: Plain>(&mut self, values: &[T]) -> bool {
        if values.len() != self.len {
            return false;
        }
        for (first, count) in pieces::<T>(self.len) {
            if T::SIZE > ROOM {
                self.set(first, values[first]);
                continue;
            }
            let mut bytes = [0; ROOM];
            let bytes = &mut bytes[..count * T::SIZE];
            for (to, value) in bytes
                .chunks_exact_mut(T::SIZE)
                .zip(&values[first..first + count])
            {
                value.write_to(to);
            }
            self.block.write(self.start + first * T::SIZE, bytes);
        }
        true
    }
}

/// Bytes that are copied at once.
const ROOM: usize = 256;

/// So many elements in pieces that fit the room on the stack, or one by one: the first of each, and
/// how many.
fn pieces<T: Plain>(len: usize) -> impl Iterator<Item = (usize, usize)> {
    let most = (ROOM / T::SIZE).max(1);
    (0..len).step_by(most).map(move |i| (i, most.min(len - i)))
}

macro_rules! reading {
    ($name:ident) => {
        impl<T: Plain> $name<'_, T> {
            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.part.len
            }

            /// Whether it has none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.part.len == 0
            }

            /// The element at `index`; `None` beyond the end, or if the bytes are no such value.
            #[must_use]
            #[inline]
            pub fn get(&self, index: usize) -> Option<T> {
                self.part.get(index)
            }

            /// Its elements, up to the first that is no such value.
            pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
                (0..self.len()).map_while(|i| self.get(i))
            }

            /// Copies all elements; false if `out` has another length, or bytes are no such value.
            #[must_use]
            pub fn copy_to(&self, out: &mut [T]) -> bool {
                self.part.copy_to(out)
            }
        }
    };
}

/// A borrowed part that can be read.
#[derive(Debug)]
pub struct View<'a, T> {
    part: Part,
    owner: PhantomData<&'a [T]>,
}

/// A borrowed part that can be changed.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    part: Part,
    owner: PhantomData<&'a mut [T]>,
}

reading! { View }
reading! { ViewMut }

impl<'a, T: Plain> View<'a, T> {
    /// The part before `index` and the part from there on; `None` beyond the end.
    #[must_use]
    pub fn split_at(self, index: usize) -> Option<(View<'a, T>, View<'a, T>)> {
        let (a, b) = self.part.cut::<T>(index)?;
        let view = |part| View {
            part,
            owner: PhantomData,
        };
        Some((view(a), view(b)))
    }
}

impl<'a, T: Plain> ViewMut<'a, T> {
    /// Sets the element at `index`; false beyond the end.
    #[inline]
    pub fn set(&mut self, index: usize, value: T) -> bool {
        self.part.set(index, value)
    }

    /// Sets all elements; false if there are not as many.
    pub fn copy_from(&mut self, values: &[T]) -> bool {
        self.part.copy_from(values)
    }

    /// The part before `index` and the part from there on, both to be changed; `None` beyond the
    /// end.
    #[must_use]
    pub fn split_at(self, index: usize) -> Option<(ViewMut<'a, T>, ViewMut<'a, T>)> {
        let (a, b) = self.part.cut::<T>(index)?;
        let view = |part| ViewMut {
            part,
            owner: PhantomData,
        };
        Some((view(a), view(b)))
    }
}

impl Block {
    /// The bytes in a range, to be read.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if the range is not inside.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'_, u8>, Error> {
        Ok(View {
            part: Part::new::<u8>(self, range)?,
            owner: PhantomData,
        })
    }

    /// The bytes in a range, to be changed. If the block is shared, changing one ends the program.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if the range is not inside.
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, u8>, Error> {
        Ok(ViewMut {
            part: Part::new::<u8>(self, range)?,
            owner: PhantomData,
        })
    }
}

impl<T: Plain> Vector<T> {
    /// The elements in a range, to be read.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if the range is not inside.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>, Error> {
        Ok(View {
            part: Part::new::<T>(self.block(), range)?,
            owner: PhantomData,
        })
    }

    /// The elements in a range, to be changed. If the block is shared, changing one ends the
    /// program.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if the range is not inside.
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>, Error> {
        Ok(ViewMut {
            part: Part::new::<T>(self.block(), range)?,
            owner: PhantomData,
        })
    }
}
