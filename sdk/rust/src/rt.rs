//! What the code that `contract!`, `manifest!` and `main` generate stands on.
//!
//! Programs meet these types in signatures ([`Block`], [`Vector`], [`Text`], [`Record`], [`Endpoint`],
//! [`Closed`], [`Error`]); everything else here is for generated code.
//!
//! Invariants:
//! - Each owner ([`Endpoint`], [`Block`] and what is made of them) holds a handle that nobody else holds, and
//!   gives it up when dropped. Rust's moves are what makes a SIP's resources linear ([O] 4.5).
//! - What arrives in a message is judged before it becomes a value: [`Exchangeable::from_words`] answers
//!   `None` to words that are no value of the type, whatever the sender did.
//! - On a target that is not WebAssembly everything type-checks and nothing runs.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use crate::sys;

pub use crate::error::Error;
pub use crate::tree::Content;

/// Stands where a kernel entry would be called, in code built for another target than a SIP's.
#[cold]
pub fn not_a_sip() -> ! {
    panic!("kernel entries exist only in a SIP; this is a build for another target")
}

/// Ends a program that breaks the `requires` of a message that it sends.
#[cold]
pub fn violated(requires: &str) -> ! {
    panic!("{requires}")
}

/// A text with a zero behind it: how pieces of text are kept apart in a custom section.
#[must_use]
pub const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut i = 0;
    while i < text.len() {
        bytes[i] = text.as_bytes()[i];
        i += 1;
    }
    bytes
}

/// The name of a kernel object, as the kernel gave it. A copy of a name owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Handle(u32);

impl Handle {
    /// No object.
    pub const NONE: Handle = Handle(0);

    /// The handle with this number.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Handle {
        Handle(raw)
    }

    /// Its number.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// The channel is closed: the other side is gone and no message is left to receive. Also what a message
/// is that breaks its own contract's promises (a number that is no value of its enum, a violated
/// `requires`): the receiver has then closed the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed by the other side")
    }
}

impl core::error::Error for Closed {}

impl From<Closed> for Error {
    fn from(_: Closed) -> Error {
        Error::Closed
    }
}

/// Something that a thread can wait for: `wait_any` takes its handle and does not consume it.
pub trait Waitable {
    /// Its handle, which stays the owner's.
    fn handle(&self) -> Handle;

    /// Gives back what a wait for it has taken, where something else is done instead.
    fn give_back(&self) {}
}

/// Which side of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The importing side.
    Imp,
    /// The exporting side.
    Exp,
}

/// An endpoint whose contract is not in its type. Dropping it closes the channel.
#[derive(PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Endpoint(Handle);

impl Endpoint {
    /// Takes ownership of an endpoint's handle.
    ///
    /// # Safety
    /// `handle` names an endpoint, and nothing else owns it.
    #[must_use]
    pub const unsafe fn from_raw(handle: Handle) -> Endpoint {
        Endpoint(handle)
    }

    /// Gives up ownership without closing.
    #[must_use]
    pub fn into_raw(self) -> Handle {
        ManuallyDrop::new(self).0
    }

    /// Whether a receive would return at once: a message waits, or the channel is closed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        sys::endpoint_peek(self.0.raw()) != sing_abi::status::WOULD_BLOCK
    }

    /// The endpoint as one of `T`'s contract, side and state.
    ///
    /// # Errors
    /// The endpoint itself, where it is not one: what a peer hands over need not be what it says.
    pub fn cast<T: TypedEndpoint>(self) -> Result<T, Endpoint> {
        if T::matches(&self) {
            // SAFETY: the kernel has just said that it is one.
            Ok(unsafe { T::from_endpoint(self) })
        } else {
            Err(self)
        }
    }
}

impl Drop for Endpoint {
    #[inline]
    fn drop(&mut self) {
        sys::handle_dispose(self.0.raw());
    }
}

impl Waitable for Endpoint {
    fn handle(&self) -> Handle {
        self.0
    }
}

/// An endpoint as one of a contract for which its own can stand in its state; from then on the kernel holds its user to
/// that one. Generated code asks for it only where the contracts say that it can.
#[must_use]
pub fn stand_for<T: TypedEndpoint>(endpoint: Endpoint) -> T {
    match endpoint.cast() {
        Ok(typed) => typed,
        Err(_) => does_not_stand(T::CONTRACT),
    }
}

/// Ends a program whose types say more than the contracts with which it was installed.
#[cold]
fn does_not_stand(contract: &str) -> ! {
    panic!("the kernel does not take this endpoint for one of {contract}")
}

