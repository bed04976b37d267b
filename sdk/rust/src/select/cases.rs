//! The messages that have no case yet, as a type.
//!
//! `switch_receive!` begins with all that an endpoint can bring, takes out what its cases name, and
//! requires that nothing is left. So a forgotten case is an error of types: `cargo check` shows it,
//! also in code that nobody calls. [`exhaustive`](super::exhaustive) looks at the same again when
//! code is made.
//!
//! A list of messages is `(First, (Second, ()))`. Everything here is for the code of the macro.

use super::Many;
use core::fmt;
use core::marker::PhantomData;

/// The close of a channel, in a list of messages.
#[derive(Clone, Copy, Debug)]
pub struct ChannelClosed;

/// The list of a state with so many messages that the compiler would not go through it; only
/// [`exhaustive`](super::exhaustive) looks at those.
#[derive(Clone, Copy, Debug)]
pub struct TooMany;

/// The tag of the message `M`.
pub struct Tag<M>(i32, PhantomData<M>);

impl<M> Tag<M> {
    /// For generated code.
    #[must_use]
    #[inline]
    pub const fn new(tag: i32) -> Self {
        Tag(tag, PhantomData)
    }

    /// The number.
    #[must_use]
    #[inline]
    pub const fn tag(&self) -> i32 {
        self.0
    }
}

impl<M> fmt::Debug for Tag<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Messages that have no case yet.
pub struct Rest<L>(PhantomData<L>);

impl<L> Clone for Rest<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Rest<L> {}

impl<L> fmt::Debug for Rest<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rest")
    }
}

impl<L> Rest<L> {
    /// All of them.
    #[must_use]
    #[inline]
    pub const fn all() -> Self {
        Rest(PhantomData)
    }

    /// Those without this one.
    #[inline]
    pub fn without<M, Place>(self, _: &Tag<M>) -> Rest<L::Left>
    where
        L: Without<M, Place>,
    {
        Rest::all()
    }

    /// These; none if there are none of the others.
    #[inline]
    pub fn or<O>(self, _: Rest<O>) -> Rest<L::Out>
    where
        L: Either<O>,
    {
        Rest::all()
    }
}

/// An endpoint of a set, where code is only looked at and never run.
#[inline]
pub fn endpoint_of<M: Many + ?Sized>(_: &M) -> &M::Endpoint {
    super::never()
}

/// Whether a switch has a case for everything.
#[inline]
pub fn complete<L: Complete>(_: Rest<L>) {}

/// The same for the endpoints of a set.
#[inline]
pub fn complete_set<L: CompleteSet>(_: Rest<L>) {}

/// The first place of a list.
#[derive(Debug)]
pub struct Here;

/// A place behind it.
#[derive(Debug)]
pub struct Behind<P>(PhantomData<P>);

/// A list with the message `M` in it.
pub trait Without<M, Place> {
    /// The list without it.
    type Left;
}

impl<M, L> Without<M, Here> for (M, L) {
    type Left = L;
}

impl<M, N, L, P> Without<M, Behind<P>> for (N, L)
where
    L: Without<M, P>,
{
    type Left = (N, L::Left);
}

impl<M> Without<M, Here> for TooMany {
    type Left = TooMany;
}

/// One of two lists: an empty one, if there is one.
pub trait Either<O> {
    /// The list.
    type Out;
}

impl<O> Either<O> for () {
    type Out = ();
}

impl<M, L> Either<()> for (M, L) {
    type Out = ();
}

impl<M, L, N, K> Either<(N, K)> for (M, L) {
    type Out = (M, L);
}

impl<M, L> Either<TooMany> for (M, L) {
    type Out = TooMany;
}

impl<O> Either<O> for TooMany {
    type Out = TooMany;
}

/// A list of which every message has a case: an empty one.
pub trait Complete {}

impl Complete for () {}
impl Complete for TooMany {}
impl<M: HasCase, L: Complete> Complete for (M, L) {}

/// As [`Complete`].
pub trait CompleteSet {}

impl CompleteSet for () {}
impl CompleteSet for TooMany {}
impl<M: HasCaseOfSet, L: CompleteSet> CompleteSet for (M, L) {}

/// A message that has a case. None does that is still in a list.
#[diagnostic::on_unimplemented(
    message = "no case for `{Self}`; add one, or write `else wait` behind the cases: the switch then waits until one of them \
               can fire",
    label = "this message has no case"
)]
pub trait HasCase {}

/// As [`HasCase`].
#[diagnostic::on_unimplemented(
    message = "no case for `{Self}`; whatever an endpoint of a set can bring needs one",
    label = "this message has no case"
)]
pub trait HasCaseOfSet {}
