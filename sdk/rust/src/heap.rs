//! The exchange heap: making, reading and writing what moves between SIPs.
//!
//! [`Block`], [`Vector`], [`Record`] and [`Text`] own an allocation each; sending one moves it, dropping one
//! frees it. The compiler expands single loads and stores in place, with the tests of handle and
//! bounds; whole ranges are one call.

use crate::rt::{Block, Handle, Plain, Record, Text, Vector};
use crate::{Error, error, sys};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

impl Block {
    /// A zeroed block of `size` bytes, 1 to 2^30.
    ///
    /// # Errors
    /// [`Error::NoResources`] if memory is short, [`Error::BadArgument`] for a size that cannot be.
    pub fn new(size: usize) -> Result<Block, Error> {
        Block::with_type(size, 0)
    }

    /// The same, marked with a number that travels with it.
    ///
    /// # Errors
    /// As [`Block::new`].
    pub fn with_type(size: usize, ty: u32) -> Result<Block, Error> {
        let size = u32::try_from(size).map_err(|_| Error::BadArgument)?;
        let handle = error::check(sys::xh_alloc(size, ty))?;
        // SAFETY: the kernel has just made it for this thread.
        Ok(unsafe { Block::from_raw(Handle::from_raw(handle)) })
    }

    /// A block with these bytes, at least one.
    ///
    /// # Errors
    /// As [`Block::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Block, Error> {
        let mut block = Block::new(bytes.len())?;
        block.write(0, bytes);
        Ok(block)
    }

    /// Its size in bytes.
    #[must_use]
    #[inline]
    #[allow(clippy::len_without_is_empty)] // No block is empty.
    pub fn len(&self) -> usize {
        sys::xh_size(self.raw()) as usize
    }

    /// The number that marks it.
    #[must_use]
    pub fn type_number(&self) -> u32 {
        sys::xh_type(self.raw()).cast_unsigned()
    }

    /// Copies `out.len()` bytes from `offset` on. Outside the block, the SIP ends.
    pub fn read(&self, offset: usize, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length.
        unsafe { sys::xh_read(self.raw(), offset as u32, out.as_mut_ptr(), out.len()) }
    }

    /// Copies bytes to `offset`. Outside the block, or if it is shared, the SIP ends.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        // SAFETY: `bytes` is readable for its length.
        unsafe { sys::xh_write(self.raw(), offset as u32, bytes.as_ptr(), bytes.len()) }
    }

    /// A copy of its first `len` bytes, or of all if it has fewer.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Vec<u8> {
        let mut out = alloc::vec![0; self.len().min(len)];
        self.read(0, &mut out);
        out
    }

    /// A copy of its bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.prefix(usize::MAX)
    }

    /// A second, read-only view of a part; this one becomes read-only too.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if the range is not inside, [`Error::NoResources`] if handles are short.
    pub fn share(&mut self, range: Range<usize>) -> Result<Block, Error> {
        let handle = sys::xh_share(self.raw(), bound(range.start)?, bound(range.end)?);
        let handle = error::check(handle)?;
        // SAFETY: the kernel has just made it for this thread.
        Ok(unsafe { Block::from_raw(Handle::from_raw(handle)) })
    }

    /// Cuts it in two at `offset`; what lies from there on.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if one part would be empty, [`Error::NoResources`] if handles are short.
    pub fn split(&mut self, offset: usize) -> Result<Block, Error> {
        let handle = error::check(sys::xh_split(self.raw(), bound(offset)?))?;
        // SAFETY: the kernel has just made it for this thread.
        Ok(unsafe { Block::from_raw(Handle::from_raw(handle)) })
    }

    /// Makes it writable again if it is the only view left.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is not.
    pub fn unshare(&mut self) -> Result<(), Error> {
        error::check(sys::xh_unshare(self.raw())).map(drop)
    }

    #[inline]
    fn raw(&self) -> u32 {
        self.handle().raw()
    }
}

macro_rules! accesses {
    ($($load:ident $store:ident $t:ty, $ld:ident $st:ident;)*) => {
        /// Single values, little-endian. Outside the block, the SIP ends.
        impl Block {$(
            /// Loads the value at `offset`.
            #[must_use]
            #[inline]
            #[allow(clippy::cast_lossless)]
            pub fn $load(&self, offset: usize) -> $t {
                sys::$ld(self.raw(), offset as u32) as $t
            }

            /// Stores the value at `offset`.
            #[inline]
            #[allow(clippy::cast_lossless)]
            pub fn $store(&mut self, offset: usize, value: $t) {
                sys::$st(self.raw(), offset as u32, value.into());
            }
        )*}
    };
}
accesses! {
    load_u8 store_u8 u8, xh_load8 xh_store8;
    load_u16 store_u16 u16, xh_load16 xh_store16;
    load_u32 store_u32 u32, xh_load32 xh_store32;
    load_u64 store_u64 u64, xh_load64 xh_store64;
}

fn bound(n: usize) -> Result<u32, Error> {
    u32::try_from(n).map_err(|_| Error::BadArgument)
}

/// Room for one element on its way between block and value; larger ones take a detour.
const ELEMENT: usize = 128;

