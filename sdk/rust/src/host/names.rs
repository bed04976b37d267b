//! A name space for tests: mocks and the services that are tested, each at its path.
//!
//! ```
//! use sing_sdk::host::NameSpace;
//! use sing_sdk::prelude::*;
//!
//! let space = NameSpace::new();
//! let came = space.serve("/clock", ClockContract::Mock::new().on_get_utc(|c| c.send_utc(7)));
//!
//! // What a program does that finds the clock by its name.
//! let mut clock = ClockContract::client("/clock");
//! let now = clock.ask(&mut space.names(), |clock| clock.call_get_utc().utc());
//! assert_eq!(now, Ok(7));
//! assert_eq!(came.messages(), ["GetUtc()"]);
//! ```
//!
//! A service that registers is found by those who bind its path, as in the system. Directories are
//! the names; there are no links, and nobody is told of changes.
//!
//! Invariant: a request is answered as the name server would, or refused as not possible here.

use super::mock::{Came, Player, Script};
use crate::contracts::{NameKind, NamespaceContract, Refusal, ServiceContract};
use crate::names::Names;
use crate::provider::asked;
use crate::rt::{Closed, Text, Waitable, stand_for};
use crate::sync;
use crate::time::Timeout;
use crate::walk::{self, Directories, Entry};
use NamespaceContract::exp::Ready as Request;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::vec::Vec;

type Ready = NamespaceContract::Exp<NamespaceContract::Ready>;
type Provider = NamespaceContract::Imp<NamespaceContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

/// A client that rests is looked at again after this: no wait here ends a test.
const REST: Duration = Duration::from_secs(1);

/// A name space of the test's own.
#[derive(Clone, Debug, Default)]
pub struct NameSpace(Arc<Mutex<BTreeMap<String, Place>>>);

/// What is at a path.
#[derive(Debug)]
enum Place {
    Mock(Player),
    /// A service that registered: whose channel that was, the contract that it names, and its own
    /// channel, which is out while it is asked.
    Service {
        by: u64,
        contract: String,
        provider: Option<Provider>,
    },
}

impl NameSpace {
    /// One with nothing in it.
    #[must_use]
    pub fn new() -> NameSpace {
        NameSpace::default()
    }

    /// Puts a mock at a path, in the place of what was there; what comes to it.
    ///
    /// # Panics
    /// If it is no path.
    pub fn serve(&self, path: &str, mock: impl Into<Script>) -> Came {
        let player = mock.into().player();
        let came = player.came();
        let path = match crate::path::normalize(path) {
            Some(path) if path != "/" => path,
            _ => panic!("{path:?} is no path of a service"),
        };
        self.places().insert(path, Place::Mock(player));
        came
    }

    /// The channel over which a service at this path is told of its clients, as a program has it from
    /// its start that declares what it `serves`.
    ///
    /// # Panics
    /// If the path is held already, or is none.
    pub fn announce(&self, path: &str) -> NamespaceContract::Exp<NamespaceContract::Start> {
        let path = crate::path::normalize(path).and_then(|path| self.free(path).ok());
        let Some(path) = path else {
            panic!("the path is held already, or is none");
        };
        let (imp, exp) = NamespaceContract::new_channel().expect("a channel");
        let place = Place::Service {
            by: 0,
            contract: String::new(),
            provider: None,
        };
        self.places().insert(path.clone(), place);
        let space = self.clone();
        std::thread::spawn(move || {
            // Those who bind it meanwhile ask again.
            if let Ok(provider) = imp.recv_success() {
                space.back(&path, provider);
            }
        });
        exp
    }

    /// Puts a service's channel back that was out.
    fn back(&self, path: &str, channel: Provider) {
        if let Some(Place::Service { provider, .. }) = self.places().get_mut(path) {
            *provider = Some(channel);
        }
    }

    /// Takes away what is at a path; whether something was. Channels that are there stay.
    pub fn remove(&self, path: &str) -> bool {
        self.places().remove(path).is_some()
    }

    /// A channel to it, for a program that has it from its start.
    ///
    /// # Panics
    /// Not here: there is room for channels.
    pub fn channel(&self) -> NamespaceContract::Imp<NamespaceContract::Start> {
        let (imp, exp) = NamespaceContract::new_channel().expect("a channel");
        let space = self.clone();
        std::thread::spawn(move || space.answer(exp.send_success()));
        imp
    }

