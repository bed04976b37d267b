//! Allocations of the exchange heap, and the types of content under which programs see them.
//!
//! Invariants:
//! - A [`Block`] holds a handle that nobody else holds, and frees its allocation when dropped.
//! - A block stays with the thread that made or received it; messages alone take it to another.

use super::object::Handle;
use super::value::Exchangeable;
use crate::sys;
use crate::tree::Content;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

/// Marks a type whose values stay with the thread that made or took them: neither `Send` nor
/// `Sync`, without size. It is a type of the SDK's own and not `PhantomData`, so that the
/// compiler's refusal leads to this line, whichever sources are installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed)]
pub struct OneThread([*const (); 0]);

impl OneThread {
    /// The mark.
    pub const MARK: OneThread = OneThread([]);
}

/// An allocation in the exchange heap. It belongs to the thread that made or received it (`!Send`:
/// other threads get it by message); dropping it frees it.
#[derive(PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Block(Handle, OneThread);

impl Block {
    /// Takes ownership of an allocation's handle.
    ///
    /// # Safety
    /// `handle` names an allocation of the calling thread, and nothing else owns it.
    #[must_use]
    pub const unsafe fn from_raw(handle: Handle) -> Block {
        Block(handle, OneThread::MARK)
    }

    /// Gives up ownership without freeing.
    #[must_use]
    pub fn into_raw(self) -> Handle {
        ManuallyDrop::new(self).0
    }

    /// Its handle, which stays the block's.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        self.0
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        sys::xh_free(self.0.raw());
    }
}

impl Exchangeable for Block {
    const WORDS: usize = 1;
    #[inline]
    fn into_words(self, words: &mut [u64]) {
        words[0] = u64::from(self.into_raw().raw());
    }
    #[inline]
    unsafe fn from_words(words: &[u64]) -> Option<Self> {
        // SAFETY: the words own the handle; ownership passes on.
        Some(unsafe { Block::from_raw(Handle::from_raw(words[0] as u32)) })
    }
}

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident $(<$t:ident>)?;)*) => {$(
        $(#[$doc])*
        #[derive(PartialEq, Eq, Debug)]
        #[repr(transparent)]
        pub struct $name $(<$t: Content>)? {
            block: Block,
            content: PhantomData<($($t,)?)>,
        }

        impl $(<$t: Content>)? $name $(<$t>)? {
            /// A block, seen so. Bytes that are no values of the type show when they are read.
            #[must_use]
            pub const fn from_block(block: Block) -> Self {
                $name { block, content: PhantomData }
            }

            /// The block.
            #[must_use]
            pub fn into_block(self) -> Block {
                self.block
            }

            /// The block, borrowed.
            #[must_use]
            pub const fn block(&self) -> &Block {
                &self.block
            }

            /// The block, borrowed for change.
            pub const fn block_mut(&mut self) -> &mut Block {
                &mut self.block
            }
        }

        impl $(<$t: Content>)? From<Block> for $name $(<$t>)? {
            fn from(block: Block) -> Self {
                Self::from_block(block)
            }
        }

        impl $(<$t: Content>)? From<$name $(<$t>)?> for Block {
            fn from(view: $name $(<$t>)?) -> Block {
                view.into_block()
            }
        }

        impl $(<$t: Content>)? Exchangeable for $name $(<$t>)? {
            const WORDS: usize = 1;
            #[inline]
            fn into_words(self, words: &mut [u64]) {
                self.block.into_words(words);
            }
            #[inline]
            unsafe fn from_words(words: &[u64]) -> Option<Self> {
                // SAFETY: passed on.
                unsafe { Block::from_words(words) }.map(Self::from_block)
            }
        }

        impl $(<$t: Content>)? Exchangeable for Option<$name $(<$t>)?> {
            const WORDS: usize = 1;
            #[inline]
            fn into_words(self, words: &mut [u64]) {
                match self {
                    Some(there) => there.into_words(words),
                    None => words[0] = 0,
                }
            }
            #[inline]
            unsafe fn from_words(words: &[u64]) -> Option<Self> {
                // A handle is 32 bits of its word; 0 names nothing.
                if words[0] as u32 == 0 {
                    return Some(None);
                }
                // SAFETY: passed on.
                unsafe { $name::from_words(words) }.map(Some)
            }
        }
    )*};
}
views! {
    /// A vector in the exchange heap: `T[] in ExHeap`. As many elements as fit its block.
    Vector<T>;
    /// A single value in the exchange heap: `T* in ExHeap`.
    Record<T>;
    /// Text in the exchange heap: `char[] in ExHeap`. UTF-8, as `str` is; whether it really is
    /// shows when it is read.
    Text;
}
