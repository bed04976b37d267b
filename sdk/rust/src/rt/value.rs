//! Values that messages and blocks carry.
//!
//! Invariant: words and bytes that arrive are judged before they become a value.
//! [`Exchangeable::from_words`] and [`Plain::read_from`] answer `None` to words and bytes that are
//! no value of the type, whatever the sender did.

/// A value that a message can carry.
pub trait Exchangeable: Sized {
    /// Words it takes in the message.
    const WORDS: usize;

    /// Moves it into `words[..WORDS]`. Words that are dropped undelivered leak what the value
    /// owned.
    fn into_words(self, words: &mut [u64]);

    /// The value in `words[..WORDS]`, or `None` if they are not one; what they owned is then given
    /// up.
    ///
    /// # Safety
    /// The words come from [`Exchangeable::into_words`] or from a receive of a message with an
    /// argument of this type, and are used once: ownership passes from them.
    unsafe fn from_words(words: &[u64]) -> Option<Self>;
}

/// A value without handles in it, which can lie in an exchange-heap block. Little-endian, naturally
/// aligned, as C lays it out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lie in an exchange-heap block",
    label = "not what a block can hold",
    note = "what is copied out of a block may own nothing at all",
    note = "scalars, and the enums and rep structs of a contract can, unless they own an endpoint"
)]
pub trait Plain: Copy {
    /// Its size in bytes, a multiple of its alignment.
    const SIZE: usize;
    /// Its alignment in bytes.
    const ALIGN: usize;

    /// Writes it to `bytes[..SIZE]`.
    fn write_to(&self, bytes: &mut [u8]);

    /// Reads it from `bytes[..SIZE]`; `None` if they are no such value.
    fn read_from(bytes: &[u8]) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty, $wide:ty;)*) => {$(
        impl Exchangeable for $t {
            const WORDS: usize = 1;
            #[inline]
            #[allow(clippy::cast_lossless)]
            fn into_words(self, words: &mut [u64]) {
                words[0] = self as $wide as u64;
            }
            #[inline]
            unsafe fn from_words(words: &[u64]) -> Option<Self> {
                // Every bit pattern is a value; what a sender put above it means nothing.
                Some(words[0] as $t)
            }
        }
        impl Plain for $t {
            const SIZE: usize = size_of::<$t>();
            const ALIGN: usize = size_of::<$t>();
            #[inline]
            fn write_to(&self, bytes: &mut [u8]) {
                bytes[..<Self as Plain>::SIZE].copy_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn read_from(bytes: &[u8]) -> Option<Self> {
                Some(<$t>::from_le_bytes(bytes.get(..<Self as Plain>::SIZE)?.try_into().ok()?))
            }
        }
    )*};
}
integers! {
    u8, u64; u16, u64; u32, u64; u64, u64; i8, i64; i16, i64; i32, i64; i64, i64;
}

/// `T?`: a word, or in a block a byte, that says whether the value is there, and the value. One that
/// is absent is all zeros.
impl<T: Plain + Exchangeable> Exchangeable for Option<T> {
    const WORDS: usize = 1 + T::WORDS;
    #[inline]
    fn into_words(self, words: &mut [u64]) {
        match self {
            Some(value) => {
                words[0] = 1;
                value.into_words(&mut words[1..]);
            }
            None => words[..Self::WORDS].fill(0),
        }
    }
    #[inline]
    unsafe fn from_words(words: &[u64]) -> Option<Self> {
        match words[0] {
            0 if words[1..Self::WORDS].iter().all(|&w| w == 0) => Some(None),
            // SAFETY: passed on; what is plain owns nothing.
            1 => unsafe { T::from_words(&words[1..]) }.map(Some),
            _ => None,
        }
    }
}

impl<T: Plain> Plain for Option<T> {
    const SIZE: usize = T::ALIGN + T::SIZE;
    const ALIGN: usize = T::ALIGN;
    #[inline]
    fn write_to(&self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].fill(0);
        if let Some(value) = self {
            bytes[0] = 1;
            value.write_to(&mut bytes[T::ALIGN..]);
        }
    }
    #[inline]
    fn read_from(bytes: &[u8]) -> Option<Self> {
        let (flag, rest) = bytes.get(..Self::SIZE)?.split_first()?;
        match flag {
            0 if rest.iter().all(|&b| b == 0) => Some(None),
            1 => T::read_from(&bytes[T::ALIGN..]).map(Some),
            _ => None,
        }
    }
}

/// Types that travel as the bits of another.
macro_rules! through {
    ($($t:ty as $bits:ty, $to:expr, $from:expr;)*) => {$(
        impl Exchangeable for $t {
            const WORDS: usize = 1;
            #[inline]
            fn into_words(self, words: &mut [u64]) {
                words[0] = u64::from($to(self));
            }
            #[inline]
            unsafe fn from_words(words: &[u64]) -> Option<Self> {
                $from(<$bits>::try_from(words[0]).ok()?)
            }
        }
        impl Plain for $t {
            const SIZE: usize = size_of::<$bits>();
            const ALIGN: usize = size_of::<$bits>();
            #[inline]
            fn write_to(&self, bytes: &mut [u8]) {
                $to(*self).write_to(bytes);
            }
            #[inline]
            fn read_from(bytes: &[u8]) -> Option<Self> {
                $from(<$bits>::read_from(bytes)?)
            }
        }
    )*};
}
through! {
    bool as u8, u8::from, |b| match b { 0 => Some(false), 1 => Some(true), _ => None };
    char as u32, u32::from, char::from_u32;
    f32 as u32, f32::to_bits, |b| Some(f32::from_bits(b));
    f64 as u64, f64::to_bits, |b| Some(f64::from_bits(b));
}
