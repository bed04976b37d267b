//! The channel on which the name server announces clients ([O] 5.3), for services whose clients use
//! more than one contract. A service with one kind of clients has it simpler:
//! [`provider`](crate::provider).
//!
//! Invariant: every request is answered, and an endpoint that is not taken goes back.

use crate::contracts::{NamespaceContract, Refusal, ServiceContract};
use crate::path::LONGEST;
use crate::pattern::{self, Pattern};
use crate::provider::asked;
use crate::rt::{Closed, Endpoint, Handle, NoRoom, Text, TypedEndpoint, Waitable, stand_for};
use crate::time;
use crate::walk::{self, Directories};
use crate::watcher;
use NamespaceContract::exp::Ready as Request;
use alloc::string::String;
use core::time::Duration;

/// How long a service that has no room for a request waits before it goes on with its clients, who
/// hold that room; the request is tried again then.
const PAUSE: Duration = Duration::from_millis(1);

type Ready = NamespaceContract::Exp<NamespaceContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

/// A service's place in the name space.
#[derive(Debug)]
pub struct Door(Ready);

/// A client that is not taken: why, and its endpoint.
pub type Turned = (Refusal, Endpoint);

/// A link on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// How many bytes of the path name it.
    pub used: usize,
    /// Where it leads: an absolute path of the whole name space, or one relative to the directory
    /// of the link.
    pub target: String,
}

/// A part of the name space, `/` being the service's own path.
pub trait Place: Directories {
    /// Whether it tells anybody of changes. The module of a program that does not cannot send
    /// `AckNotify`, and its behavior need not name it.
    const NOTIFIES: bool = false;

    /// Takes the endpoint of a client from this origin for a path.
    ///
    /// # Errors
    /// Why it does not, and the endpoint: [`Refusal::IsLink`] if the path leads through a link,
    /// which the name server then asks for.
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned>;

    /// Has this channel told of changes of names that match a pattern below a directory, or are
    /// below such a name. Only asked if it [tells anybody](Place::NOTIFIES).
    ///
    /// # Errors
    /// Why it does not, and the channel: [`Refusal::IsLink`] as for [`Place::bind`].
    fn notify(
        &mut self,
        directory: &str,
        pattern: Pattern,
        origin: u32,
        watcher: watcher::Channel,
    ) -> Result<(), (Refusal, watcher::Channel)> {
        let _ = (directory, pattern, origin);
        Err((Refusal::NotFound, watcher))
    }

    /// The first link on a path.
    fn link(&mut self, path: &str) -> Option<Link> {
        let _ = path;
        None
    }
}

impl Door {
    /// Serves what is announced over this channel, which comes from
    /// [`Names::register`](crate::names::Names::register) or with the start of the program.
    #[must_use]
    pub const fn new(lookup: Ready) -> Door {
        Door(lookup)
    }

    /// The channel again.
    pub fn into_lookup(self) -> Ready {
        self.0
    }

