//! WASI 0.2: what components call, in the canonical ABI, over the descriptors of preview 1.
//!
//! A [`Component`] is one component's world. Each function of an interface is a method here that has the
//! parameters of its core function: numbers, addresses of texts and lists with their lengths, and last
//! the address of a result that is more than one number. A resource is a small number: a place in one
//! table for all types. A stream, a descriptor and a pollable have a descriptor of preview 1 behind them,
//! which is closed when the last of them is dropped.
//!
//! Invariants:
//! - No address is used before its range has been compared with the program's memory; that goes for what
//!   the program's `cabi_realloc` returns, too, which may be anything.
//! - What breaks the canonical ABI (a resource that is not there, an address outside of the memory) is a
//!   [`Trap`]: the process ends, with the reason in words. What an interface calls an error is its answer.
//! - Nothing is borrowed while the program makes room, and calls of the program's meanwhile are refused
//!   (`sing_sdk::program::Local`).
//! - There are at most [`RESOURCES`] resources, and their texts have at most [`TEXT`] bytes.

mod bodies;
pub(crate) mod client;
mod clocks;
pub mod exports;
mod fields;
mod files;
mod io;
mod lookup;
mod network;
mod outgoing;
mod paths;
mod poll;
mod program;
mod resources;
mod responses;
pub mod running;
pub(crate) mod sockets;
mod tcp;
mod tcp_options;
mod udp;
pub mod web;
pub(crate) mod why;

use crate::Wasi;
use crate::errno::Errno;
use crate::host::Host;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use client::Client;
use resources::{Resource, Resources};

pub use resources::{RESOURCES, TEXT};

/// Why a component is ended: what it did, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap(pub Cow<'static, str>);

/// What becomes of a call.
pub type Outcome<T = ()> = Result<T, Trap>;

impl From<&'static str> for Trap {
    fn from(text: &'static str) -> Trap {
        Trap(Cow::Borrowed(text))
    }
}

/// What makes room in the program's memory.
pub trait Room: Host {
    /// The address that the program's `cabi_realloc` says; it may be any.
    fn room(&mut self, alignment: u32, len: u32) -> u32;
    /// Does for a request to others what can be done without waiting ([`client::Client::step`]). Whoever does not call
    /// that straight keeps it out of programs that send none.
    fn step(&mut self, client: &mut client::Client<Self>, waits: bool)
    where
        Self: Sized;
}

/// A component's world.
pub struct Component<H: Host> {
    /// Its descriptors, arguments and environment.
    pub wasi: Wasi<H>,
    table: Resources,
    /// How many resources use each descriptor, and the world itself.
    uses: Vec<u32>,
    /// The request that it answers, if there is one.
    request: Option<web::Request>,
    exchange: Option<Box<dyn web::Exchange<H>>>,
    /// What `insecure-seed` has said.
    seed: Option<[u64; 2]>,
    /// The descriptors of requests to others.
    clients: Vec<u32>,
}

impl<H: Host> core::fmt::Debug for Component<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Component").finish_non_exhaustive()
    }
}

impl<H: Room> Component<H> {
    /// A component in a world that has all that the component is given.
    #[must_use]
    pub fn new(wasi: Wasi<H>) -> Self {
        let mut component = Component {
            wasi,
            table: Resources::new(),
            uses: Vec::new(),
            request: None,
            exchange: None,
            seed: None,
            clients: Vec::new(),
        };
        for fd in component.wasi.table.open() {
            component.hold(fd);
        }
        component
    }

    /// Counts a further user of a descriptor.
    fn hold(&mut self, fd: u32) {
        let place = fd as usize;
        if self.uses.len() <= place {
            self.uses.resize(place + 1, 0);
        }
        self.uses[place] = self.uses[place].saturating_add(1);
    }

    /// Gives up a descriptor, which is closed if nobody else uses it.
    fn release(&mut self, fd: u32) {
        let Some(uses) = self.uses.get_mut(fd as usize) else {
            return;
        };
        *uses = uses.saturating_sub(1);
        if *uses == 0 {
            if self.is_client(fd) {
                let _ = self.end_client(fd, Client::cancel);
            }
            self.clients.retain(|client| *client != fd);
            // A program of preview 1 may have closed it already.
            let _ = self.wasi.fd_close(fd);
        }
    }

