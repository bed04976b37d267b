//! The loop of a service whose requests are answered one by one.
//!
//! Each contract that begins with `Success`, as one derived from `ServiceContract` does, has in its
//! module the functions `service` and `service_at` for those who serve it, and `connect` and
//! `client` for those who use it:
//!
//! ```
//! use sing_sdk::names::Names;
//! use sing_sdk::prelude::*;
//!
//! /// Tells the time at `/clock`, also to clients of a name server that was started again.
//! fn serve(names: &mut Names) -> Result<(), Error> {
//!     ClockContract::service_at(names, "/clock")?.serve(|client| {
//!         let now = sing_sdk::time::utc().as_nanos() as u64;
//!         Ok(client.recv_get_utc()?.send_utc(now))
//!     })
//! }
//!
//! /// A client of it.
//! fn now(names: &mut Names) -> Result<u64, Error> {
//!     let clock = ClockContract::connect(names, "/clock")?;
//!     let (now, _clock) = clock.call_get_utc().utc()?;
//!     Ok(now)
//! }
//! ```
//!
//! A service that waits for other things, too, or whose clients are in several states, has a loop of
//! its own, over a [`Provider`].
//!
//! Invariants are those of [`Provider`]; and clients, name server and service manager take turns, so
//! that none of them keeps the others waiting.

use crate::Error;
use crate::contracts::{HealthContract, NamespaceContract};
use crate::health::Health;
use crate::names::Names;
use crate::provider::Provider;
use crate::rt::{Closed, TypedEndpoint, Waitable};
use crate::select::{Many, Patience, Receives, Select, Turn};
use crate::set::EndpointSet;
use crate::time::Timeout;
use core::fmt;

/// A service that answers requests one by one. `S` is the endpoint with which a client begins, `E`
/// the one over which it asks.
pub struct Service<'n, S, E> {
    provider: Provider<S, E>,
    health: Health,
    /// Answers the manager. By its address, so that a program that is never asked has no code that
    /// receives on a channel which its manifest does not ask for: the installer would refuse it.
    answer: fn(&mut Health),
    names: Option<&'n mut Names>,
}

impl<S, E> fmt::Debug for Service<'_, S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({:?})", self.provider)
    }
}

/// What a service waits for.
enum Event {
    /// The client under this key has asked, or gone.
    Client(usize),
    /// The name server announces a client, or has gone.
    Announced,
    /// The service manager asks whether the service is well.
    Asked,
}

impl<'n, S: TypedEndpoint, E: TypedEndpoint + Receives> Service<'n, S, E> {
    /// Serves what is announced over a channel that was given to the program when it started, as
    /// `serves` in its manifest declares. `begin` takes a client.
    ///
    /// # Errors
    /// [`Error::NotFound`] if none was given, [`Error::NoResources`] if handles are short.
    pub fn given(
        lookup: Option<NamespaceContract::Exp<NamespaceContract::Start>>,
        begin: fn(S) -> E,
    ) -> Result<Self, Error> {
        Ok(Service {
            provider: Provider::new(lookup.ok_or(Error::NotFound)?, begin)?,
            health: Health::new(None),
            answer: |_| {},
            names: None,
        })
    }

    /// Serves at a path, where it registers; again if the name server is started again meanwhile.
    ///
    /// # Errors
    /// As [`Names::register`].
    pub fn registered(names: &'n mut Names, path: &str, begin: fn(S) -> E) -> Result<Self, Error> {
        Ok(Service {
            provider: Provider::register(names, path, begin)?,
            health: Health::new(None),
            answer: |_| {},
            names: Some(names),
        })
    }

    /// Answers the service manager, too, over what the manifest's `startup::health()` gives.
    #[must_use]
    pub fn health(mut self, asked: Option<HealthContract::Exp<HealthContract::Start>>) -> Self {
        self.health = Health::new(asked);
        self.answer = Health::answer;
        self
    }

    /// Takes no more than so many clients at a time.
    #[must_use]
    pub fn at_most(mut self, clients: usize) -> Self {
        self.provider = self.provider.at_most(clients);
        self
    }

    /// Serves. `request` receives what a client asks, which is there, answers it, and gives the
    /// channel back for the next request; with [`Closed`], that client is one no more. It is called
    /// for a client that has closed, too: the receive says so.
    ///
    /// Ends when no clients will come any more: the name server has closed the channel, and the
    /// service has not registered itself.
    ///
    /// # Errors
    /// [`Error::Closed`] if it has, and the name server does not come back.
    pub fn serve(mut self, mut request: impl FnMut(E) -> Result<E, Closed>) -> Result<(), Error> {
        let turn = Turn::new();
        loop {
            match self.next(&turn) {
                Event::Client(key) => {
                    turned(&mut self.provider.clients, key, &mut request);
                }
                // Clients bind the service itself; there is nothing below it.
                Event::Announced => {
                    let answered = self.provider.answer(|path| (path == "/").then_some(()));
                    match (answered, &mut self.names) {
                        (Ok(()), _) => {}
                        (Err(Closed), Some(names)) => self.provider.come_back(names)?,
                        (Err(Closed), None) => return Ok(()),
                    }
                }
                Event::Asked => (self.answer)(&mut self.health),
            }
        }
    }

    /// Waits for the next event.
    fn next(&mut self, turn: &Turn) -> Event {
        let (clients, lookup) = (&mut self.provider.clients, &self.provider.lookup);
        let mut select = Select::<3>::new();
        let asking = clients.switch_watch(&mut select);
        let announced = select.add(lookup.handle());
        let asked = select.add(self.health.handle());
        let mut patience = Patience::lasting(Timeout::FOREVER);
        let (mut key, mut is_first) = (0, true);
        let first = loop {
            // It waits for ever, so that a result means that something has come.
            patience.wait(&mut select, is_first);
            is_first = false;
            let first = turn.first(3, |case| match case {
                0 => match clients.switch_ready(&mut select, asking, turn) {
                    Some(found) => {
                        key = found;
                        true
                    }
                    None => false,
                },
                1 => select.tag(announced).is_some(),
                _ => select.tag(asked).is_some(),
            });
            if let Some(first) = first {
                break first;
            }
        };
        if first != 0 {
            clients.switch_passed(&select, asking);
        }
        match first {
            0 => Event::Client(key),
            1 => Event::Announced,
            _ => Event::Asked,
        }
    }
}

/// Serves these clients, one request after the other, until the last of them has gone. `request` is
/// as that of [`Service::serve`].
///
/// # Errors
/// [`Error::NoResources`] if handles are short.
pub fn clients<E: TypedEndpoint + Receives>(
    clients: impl Iterator<Item = E>,
    mut request: impl FnMut(E) -> Result<E, Closed>,
) -> Result<(), Error> {
    let mut set = EndpointSet::new()?;
    for client in clients {
        set.insert(client)?;
    }
    let turn = Turn::new();
    while !set.is_empty() {
        let key = set.switch_wait(&turn, Patience::lasting(Timeout::FOREVER))?;
        turned(&mut set, key, &mut request);
    }
    Ok(())
}

/// Has the client under a key served, whose message is there.
fn turned<E: TypedEndpoint>(
    clients: &mut EndpointSet<E>,
    key: usize,
    request: &mut impl FnMut(E) -> Result<E, Closed>,
) {
    match clients.take(key).ok_or(Closed).and_then(request) {
        Ok(client) => clients.put(key, client),
        Err(Closed) => {
            clients.forget(key);
        }
    }
}
