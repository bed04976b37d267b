//! A service in the name space: the half that is the same in all of them.
//!
//! Clients do not speak to a service before the name server has announced them: each announcement
//! brings the exporting side of a fresh channel, which the service takes or gives back ([O] 5.3). A
//! [`Provider`] answers these announcements and keeps the channels; the service serves what comes
//! over them.
//!
//! ```
//! use sing_sdk::names::Names;
//! use sing_sdk::prelude::*;
//! use sing_sdk::provider::Provider;
//!
//! /// Tells the time at `/clock`, also to clients of a name server that was started again.
//! fn serve(names: &mut Names) -> Result<(), Error> {
//!     let mut clock = Provider::register(names, "/clock", ClockContract::Exp::send_success)?;
//!     loop {
//!         switch_receive! {
//!             case clock.clients[key].GetUtc() as client => {
//!                 let now = sing_sdk::time::utc().as_nanos() as u64;
//!                 clock.clients.put(key, client.send_utc(now));
//!             }
//!             case clock.clients[_].ChannelClosed() => {}
//!             case &clock.lookup => {
//!                 // Clients bind the service itself; there is nothing below it.
//!                 if clock.answer(|path| (path == "/").then_some(())).is_err() {
//!                     clock.come_back(names)?;
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! Invariants:
//! - Every announcement is answered, and an endpoint that is not taken goes back to its client.
//! - The kernel has said of each client's endpoint that it is of the service's contract.
//! - No client makes the service fail or wait: paths are bounded before they are read, and so is
//!   the number of clients.
//! - No program takes the whole service: its clients are at most an eighth of those for which there
//!   is room ([`share`]).

use crate::Error;
use crate::client::Waits;
use crate::contracts::{NameKind, NamespaceContract, Refusal, ServiceContract};
pub use crate::door::Link;
use crate::door::{Door, Place, Turned};
use crate::names::Names;
use crate::path;
use crate::rt::{Closed, Endpoint, Handle, Text, TypedEndpoint, Waitable, stand_for};
use crate::set::EndpointSet;
use crate::share;
use crate::walk::{Directories, Entry};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Index;

type Ready = NamespaceContract::Exp<NamespaceContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

/// Clients that a provider holds channels with, unless [`Provider::at_most`] says otherwise.
pub const CLIENTS: usize = 1024;
/// Clients that each origin may have while there is room, whatever its share.
const LEAST: usize = 8;

/// The channel on which the name server announces clients: something to wait for.
#[derive(Debug)]
pub struct Lookup(Option<Ready>);

impl Waitable for Lookup {
    fn handle(&self) -> Handle {
        self.0.as_ref().map_or(Handle::NONE, Waitable::handle)
    }
}

/// A service's place in the name space and its clients. `S` is the endpoint with which a client
/// begins, `E` the one over which it is served, `T` the note that the service makes of each client.
pub struct Provider<S, E, T = ()> {
    /// For `case &provider.lookup` in a `switch_receive!`, whose code calls [`Provider::answer`].
    pub lookup: Lookup,
    /// For `case provider.clients[key]`.
    pub clients: EndpointSet<E>,
    /// By the client's key, with its origin. The note of a client that has gone stays until another
    /// gets its key.
    notes: Vec<Option<(u32, T)>>,
    begin: fn(S) -> E,
    most: usize,
    /// The path that it has registered, with the contract named there.
    place: Option<(String, &'static str)>,
}

impl<S, E, T> fmt::Debug for Provider<S, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provider({:?})", self.clients)
    }
}