    /// Drops a resource, of whatever type.
    ///
    /// # Errors
    /// If there is none of this number, or it is a body whose stream has not been dropped.
    pub fn resource_drop(&mut self, handle: u32) -> Outcome {
        let resource = self.table.take(handle)?;
        match resource {
            Resource::Incoming(fd) | Resource::Outgoing(udp::Sends { fd, .. }) => {
                self.stream_dropped(fd);
            }
            // Nobody will ask for the answer.
            Resource::OutgoingRequest(web::Outgoing {
                client: Some(fd), ..
            })
            | Resource::Future { fd, told: false } => self.end_client(fd, Client::cancel)?,
            // Nor for what comes behind a body that nobody reads.
            Resource::Trailers { fd: Some(fd), .. } => self.end_client(fd, Client::abandon)?,
            _ => {}
        }
        match resource.descriptor() {
            Some(fd) => {
                self.release(fd);
                Ok(())
            }
            None => self.dropped(resource),
        }
    }

    /// Whether so many bytes from an address on are the program's.
    fn range(&self, at: u32, len: u64) -> Outcome {
        let checked = self.wasi.check(at, len);
        checked.map_err(|_| "passes an address outside of its memory".into())
    }

    /// Writes a result.
    fn put(&mut self, at: u32, bytes: &[u8]) -> Outcome {
        let stored = self.wasi.store(at, bytes);
        stored.map_err(|_| "passes an address outside of its memory".into())
    }

    /// Writes a part of a result behind its beginning.
    fn put_at(&mut self, at: u32, offset: u32, bytes: &[u8]) -> Outcome {
        let at = at.checked_add(offset);
        self.put(at.ok_or("passes an address outside of its memory")?, bytes)
    }

    /// A copy of bytes of the program's, of which there may be so many.
    fn take(&mut self, at: u32, len: u32, most: usize) -> Outcome<Vec<u8>> {
        self.range(at, len.into())?;
        let copied = self.wasi.copy(at, len, most, Errno::Overflow);
        copied.map_err(|_| "passes a text or a list that is too long".into())
    }

    /// The number at a place of the program's memory.
    fn number(&mut self, at: u64) -> Outcome<u32> {
        let at = u32::try_from(at).map_err(|_| "passes an address outside of its memory")?;
        let bytes = self.wasi.load(at);
        bytes
            .map(u32::from_le_bytes)
            .map_err(|_| "passes an address outside of its memory".into())
    }

    /// Room in the program's memory. What the program says of it is checked.
    fn room(&mut self, alignment: u32, len: usize) -> Outcome<u32> {
        let len = u32::try_from(len).map_err(|_| "gets more than its memory can hold")?;
        let at = self.wasi.host.room(alignment, len);
        if !at.is_multiple_of(alignment) {
            return Err("its cabi_realloc returned an address that is not aligned".into());
        }
        match self.wasi.check(at, len.into()) {
            Ok(()) => Ok(at),
            Err(_) => Err("its cabi_realloc returned room outside of its memory".into()),
        }
    }

    /// Bytes in room of their own: address and length.
    fn place(&mut self, bytes: &[u8]) -> Outcome<[u8; 8]> {
        let at = self.room(1, bytes.len())?;
        self.put(at, bytes)?;
        Ok(pair(at, bytes.len() as u32))
    }

    /// A list of elements of so many bytes, each put there by `each`: address and length.
    fn list<T>(
        &mut self,
        elements: &[T],
        size: u32,
        mut each: impl FnMut(&mut Self, u32, &T) -> Outcome,
    ) -> Outcome<[u8; 8]> {
        let bytes = elements.len().checked_mul(size as usize);
        let at = self.room(4, bytes.ok_or("gets more than its memory can hold")?)?;
        for (number, element) in (0..).zip(elements) {
            each(self, at + number * size, element)?;
        }
        Ok(pair(at, elements.len() as u32))
    }

    /// Answers `option<string>`.
    fn option_text(&mut self, out: u32, text: Option<&[u8]>) -> Outcome {
        match text {
            None => self.put(out, &[0]),
            Some(text) => {
                let text = self.place(text)?;
                self.put(out, &[1])?;
                self.put_at(out, 4, &text)
            }
        }
    }
}

/// An address and a length, as a list is.
fn pair(at: u32, len: u32) -> [u8; 8] {
    let mut pair = [0; 8];
    pair[..4].copy_from_slice(&at.to_le_bytes());
    pair[4..].copy_from_slice(&len.to_le_bytes());
    pair
}