    /// Answers one request of the name server, waiting for it if there is none. If the process has
    /// no room for the request, it stays in the queue, and this returns after a moment without an
    /// answer, for the service to go on with its clients and to call it again.
    ///
    /// # Errors
    /// The name server has gone, so that no clients will come any more.
    pub fn answer<P: Place>(self, place: &mut P) -> Result<Door, Closed> {
        let request = match self.0.receive() {
            Ok(request) => request,
            Err(NoRoom(lookup)) => {
                time::sleep(PAUSE);
                return Ok(Door(lookup));
            }
        };
        Ok(Door(match request {
            Request::Bind(path, origin, service, next) => {
                let client = service.into_endpoint();
                let taken = match asked(&path) {
                    Ok(path) => place.bind(&path, origin, client),
                    Err(reason) => Err((reason, client)),
                };
                match taken {
                    Ok(()) => next.send_ack_bind(),
                    Err((reason, client)) => {
                        next.send_nak_bind(reason, stand_for::<Service>(client))
                    }
                }
            }
            Request::Find(spec, at, after, next) => {
                match walk::answer(place, &spec, &at, &after).and_then(|a| Ok((a, text("")?))) {
                    Ok(((count, results, text, after), at)) => {
                        next.send_ack_find(count, results, text, at, after)
                    }
                    Err(reason) => next.send_nak_find(reason),
                }
            }
            Request::ReadLink(path, next) => {
                let link = asked(&path).and_then(|p| place.link(&p).ok_or(Refusal::NotFound));
                match link.and_then(|link| Ok((link.used as u32, text(&link.target)?))) {
                    Ok((used, target)) => next.send_ack_read_link(used, target),
                    Err(reason) => next.send_nak_read_link(reason),
                }
            }
            Request::Notify(spec, origin, watcher, next) => {
                let taken = match watched(&spec) {
                    _ if !P::NOTIFIES => Err((Refusal::NotFound, watcher)),
                    Ok((directory, of)) => place.notify(&directory, of, origin, watcher),
                    Err(reason) => Err((reason, watcher)),
                };
                match taken {
                    Ok(()) if P::NOTIFIES => next.send_ack_notify(),
                    Ok(()) => return Err(Closed),
                    Err((reason, watcher)) => next.send_nak_notify(reason, watcher),
                }
            }
            // Nobody else serves a part of it.
            Request::Register(_, _, _, provider, next) => {
                next.send_nak_register(Refusal::Held, provider)
            }
            Request::Deregister(_, _, next) => next.send_nak_deregister(Refusal::Held),
            Request::Link(_, _, _, next) => next.send_nak_link(Refusal::Held),
            Request::Closed => return Err(Closed),
        }))
    }
}

impl Waitable for Door {
    fn handle(&self) -> Handle {
        self.0.handle()
    }
}

/// The directory and the pattern of a specification.
fn watched(spec: &Text) -> Result<(String, Pattern), Refusal> {
    let spec = spec.get_within(LONGEST).ok_or(Refusal::TooLong)?;
    let (directory, of) = pattern::split(&spec)?;
    Ok((directory, Pattern::new(&of)?))
}

fn text(text: &str) -> Result<Text, Refusal> {
    Text::new(text).map_err(|_| Refusal::NoResources)
}

/// A channel that a predecessor has left ([`crate::legacy`]), ready for the next request: the answer
/// that is owed is given as it is true now. What was registered is registered no more, and whoever
/// registered finds the channel closed; an endpoint has arrived where it was to go or is closed; what
/// was looked for is to be asked again. `None` for what is no such channel.
#[must_use]
pub fn resume(endpoint: Endpoint) -> Option<Ready> {
    use NamespaceContract::Exp;
    let other = match endpoint.cast::<Ready>() {
        Ok(channel) => return Some(channel),
        Err(other) => other,
    };
    let other = match other.cast::<Exp<NamespaceContract::Start>>() {
        Ok(channel) => return Some(channel.send_success()),
        Err(other) => other,
    };
    // The endpoint is with the service, or closed.
    let other = match other.cast::<Exp<NamespaceContract::Binding>>() {
        Ok(channel) => return Some(channel.send_ack_bind()),
        Err(other) => other,
    };
    let other = match other.cast::<Exp<NamespaceContract::Finding>>() {
        Ok(channel) => return Some(channel.send_nak_find(Refusal::Again)),
        Err(other) => other,
    };
    // The watcher is closed, or with a provider.
    let other = match other.cast::<Exp<NamespaceContract::Notifying>>() {
        Ok(channel) => return Some(channel.send_ack_notify()),
        Err(other) => other,
    };
    // The provider's channel is closed.
    let other = match other.cast::<Exp<NamespaceContract::Registering>>() {
        Ok(channel) => return Some(channel.send_ack_register()),
        Err(other) => other,
    };
    // No registration is left.
    let other = match other.cast::<Exp<NamespaceContract::Deregistering>>() {
        Ok(channel) => return Some(channel.send_ack_deregister()),
        Err(other) => other,
    };
    let other = match other.cast::<Exp<NamespaceContract::Linking>>() {
        Ok(channel) => return Some(channel.send_nak_link(Refusal::Again)),
        Err(other) => other,
    };
    let reading = other.cast::<Exp<NamespaceContract::Reading>>().ok()?;
    Some(reading.send_nak_read_link(Refusal::Again))
}