impl<S: TypedEndpoint, E: TypedEndpoint, T> Provider<S, E, T> {
    /// Serves what the name server announces over a channel that was given to the program when it
    /// started. `begin` takes a client: `SomeContract::Exp::send_success`.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new(
        lookup: NamespaceContract::Exp<NamespaceContract::Start>,
        begin: fn(S) -> E,
    ) -> Result<Self, Error> {
        Self::on(lookup.send_success(), begin)
    }

    /// Registers a service at a path.
    ///
    /// # Errors
    /// As [`Names::register`].
    pub fn register(names: &mut Names, path: &str, begin: fn(S) -> E) -> Result<Self, Error> {
        Self::registered(names, path, S::CONTRACT, begin)
    }

    /// Registers a service of a path and all below it: a part of the name space, with directories.
    /// Clients find what is in them by patterns, too.
    ///
    /// # Errors
    /// As [`Names::register`].
    pub fn register_tree(names: &mut Names, path: &str, begin: fn(S) -> E) -> Result<Self, Error> {
        Self::registered(names, path, "NamespaceContract", begin)
    }

    fn registered(
        names: &mut Names,
        path: &str,
        contract: &'static str,
        begin: fn(S) -> E,
    ) -> Result<Self, Error> {
        let mut provider = Self::on(names.register_as(path, contract)?, begin)?;
        provider.place = Some((path.into(), contract));
        Ok(provider)
    }

    /// Registers the service again after the name server has closed the channel, as
    /// [`Provider::answer`] says: it has been started again, and knows none of its names. Clients
    /// are kept. Waits as long as the name server has no room for names, or another program holds
    /// this one, with growing waits; clients are not served meanwhile.
    ///
    /// # Errors
    /// [`Error::Closed`] if the name server does not come back, or the channel was given to the
    /// program when it started: then whoever gave it has gone.
    pub fn come_back(&mut self, names: &mut Names) -> Result<(), Error> {
        let (path, contract) = self.place.as_ref().ok_or(Error::Closed)?;
        let mut waits = Waits::new();
        loop {
            match names.register_as(path, contract) {
                Ok(lookup) => {
                    self.lookup.0 = Some(lookup);
                    return Ok(());
                }
                Err(Error::Closed) => return Err(Error::Closed),
                Err(_) => waits.wait(),
            }
        }
    }

    fn on(lookup: Ready, begin: fn(S) -> E) -> Result<Self, Error> {
        Ok(Provider {
            lookup: Lookup(Some(lookup)),
            clients: EndpointSet::new()?,
            notes: Vec::new(),
            begin,
            most: CLIENTS,
            place: None,
        })
    }

    /// Takes no more than so many clients at a time.
    #[must_use]
    pub fn at_most(mut self, clients: usize) -> Self {
        self.most = clients;
        self
    }

    /// Answers one request of the name server, waiting for it if there is none. `bind` looks at the
    /// path below the service's own, `/` for the service itself: what it notes of a client it
    /// takes, `None` for one that it refuses.
    ///
    /// # Errors
    /// The name server has gone, so that no clients will come any more, unless the service
    /// [comes back](Provider::come_back).
    pub fn answer(&mut self, bind: impl FnOnce(&str) -> Option<T>) -> Result<(), Closed> {
        self.answer_names(&mut Single(Some(bind)))
    }

    /// The same for a service that is a small directory: `list` names all that lies directly below
    /// a path, with a `/` behind directories.
    ///
    /// # Errors
    /// As [`Provider::answer`].
    pub fn answer_tree(
        &mut self,
        bind: impl FnOnce(&str) -> Option<T>,
        list: impl FnMut(&str) -> Option<Vec<String>>,
    ) -> Result<(), Closed> {
        self.answer_names(&mut Listed {
            bind: Some(bind),
            list,
            contract: S::CONTRACT,
        })
    }

    /// The same for directories of any size, with links, which are read in pieces.
    ///
    /// # Errors
    /// As [`Provider::answer`].
    pub fn answer_names(&mut self, tree: &mut impl Tree<T>) -> Result<(), Closed> {
        let door = Door::new(self.lookup.0.take().ok_or(Closed)?);
        let mut taking = Taking {
            provider: self,
            tree,
        };
        self.lookup.0 = Some(door.answer(&mut taking)?.into_lookup());
        Ok(())
    }

    /// Takes a client, with the service's note of it.
    fn take(&mut self, note: T, origin: u32, client: Endpoint) -> Result<(), Turned> {
        if !self.has_room(origin) {
            return Err((Refusal::NoResources, client));
        }
        let client = client
            .cast()
            .map_err(|other| (Refusal::OtherContract, other))?;
        // If handles are short, the client finds its channel closed.
        if let Ok(key) = self.clients.insert((self.begin)(client)) {
            if key >= self.notes.len() {
                self.notes.resize_with(key + 1, || None);
            }
            self.notes[key] = Some((origin, note));
        }
        Ok(())
    }

    /// On whose behalf the client under this key came, for the service's own shares ([`share`]); the
    /// system, if there is none.
    #[must_use]
    pub fn origin(&self, key: usize) -> u32 {
        let note = self.notes.get(key).and_then(Option::as_ref);
        note.map_or(share::SYSTEM, |(origin, _)| *origin)
    }

    /// Whether one more client of this origin can be taken. Counted anew each time, as nobody tells
    /// when clients go.
    fn has_room(&self, origin: u32) -> bool {
        let (mut all, mut same) = (0, 0);
        for (key, note) in self.notes.iter().enumerate() {
            if let Some((of, _)) = note
                && self.clients.holds(key)
            {
                all += 1;
                same += usize::from(*of == origin);
            }
        }
        share::allows(origin, same, 1, self.most.saturating_sub(all), LEAST)
    }
}

impl<S, E, T> Index<usize> for Provider<S, E, T> {
    type Output = T;