#[inline]
pub(crate) fn load<T: Plain>(block: &Block, at: usize) -> Option<T> {
    match T::SIZE {
        1 => T::read_from(&[block.load_u8(at)]),
        2 => T::read_from(&block.load_u16(at).to_le_bytes()),
        4 => T::read_from(&block.load_u32(at).to_le_bytes()),
        8 => T::read_from(&block.load_u64(at).to_le_bytes()),
        size if size <= ELEMENT => {
            let mut bytes = [0; ELEMENT];
            block.read(at, &mut bytes[..size]);
            T::read_from(&bytes)
        }
        size => {
            let mut bytes = alloc::vec![0; size];
            block.read(at, &mut bytes);
            T::read_from(&bytes)
        }
    }
}

#[inline]
pub(crate) fn store<T: Plain>(block: &mut Block, at: usize, value: T) {
    if T::SIZE > ELEMENT {
        let mut bytes = alloc::vec![0; T::SIZE];
        value.write_to(&mut bytes);
        return block.write(at, &bytes);
    }
    let mut bytes = [0; ELEMENT];
    value.write_to(&mut bytes);
    match (T::SIZE, bytes) {
        (1, [b, ..]) => block.store_u8(at, b),
        (2, [a, b, ..]) => block.store_u16(at, u16::from_le_bytes([a, b])),
        (4, [a, b, c, d, ..]) => block.store_u32(at, u32::from_le_bytes([a, b, c, d])),
        (8, [a, b, c, d, e, f, g, h, ..]) => {
            block.store_u64(at, u64::from_le_bytes([a, b, c, d, e, f, g, h]));
        }
        (size, bytes) => block.write(at, &bytes[..size]),
    }
}

impl<T: Plain> Vector<T> {
    /// A vector of `len` zeroed elements, at least one.
    ///
    /// # Errors
    /// [`Error::NoResources`] if memory is short, [`Error::BadArgument`] for a length that cannot be.
    pub fn new(len: usize) -> Result<Vector<T>, Error> {
        Block::new(len.checked_mul(T::SIZE).ok_or(Error::BadArgument)?).map(Self::from_block)
    }

    /// A vector of copies of these elements, at least one.
    ///
    /// # Errors
    /// As [`Vector::new`].
    pub fn from_slice(elements: &[T]) -> Result<Vector<T>, Error> {
        let mut vector = Vector::new(elements.len())?;
        for (i, e) in elements.iter().enumerate() {
            store(vector.block_mut(), i * T::SIZE, *e);
        }
        Ok(vector)
    }

    /// A vector of copies of these elements, or `None` if there are none: for `T[]? in ExHeap`. What is
    /// empty takes no block and no call.
    ///
    /// # Errors
    /// As [`Vector::new`].
    pub fn unless_empty(elements: &[T]) -> Result<Option<Vector<T>>, Error> {
        match elements {
            [] => Ok(None),
            _ => Vector::from_slice(elements).map(Some),
        }
    }

    /// The element at `index`; `None` beyond the end, or if the bytes are no such value.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        (index < self.len())
            .then(|| load(self.block(), index * T::SIZE))
            .flatten()
    }

    /// Sets the element at `index`; false beyond the end.
    #[inline]
    pub fn set(&mut self, index: usize, value: T) -> bool {
        let inside = index < self.len();
        if inside {
            store(self.block_mut(), index * T::SIZE, value);
        }
        inside
    }

    /// Its elements, up to the first that is no such value.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).map_while(|i| self.get(i))
    }
}

impl Vector<u8> {
    /// A vector with these bytes, at least one: one copy.
    ///
    /// # Errors
    /// As [`Vector::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Vector<u8>, Error> {
        Block::from_bytes(bytes).map(Self::from_block)
    }

    /// A copy of its bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.block().to_vec()
    }
}

impl<T: Plain> Record<T> {
    /// A copy of the value; `None` if the block is too small or its bytes are no such value.
    #[must_use]
    pub fn get(&self) -> Option<T> {
        (self.block().len() >= T::SIZE)
            .then(|| load(self.block(), 0))
            .flatten()
    }

    /// Sets the value; false if the block is too small.
    pub fn set(&mut self, value: T) -> bool {
        let fits = self.block().len() >= T::SIZE;
        if fits {
            store(self.block_mut(), 0, value);
        }
        fits
    }
}

/// The content of an empty text, since no block is empty: a byte that is in no UTF-8.
const EMPTY_TEXT: &[u8] = &[0xff];

impl Text {
    /// A block with this text.
    ///
    /// # Errors
    /// [`Error::NoResources`] if memory is short.
    pub fn new(text: &str) -> Result<Text, Error> {
        let bytes = if text.is_empty() {
            EMPTY_TEXT
        } else {
            text.as_bytes()
        };
        Block::from_bytes(bytes).map(Self::from_block)
    }

    /// How many bytes the text has: none, if it is empty.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.block().len() {
            1 if self.block().load_u8(0) == EMPTY_TEXT[0] => 0,
            len => len,
        }
    }

    /// Whether the text has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy of the text; `None` if it is no UTF-8.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        let bytes = self.block().to_vec();
        if bytes == EMPTY_TEXT {
            return Some(String::new());
        }
        String::from_utf8(bytes).ok()
    }

    /// A copy of the text; `None` if it is longer than `max` bytes or no UTF-8. For services: a
    /// client may send a text of any size.
    #[must_use]
    pub fn get_within(&self, max: usize) -> Option<String> {
        if self.block().len() <= max {
            self.get()
        } else {
            None
        }
    }

    /// A copy of the text; what is no UTF-8 is replaced.
    #[must_use]
    pub fn to_lossy(&self) -> String {
        self.get()
            .unwrap_or_else(|| crate::args::into_string(self.block().to_vec()))
    }
}