/// An endpoint whose type carries contract, side and state.
pub trait TypedEndpoint: Waitable + Sized {
    /// Its contract's name.
    const CONTRACT: &'static str;
    /// Its side.
    const SIDE: Side;
    /// Name of its state in the contract.
    const STATE: &'static str;

    /// The endpoint without its type.
    fn into_endpoint(self) -> Endpoint;

    /// The endpoint with this type.
    ///
    /// # Safety
    /// It is of this contract (or one derived from it), side and state. The kernel holds its user to what it
    /// really is: a wrong type ends the SIP at its first use.
    unsafe fn from_endpoint(endpoint: Endpoint) -> Self;

    /// Whether the kernel knows it as one of this contract, side and state.
    fn matches(endpoint: &Endpoint) -> bool;
}

/// A state of a contract, as a type.
pub trait State {
    /// Its name in the contract.
    const NAME: &'static str;
    /// Its index in the contract's table.
    const INDEX: u16;
}

/// A value that a message can carry.
pub trait Exchangeable: Sized {
    /// Words it takes in the message.
    const WORDS: usize;

    /// Moves it into `words[..WORDS]`. Whoever drops the words without delivering them leaks what it owned.
    fn into_words(self, words: &mut [u64]);

    /// The value in `words[..WORDS]`, or `None` where they are not one; what they owned is then given up.
    ///
    /// # Safety
    /// The words come from [`Exchangeable::into_words`] or from a receive of a message with an argument of
    /// this type, and are used once: ownership passes from them.
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

    /// Reads it from `bytes[..SIZE]`; `None` where they are no such value.
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

/// An allocation in the exchange heap. It belongs to the thread that made or received it (`!Send`: other
/// threads get it by message); dropping it frees it.
#[derive(PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Block(Handle, PhantomData<*const ()>);

impl Block {
    /// Takes ownership of an allocation's handle.
    ///
    /// # Safety
    /// `handle` names an allocation of the calling thread, and nothing else owns it.
    #[must_use]
    pub const unsafe fn from_raw(handle: Handle) -> Block {
        Block(handle, PhantomData)
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
    )*};
}
views! {
    /// A vector in the exchange heap: `T[] in ExHeap`. As many elements as fit its block.
    Vector<T>;
    /// A single value in the exchange heap: `T* in ExHeap`.
    Record<T>;
    /// Text in the exchange heap: `char[] in ExHeap`. UTF-8, as `str` is; whether it really is shows when it
    /// is read.
    Text;
}

/// Takes the start-up endpoint with this index in the manifest, which declares it as a `T`; the kernel has
/// checked that it is one. `None` where there is none, or it has been taken.
///
/// # Safety
/// The module's manifest declares it so.
#[must_use]
pub unsafe fn startup_endpoint<T: TypedEndpoint>(index: u32) -> Option<T> {
    let handle = sys::startup_endpoint(index);
    (handle > 0).then(|| {
        // SAFETY: the kernel hands out each start-up endpoint once, and has checked its type.
        unsafe { T::from_endpoint(Endpoint::from_raw(Handle::from_raw(handle as u32))) }
    })
}

/// Takes one after another of the start-up endpoints from an index on: a manifest's `many`.
#[derive(Debug)]
pub struct StartupEndpoints<T> {
    next: u32,
    kind: PhantomData<T>,
}

impl<T: TypedEndpoint> StartupEndpoints<T> {
    /// From this index on.
    ///
    /// # Safety
    /// The module's manifest declares them as `T`.
    #[must_use]
    pub const unsafe fn from_index(index: u32) -> Self {
        StartupEndpoints {
            next: index,
            kind: PhantomData,
        }
    }
}

impl<T: TypedEndpoint> Iterator for StartupEndpoints<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        // SAFETY: promised to `from_index`.
        let endpoint = unsafe { startup_endpoint(self.next) };
        self.next += 1;
        endpoint
    }
}

/// What `main` may return: `()`, an `i32`, or a `Result` of one with an error that can be shown.
#[diagnostic::on_unimplemented(
    message = "`main` cannot return `{Self}`",
    note = "it returns nothing, an exit code, or a `Result` of one of them"
)]
pub trait Termination {
    /// The SIP's exit code.
    fn report(self) -> i32;
}

impl Termination for () {
    fn report(self) -> i32 {
        0
    }
}

impl Termination for i32 {
    fn report(self) -> i32 {
        self
    }
}

impl Termination for core::convert::Infallible {
    fn report(self) -> i32 {
        match self {}
    }
}
