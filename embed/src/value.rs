//! Values that messages bring, as words, and that lie in blocks, as bytes.
//!
//! Invariant: words and bytes that come are judged before they become a value, whatever has sent them.

use crate::link::{Outgoing, Words};

/// A value that can lie in a block: little-endian, naturally aligned, as C lays it out. Scalars, and the enums
/// and structures of a contract that own nothing.
pub trait Plain: Copy {
    /// Its size in bytes, a multiple of its alignment.
    const SIZE: usize;
    /// Its alignment in bytes.
    const ALIGN: usize;

    /// Writes it to `bytes[..SIZE]`.
    fn write_to(&self, bytes: &mut [u8]);

    /// Reads it from `bytes[..SIZE]`; `None` if they are no such value.
    fn read_from(bytes: &[u8]) -> Option<Self>;

    /// Appends all of them.
    #[doc(hidden)]
    fn append(all: &[Self], to: &mut Vec<u8>) {
        let begin = to.len();
        to.resize(begin + all.len() * Self::SIZE, 0);
        let places = to[begin..].chunks_exact_mut(Self::SIZE.max(1));
        for (value, place) in all.iter().zip(places) {
            value.write_to(place);
        }
    }
}

/// An argument of a message that is sent.
pub trait Argument {
    /// Words that it has in the message.
    const WORDS: usize;

    /// Adds it to a message.
    fn give(self, out: &mut Outgoing);
}

/// An argument of a message that has come.
pub trait Value<'s>: Sized {
    /// Takes it from the message's words; `None` if they are no such value.
    fn take(words: &mut Words<'s>) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty, $wide:ty, $append:expr;)*) => {$(
        impl Plain for $t {
            const SIZE: usize = size_of::<$t>();
            const ALIGN: usize = size_of::<$t>();
            fn write_to(&self, bytes: &mut [u8]) {
                bytes[..size_of::<$t>()].copy_from_slice(&self.to_le_bytes());
            }
            fn read_from(bytes: &[u8]) -> Option<Self> {
                Some(<$t>::from_le_bytes(*bytes.first_chunk()?))
            }
            fn append(all: &[Self], to: &mut Vec<u8>) {
                $append(all, to);
            }
        }
        impl Argument for $t {
            const WORDS: usize = 1;
            #[allow(clippy::cast_lossless)]
            fn give(self, out: &mut Outgoing) {
                out.word(self as $wide as u64);
            }
        }
        impl Value<'_> for $t {
            fn take(words: &mut Words<'_>) -> Option<Self> {
                // What a sender has put above its bits means nothing.
                words.number().map(|word| word as $t)
            }
        }
    )*};
}

fn each<const N: usize, T: Copy>(all: &[T], to: &mut Vec<u8>, bytes: impl Fn(T) -> [u8; N]) {
    to.extend(all.iter().flat_map(|value| bytes(*value)));
}

integers! {
    u8, u64, |all: &[u8], to: &mut Vec<u8>| to.extend_from_slice(all);
    u16, u64, |all: &[u16], to: &mut Vec<u8>| each(all, to, u16::to_le_bytes);
    u32, u64, |all: &[u32], to: &mut Vec<u8>| each(all, to, u32::to_le_bytes);
    u64, u64, |all: &[u64], to: &mut Vec<u8>| each(all, to, u64::to_le_bytes);
    i8, i64, |all: &[i8], to: &mut Vec<u8>| each(all, to, i8::to_le_bytes);
    i16, i64, |all: &[i16], to: &mut Vec<u8>| each(all, to, i16::to_le_bytes);
    i32, i64, |all: &[i32], to: &mut Vec<u8>| each(all, to, i32::to_le_bytes);
    i64, i64, |all: &[i64], to: &mut Vec<u8>| each(all, to, i64::to_le_bytes);
}

