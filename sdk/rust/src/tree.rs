//! Trees of blocks ([O] 4.7): blocks whose content owns further blocks.
//!
//! A rep struct with `R* in ExHeap` or `R[] in ExHeap` fields is a Rust struct with [`Record`]s and
//! [`Vector`]s in it. In a block, such a part is attached at its field's place: it moves with the
//! block, by one pointer however large the tree is, and is freed with it. To be used it is taken
//! out, and so it has one owner at any time: the block it is attached to, or the value it is in.
//!
//! Invariants:
//! - If a call fails, a value that was to be put into a block is freed, and one that was to be
//!   taken out stays there.
//! - Content from other processes is judged when it is taken out: a part that is not there, or
//!   bytes that are no value, make `None`.

use crate::heap::{load, store};
use crate::rt::{Block, Handle, Plain, Record, Text, Vector};
use crate::{Error, error, sys};
use alloc::vec::Vec;

/// A value that a block can hold: plain data, or a rep struct whose fields may be blocks.
pub trait Content: Sized {
    /// Its size in bytes, a multiple of its alignment.
    const SIZE: usize;
    /// Its alignment in bytes.
    const ALIGN: usize;
    /// Whether there may be blocks in it.
    const PARTS: bool = true;

    /// Moves it to `at` in a block; nothing is attached there. Outside the block, the SIP ends.
    ///
    /// # Errors
    /// [`Error::BadState`] if the block is shared and so cannot get parts. A part that did not get
    /// there is freed.
    fn put(self, block: &mut Block, at: usize) -> Result<(), Error>;

    /// Takes it out of a block; `None` if it is not there, and then nothing has changed, unless the
    /// block is shared: parts can be taken out of that, but not put back. Outside the block, the
    /// SIP ends.
    fn take(block: &mut Block, at: usize) -> Option<Self>;
}

impl<T: Plain> Content for T {
    const SIZE: usize = T::SIZE;
    const ALIGN: usize = T::ALIGN;
    const PARTS: bool = false;

    #[inline]
    fn put(self, block: &mut Block, at: usize) -> Result<(), Error> {
        store(block, at, self);
        Ok(())
    }

    #[inline]
    fn take(block: &mut Block, at: usize) -> Option<Self> {
        load(block, at)
    }
}

/// Makes a block a part of another one.
fn attach(parent: &mut Block, at: usize, part: Block) -> Result<(), Error> {
    let status = sys::xh_attach(parent.handle().raw(), at as u32, part.handle().raw());
    error::check(status)?;
    // It has a new owner.
    let _: Handle = part.into_raw();
    Ok(())
}

/// Takes a part out. [`Error::NotFound`] if there is none; for other errors it stays.
fn detach(parent: &mut Block, at: usize) -> Result<Block, Error> {
    let handle = error::check(sys::xh_detach(parent.handle().raw(), at as u32))?;
    // SAFETY: the kernel has just given it to this thread.
    Ok(unsafe { Block::from_raw(Handle::from_raw(handle)) })
}

macro_rules! parts {
    ($($name:ident $(<$t:ident>)?;)*) => {$(
        impl $(<$t: Content>)? Content for $name $(<$t>)? {
            const SIZE: usize = 4;
            const ALIGN: usize = 4;

            fn put(self, block: &mut Block, at: usize) -> Result<(), Error> {
                attach(block, at, self.into_block())
            }

            fn take(block: &mut Block, at: usize) -> Option<Self> {
                detach(block, at).ok().map(Self::from_block)
            }
        }

        impl $(<$t: Content>)? Content for Option<$name $(<$t>)?> {
            const SIZE: usize = 4;
            const ALIGN: usize = 4;

            fn put(self, block: &mut Block, at: usize) -> Result<(), Error> {
                self.map_or(Ok(()), |part| part.put(block, at))
            }

            fn take(block: &mut Block, at: usize) -> Option<Self> {
                match detach(block, at) {
                    Ok(part) => Some(Some($name::from_block(part))),
                    Err(Error::NotFound) => Some(None),
                    // It is there, but there is no room for its handle.
                    Err(_) => None,
                }
            }
        }
    )*};
}
parts! { Record<T>; Vector<T>; Text; }

impl<T: Content> Record<T> {
    /// A block with this value.
    ///
    /// # Errors
    /// [`Error::NoResources`] if memory is short; the value is then freed.
    pub fn new(value: T) -> Result<Record<T>, Error> {
        let mut block = Block::new(T::SIZE)?;
        value.put(&mut block, 0)?;
        Ok(Record::from_block(block))
    }

    /// The value, the block being freed. `None` if the block is too small, or what is in it is no
    /// such value: then everything in it is freed, too.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        let mut block = self.into_block();
        if block.len() < T::SIZE {
            return None;
        }
        T::take(&mut block, 0)
    }

    /// Lets `f` read and change the value in its place: parts are taken out for it, and put back.
    /// `None`, and nothing done, if it is no such value, and if a value with parts cannot be
    /// changed since another block has to do with its memory: a view of it, or what was cut off it.
    /// A plain value in a shared block ends the program, as
    /// [`Record::set`] does.
    pub fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.block().len() < T::SIZE {
            return None;
        }
        lend(self.block_mut(), 0, f)
    }
}

impl<T: Content> Vector<T> {
    /// Refuses, when the program is compiled, elements of no size.
    const COUNTABLE: () = assert!(T::SIZE > 0, "elements without bytes cannot be counted");

    /// A vector of these elements, at least one.
    ///
    /// # Errors
    /// [`Error::NoResources`] if memory is short, [`Error::BadArgument`] for a length that cannot
    /// be; the elements are then freed.
    pub fn from_elements(elements: Vec<T>) -> Result<Vector<T>, Error> {
        let () = Self::COUNTABLE;
        let size = elements.len().checked_mul(T::SIZE);
        let mut block = Block::new(size.ok_or(Error::BadArgument)?)?;
        for (i, element) in elements.into_iter().enumerate() {
            element.put(&mut block, i * T::SIZE)?;
        }
        Ok(Vector::from_block(block))
    }

    /// Number of elements.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        let () = Self::COUNTABLE;
        self.block().len() / T::SIZE
    }

    /// Whether it has no element: if the block is smaller than one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements, the block being freed. `None` if one of them is no such value: then all are
    /// freed, too.
    #[must_use]
    pub fn into_elements(self) -> Option<Vec<T>> {
        let len = self.len();
        let mut block = self.into_block();
        (0..len).map(|i| T::take(&mut block, i * T::SIZE)).collect()
    }

    /// Lets `f` read and change an element in its place: parts are taken out for it, and put back.
    /// `None`, and nothing done, beyond the end and where [`Record::with`] says so.
    pub fn with<R>(&mut self, index: usize, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if index >= self.len() {
            return None;
        }
        lend(self.block_mut(), index * T::SIZE, f)
    }
}

fn lend<T: Content, R>(block: &mut Block, at: usize, f: impl FnOnce(&mut T) -> R) -> Option<R> {
    // A block that is shared gives its parts, but takes none back; one that is shared no more
    // becomes writable by this.
    if T::PARTS && block.unshare().is_err() {
        return None;
    }
    let mut value = T::take(block, at)?;
    let result = f(&mut value);
    // A block that can be changed takes back the parts that were taken out of it.
    value.put(block, at).ok()?;
    Some(result)
}