    /// The note of the client under this key, which `bind` made of it.
    fn index(&self, key: usize) -> &T {
        match self.notes.get(key) {
            Some(Some((_, note))) => note,
            _ => panic!("Provider: no client was taken under key {key}"),
        }
    }
}

/// The endpoint as one of the service's own contract.
///
/// # Errors
/// The endpoint as it was, if it is of another contract: it goes back to the client.
pub fn accept<S: TypedEndpoint>(service: Service) -> Result<S, Service> {
    service.into_endpoint().cast().map_err(stand_for)
}

/// A path as it came in a request, in its normal form.
///
/// # Errors
/// If it is too long, or no path.
pub fn asked(path: &Text) -> Result<String, Refusal> {
    if path.block().len() > path::LONGEST {
        return Err(Refusal::TooLong);
    }
    let path = path.get();
    path.as_deref()
        .and_then(path::normalize)
        .ok_or(Refusal::BadPath)
}

/// A provider that answers a request, with what it says of paths.
struct Taking<'a, S, E, T, N> {
    provider: &'a mut Provider<S, E, T>,
    tree: &'a mut N,
}

impl<S, E, T, N: Directories> Directories for Taking<'_, S, E, T, N> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        self.tree.list(at, after, most)
    }

    fn entry(&mut self, at: &str, name: &str) -> Result<Option<Entry>, Refusal> {
        self.tree.entry(at, name)
    }
}

impl<S, E, T, N> Place for Taking<'_, S, E, T, N>
where
    S: TypedEndpoint,
    E: TypedEndpoint,
    N: Tree<T>,
{
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        match self.tree.bind(path) {
            Ok(note) => self.provider.take(note, origin, client),
            Err(reason) => Err((reason, client)),
        }
    }

    fn link(&mut self, path: &str) -> Option<Link> {
        self.tree.link(path)
    }
}

/// What a service that is a part of the name space says of its paths, `/` being its own. `T` is its
/// note of a client.
pub trait Tree<T>: Directories {
    /// Takes a client of this path.
    ///
    /// # Errors
    /// Why it does not: [`Refusal::IsLink`] if the path leads through a link, which the name server
    /// then asks for.
    fn bind(&mut self, path: &str) -> Result<T, Refusal>;

    /// The first link on a path.
    fn link(&mut self, path: &str) -> Option<Link> {
        let _ = path;
        None
    }
}

/// A service without directories.
struct Single<B>(Option<B>);

impl<B> Directories for Single<B> {
    fn list(&mut self, at: &str, _: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
        Err(match at {
            "/" => Refusal::NotADirectory,
            _ => Refusal::NotFound,
        })
    }
}

impl<T, B: FnOnce(&str) -> Option<T>> Tree<T> for Single<B> {
    fn bind(&mut self, path: &str) -> Result<T, Refusal> {
        let bind = self.0.take().ok_or(Refusal::NotFound)?;
        bind(path).ok_or(Refusal::NotFound)
    }
}

/// A service with directories that are listed whole.
struct Listed<B, L> {
    bind: Option<B>,
    list: L,
    contract: &'static str,
}

impl<B, L: FnMut(&str) -> Option<Vec<String>>> Listed<B, L> {
    fn all(&mut self, at: &str) -> Option<Vec<Entry>> {
        let names = (self.list)(at)?;
        let entry = |name: &String| match name.strip_suffix('/') {
            Some(name) => Entry::directory(name),
            None => Entry::service(name, self.contract),
        };
        let mut all: Vec<Entry> = names.iter().map(entry).collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Some(all)
    }
}

impl<B, L: FnMut(&str) -> Option<Vec<String>>> Directories for Listed<B, L> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        if let Some(mut all) = self.all(at) {
            all.retain(|entry| after.is_none_or(|after| entry.name.as_str() > after));
            all.truncate(most);
            return Ok(all);
        }
        let (above, name) = at.rsplit_once('/').unwrap_or_default();
        let above = if above.is_empty() { "/" } else { above };
        let beside = if at == "/" { None } else { self.all(above) };
        let is = |entry: &Entry| entry.name == name && entry.kind != NameKind::Directory;
        Err(match beside.is_some_and(|all| all.iter().any(is)) {
            true => Refusal::NotADirectory,
            false => Refusal::NotFound,
        })
    }
}

impl<T, B, L> Tree<T> for Listed<B, L>
where
    B: FnOnce(&str) -> Option<T>,
    L: FnMut(&str) -> Option<Vec<String>>,
{
    fn bind(&mut self, path: &str) -> Result<T, Refusal> {
        let bind = self.bind.take().ok_or(Refusal::NotFound)?;
        bind(path).ok_or(Refusal::NotFound)
    }
}
