//! The channel on which the name server announces clients, for services whose clients use more than
//! one contract. A service with one kind of clients has it simpler: [`provider`](crate::provider).
//!
//! Invariant: every announcement is answered, and an endpoint that is not taken goes back.

use crate::contracts::{NamespaceContract, Refusal, ServiceContract};
use crate::provider::asked;
use crate::rt::{Closed, Endpoint, Handle, Text, TypedEndpoint, Waitable, stand_for};
use NamespaceContract::exp::Ready as Request;

type Ready = NamespaceContract::Exp<NamespaceContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

/// A service's place in the name space.
#[derive(Debug)]
pub struct Door(Ready);

/// A client that is not taken: why, and its endpoint.
pub type Turned = (Refusal, Endpoint);

impl Door {
    /// Serves what is announced over this channel, which comes from
    /// [`Names::register`](crate::names::Names::register) or with the start of the program.
    #[must_use]
    pub const fn new(lookup: Ready) -> Door {
        Door(lookup)
    }

    /// Answers one request of the name server, waiting for it if there is none. `bind` takes the
    /// endpoint of an origin for a path, `/` being the service's own, or gives it back; `list` has
    /// a line for each name directly below a path.
    ///
    /// # Errors
    /// The name server has gone, so that no clients will come any more.
    pub fn answer(
        self,
        bind: impl FnOnce(&str, u32, Endpoint) -> Result<(), Turned>,
        list: impl FnOnce(&str) -> Result<Text, Refusal>,
    ) -> Result<Door, Closed> {
        Ok(Door(match self.0.recv() {
            Request::Bind(path, origin, service, next) => {
                let taken = match asked(&path) {
                    Some(path) => bind(&path, origin, service.into_endpoint()),
                    None => Err((Refusal::NotFound, service.into_endpoint())),
                };
                match taken {
                    Ok(()) => next.send_ack_bind(),
                    Err((reason, endpoint)) => {
                        next.send_nak_bind(reason, stand_for::<Service>(endpoint))
                    }
                }
            }
            Request::Find(path, next) => {
                let path = asked(&path).ok_or(Refusal::NotFound);
                match path.and_then(|path| list(&path)) {
                    Ok(names) => next.send_ack_find(names),
                    Err(reason) => next.send_nak_find(reason),
                }
            }
            // Nobody is told of changes, and nobody else serves a part of it.
            Request::Notify(_, watcher, next) => next.send_nak_notify(Refusal::NotFound, watcher),
            Request::Register(_, provider, next) => next.send_nak_register(Refusal::Held, provider),
            Request::Deregister(_, next) => next.send_nak_deregister(),
            Request::Closed => return Err(Closed),
        }))
    }
}

impl Waitable for Door {
    fn handle(&self) -> Handle {
        self.0.handle()
    }
}