/// Types that travel as the value of another: enums of contracts, too.
#[doc(hidden)]
#[macro_export]
macro_rules! through {
    ($t:ty as $bits:ty) => {
        $crate::through! { $t, $bits, |value: $t| value as $bits, <$t>::from_number }
    };
    ($t:ty, $bits:ty, $to:expr, $from:expr) => {
        impl $crate::Plain for $t {
            const SIZE: usize = <$bits as $crate::Plain>::SIZE;
            const ALIGN: usize = <$bits as $crate::Plain>::ALIGN;
            fn write_to(&self, bytes: &mut [u8]) {
                $crate::Plain::write_to(&$to(*self), bytes);
            }
            fn read_from(bytes: &[u8]) -> ::core::option::Option<Self> {
                $from(<$bits as $crate::Plain>::read_from(bytes)?)
            }
        }
        impl $crate::rt::Argument for $t {
            const WORDS: usize = 1;
            fn give(self, out: &mut $crate::rt::Outgoing) {
                $crate::rt::Argument::give($to(self), out);
            }
        }
        impl<'s> $crate::rt::Value<'s> for $t {
            fn take(words: &mut $crate::rt::Words<'s>) -> ::core::option::Option<Self> {
                $from(<$bits as $crate::rt::Value>::take(words)?)
            }
        }
    };
}

through! { bool, u8, u8::from, |bits| match bits { 0 => Some(false), 1 => Some(true), _ => None } }
through! { char, u32, u32::from, char::from_u32 }
through! { f32, u32, f32::to_bits, |bits| Some(f32::from_bits(bits)) }
through! { f64, u64, f64::to_bits, |bits| Some(f64::from_bits(bits)) }

/// `T?`: a word, or in a block a byte and what aligns it, that says whether the value is there, and the value. One
/// that is absent is all zeros.
impl<T: Plain> Plain for Option<T> {
    const SIZE: usize = T::ALIGN + T::SIZE;
    const ALIGN: usize = T::ALIGN;
    fn write_to(&self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].fill(0);
        if let Some(value) = self {
            bytes[0] = 1;
            value.write_to(&mut bytes[T::ALIGN..]);
        }
    }
    fn read_from(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..Self::SIZE)?;
        match bytes.first()? {
            0 if bytes.iter().all(|byte| *byte == 0) => Some(None),
            1 => T::read_from(&bytes[T::ALIGN..]).map(Some),
            _ => None,
        }
    }
}

impl<T: Plain + Argument> Argument for Option<T> {
    const WORDS: usize = 1 + T::WORDS;
    fn give(self, out: &mut Outgoing) {
        out.word(u64::from(self.is_some()));
        match self {
            Some(value) => value.give(out),
            None => (0..T::WORDS).for_each(|_| out.word(0)),
        }
    }
}

impl<'s, T: Plain + Argument + Value<'s>> Value<'s> for Option<T> {
    fn take(words: &mut Words<'s>) -> Option<Self> {
        match words.number()? {
            0 => {
                let mut rest = (0..T::WORDS).map(|_| words.number());
                rest.all(|word| word == Some(0)).then_some(None)
            }
            1 => T::take(words).map(Some),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<T: Plain + PartialEq + std::fmt::Debug>(values: &[T], bytes: &[u8]) {
        let mut out = Vec::new();
        T::append(values, &mut out);
        assert_eq!(out, bytes);
        let back: Vec<T> = out
            .chunks_exact(T::SIZE)
            .map(|piece| T::read_from(piece).unwrap())
            .collect();
        assert_eq!(back, values);
    }

    #[test]
    fn values_lie_in_blocks_as_programs_of_the_system_put_them() {
        same(&[1u8, 2], &[1, 2]);
        same(&[-2i16, 1], &[0xfe, 0xff, 1, 0]);
        same(&['a'], &[b'a', 0, 0, 0]);
        same(&[true, false], &[1, 0]);
        same(&[1.0f32], &[0, 0, 0x80, 0x3f]);
        same(&[Some(7u16), None], &[1, 0, 7, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn bytes_that_are_no_value_are_none() {
        assert_eq!(bool::read_from(&[2]), None);
        assert_eq!(char::read_from(&0xd800u32.to_le_bytes()), None);
        assert_eq!(u32::read_from(&[1, 2, 3]), None);
        assert_eq!(<Option<u8>>::read_from(&[0, 1]), None);
        assert_eq!(<Option<u8>>::read_from(&[2, 1]), None);
    }
}