    /// A channel to it, in use.
    ///
    /// # Panics
    /// Not here: it takes part.
    #[must_use]
    pub fn names(&self) -> Names {
        Names::new(self.channel()).expect("a name space")
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a client until it closes; its registrations end with it.
    fn answer(&self, mut client: Ready) {
        let by = u64::from(client.handle().raw());
        loop {
            while sync::wait(&client, Timeout::from(REST)).is_err() {}
            client = match self.request(by, client.recv()) {
                Ok(client) => client,
                Err(Closed) => break,
            };
        }
        let own = |place: &Place| matches!(place, Place::Service { by: of, .. } if *of == by);
        self.places().retain(|_, place| !own(place));
    }

    fn request(&self, by: u64, request: Request) -> Result<Ready, Closed> {
        Ok(match request {
            Request::Bind(path, origin, service, next) => {
                let taken = match asked(&path) {
                    Ok(path) => self.bind(&path, origin, service),
                    Err(reason) => Err((reason, service)),
                };
                match taken {
                    Ok(()) => next.send_ack_bind(),
                    Err((reason, service)) => next.send_nak_bind(reason, service),
                }
            }
            Request::Find(spec, at, after, next) => {
                let empty = || Text::new("").map_err(|_| Refusal::NoResources);
                let found = walk::answer(&mut Listed(self), &spec, &at, &after);
                match found.and_then(|found| Ok((found, empty()?))) {
                    Ok(((count, results, text, after), at)) => {
                        next.send_ack_find(count, results, text, at, after)
                    }
                    Err(reason) => next.send_nak_find(reason),
                }
            }
            Request::Register(path, contract, _, provider, next) => {
                match asked(&path).and_then(|path| self.free(path)) {
                    Ok(path) => {
                        // It says first that it takes part.
                        if let Ok(provider) = provider.recv_success() {
                            let place = Place::Service {
                                by,
                                contract: contract.to_lossy(),
                                provider: Some(provider),
                            };
                            self.places().insert(path, place);
                        }
                        next.send_ack_register()
                    }
                    Err(reason) => next.send_nak_register(reason, provider),
                }
            }
            Request::Deregister(path, _, next) => {
                let path = asked(&path).unwrap_or_default();
                let mut places = self.places();
                match places.get(&path) {
                    None => next.send_nak_deregister(Refusal::NotFound),
                    Some(Place::Service { by: of, .. }) if *of == by => {
                        places.remove(&path);
                        next.send_ack_deregister()
                    }
                    Some(_) => next.send_nak_deregister(Refusal::Held),
                }
            }
            Request::Notify(_, _, watcher, next) => {
                next.send_nak_notify(Refusal::NoResources, watcher)
            }
            Request::Link(_, _, _, next) => next.send_nak_link(Refusal::NoResources),
            Request::ReadLink(_, next) => next.send_nak_read_link(Refusal::NotFound),
            Request::Closed => return Err(Closed),
        })
    }

    /// A path at which something may be registered.
    fn free(&self, path: String) -> Result<String, Refusal> {
        let above = |a: &str, b: &str| b.strip_prefix(a).is_some_and(|rest| rest.starts_with('/'));
        let places = self.places();
        let held = |at: &String| *at == path || above(at, &path) || above(&path, at);
        match path == "/" || places.keys().any(held) {
            true => Err(Refusal::Held),
            false => Ok(path),
        }
    }

    /// Hands a client's endpoint to what is at a path.
    fn bind(&self, path: &str, origin: u32, service: Service) -> Result<(), (Refusal, Service)> {
        if path == "/" {
            // A further channel to the name space.
            let exp = crate::provider::accept::<NamespaceContract::Exp<NamespaceContract::Start>>(
                service,
            );
            let exp = exp.map_err(|service| (Refusal::OtherContract, service))?;
            let space = self.clone();
            std::thread::spawn(move || space.answer(exp.send_success()));
            return Ok(());
        }
        let mut places = self.places();
        let provider = match places.get_mut(path) {
            None => return Err((Refusal::NotFound, service)),
            Some(Place::Mock(player)) => {
                let taken = player.take(service.into());
                return taken.map_err(|other| (Refusal::OtherContract, stand_for(other)));
            }
            Some(Place::Service { provider, .. }) => provider.take(),
        };
        drop(places);
        let (Some(provider), Ok(own)) = (provider, Text::new("/")) else {
            return Err((Refusal::Again, service));
        };
        use NamespaceContract::imp::Binding;
        let (provider, result) = match provider.call_bind(own, origin, service) {
            Binding::AckBind(next) => (next, Ok(())),
            Binding::NakBind(reason, back, next) => (next, Err((reason, back))),
            Binding::Closed => {
                self.places().remove(path);
                let (_, other) = ServiceContract::new_channel().expect("a channel");
                return Err((Refusal::NotFound, other));
            }
        };
        self.back(path, provider);
        result
    }
}

/// The names as directories.
struct Listed<'a>(&'a NameSpace);

impl Directories for Listed<'_> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        let places = self.0.places();
        if places.contains_key(at) {
            return Err(Refusal::NotADirectory);
        }
        let below = format!("{}/", at.trim_end_matches('/'));
        let mut all: Vec<Entry> = Vec::new();
        for (path, place) in &*places {
            let Some(rest) = path.strip_prefix(&below) else {
                continue;
            };
            let entry = match rest.split_once('/') {
                Some((directory, _)) => Entry::directory(directory),
                None => Entry::service(
                    rest,
                    match place {
                        Place::Mock(player) => player.contract,
                        Place::Service { contract, .. } => contract,
                    },
                ),
            };
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        if all.is_empty() && at != "/" {
            return Err(Refusal::NotFound);
        }
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all.retain(|entry| after.is_none_or(|after| entry.name.as_str() > after));
        all.truncate(most);
        debug_assert!(all.iter().all(|entry| entry.kind != NameKind::Link));
        Ok(all)
    }
}
