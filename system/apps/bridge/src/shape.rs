//! The shape of contracts that are carried, and how arguments are written: numbers in the order of
//! their bytes from the lowest, truth values as 0 and 1, blocks with their length before them.
//!
//! Invariant: what comes from another machine is checked against the contract's table, to the last
//! byte, before anything is sent on.

use core::time::Duration;
use sing_sdk::io::Reader;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::rt::TypedEndpoint;

/// Why a request is not carried out, or an answer not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The contract has no such message there.
    OutOfTurn,
    /// The arguments are not those of the message.
    Arguments,
    /// Memory or handles are short.
    NoResources,
    /// The service has ended.
    Ended,
    /// The service has not answered in time.
    Late,
}

impl Fault {
    pub fn text(self) -> &'static str {
        match self {
            Fault::OutOfTurn => "the contract has no such message there",
            Fault::Arguments => "the arguments are not those of the message",
            Fault::NoResources => "memory or handles are short",
            Fault::Ended => "the service has ended",
            Fault::Late => "the service has not answered in time",
        }
    }
}

/// What has come for a bridge that stands for a service elsewhere.
pub enum Event<A> {
    /// A client's request: its key, the message, its arguments, and the client.
    Asked(usize, &'static str, Vec<u8>, A),
    /// A client has gone.
    Gone,
    /// The name server asks.
    Lookup,
    /// The other side of the connection has said something.
    Input,
    /// Nothing.
    Late,
}

/// A contract that is carried. The implementations are made from contracts by `build/`.
pub trait Bridged {
    /// Its name.
    const NAME: &'static str;
    /// Its name and what tells it from all others: equal at both ends.
    const IDENTITY: &'static str;
    /// The ends of the service's side.
    type Start: TypedEndpoint;
    type Ready: TypedEndpoint;
    /// One whose client waits for its answer.
    type Asked;
    /// The end of the client's side.
    type Service;

    /// Registers such a service.
    fn register(names: &mut Names, path: &str)
    -> Result<Provider<Self::Start, Self::Ready>, Error>;

    /// Waits for what comes.
    fn next(
        provider: &mut Provider<Self::Start, Self::Ready>,
        input: &Reader,
        end: Duration,
    ) -> Event<Self::Asked>;

    /// Answers a client; or closes its channel.
    fn answer(asked: Self::Asked, message: &str, payload: &[u8]) -> Result<Self::Ready, Fault>;

    /// Binds such a service, if it takes a client until then.
    fn bind(names: &mut Names, path: &str, end: Duration) -> Result<Self::Service, Error>;

    /// Has a service carry out a request; its answer.
    fn call(
        service: Self::Service,
        message: &str,
        payload: &[u8],
        end: Duration,
    ) -> Result<(&'static str, Vec<u8>, Self::Service), Fault>;
}

/// Writes an argument.
pub trait Put {
    fn put(&self, out: &mut Vec<u8>);
}

/// Reads an argument.
pub trait Take: Sized {
    fn take(from: &mut Values<'_>) -> Result<Self, Fault>;
}

/// Arguments that have come.
pub struct Values<'a>(&'a [u8]);

impl<'a> Values<'a> {
    pub fn new(bytes: &'a [u8]) -> Values<'a> {
        Values(bytes)
    }

    /// The next one.
    pub fn take<T: Take>(&mut self) -> Result<T, Fault> {
        T::take(self)
    }

    /// There must be no more.
    pub fn end(&self) -> Result<(), Fault> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Fault::Arguments),
        }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (now, rest) = self.0.split_at_checked(count).ok_or(Fault::Arguments)?;
        self.0 = rest;
        Ok(now)
    }

    fn block(&mut self) -> Result<&'a [u8], Fault> {
        let count: u32 = self.take()?;
        self.bytes(count as usize)
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Put for $ty {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }

        impl Take for $ty {
            fn take(from: &mut Values<'_>) -> Result<Self, Fault> {
                let bytes = from.bytes(size_of::<$ty>())?;
                let bytes = bytes.try_into().map_err(|_| Fault::Arguments)?;
                Ok(<$ty>::from_le_bytes(bytes))
            }
        }
    )*};
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64);

impl Put for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Take for bool {
    fn take(from: &mut Values<'_>) -> Result<Self, Fault> {
        match from.bytes(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Fault::Arguments),
        }
    }
}

/// A byte says whether the value is there.
impl<T: Put> Put for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
}

impl<T: Take> Take for Option<T> {
    fn take(from: &mut Values<'_>) -> Result<Self, Fault> {
        match from.take()? {
            true => from.take().map(Some),
            false => Ok(None),
        }
    }
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    (bytes.len() as u32).put(out);
    out.extend_from_slice(bytes);
}

impl Put for Vector<u8> {
    fn put(&self, out: &mut Vec<u8>) {
        // One byte more than may be sent is enough to see that it is too much.
        put(&self.block().prefix(bridge::MOST + 1), out);
    }
}

impl Take for Vector<u8> {
    fn take(from: &mut Values<'_>) -> Result<Self, Fault> {
        match from.block()? {
            // No block is empty.
            [] => Err(Fault::Arguments),
            bytes => Vector::from_bytes(bytes).map_err(|_| Fault::NoResources),
        }
    }
}

impl Put for Text {
    fn put(&self, out: &mut Vec<u8>) {
        match self.get_within(1) {
            Some(text) if text.is_empty() => put(&[], out),
            _ => put(&self.block().prefix(bridge::MOST + 1), out),
        }
    }
}

impl Take for Text {
    fn take(from: &mut Values<'_>) -> Result<Self, Fault> {
        let text = core::str::from_utf8(from.block()?).map_err(|_| Fault::Arguments)?;
        Text::new(text).map_err(|_| Fault::NoResources)
    }
}
