//! Providers: those that serve a part of the name space, each asked for one thing at a time.

use crate::server::Source;
use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Bound;
use nameserver::next_number;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;
use sing_sdk::share::Shares;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// What a client asked of a provider. The path lies in the exchange heap already, so that passing the request on cannot
/// fail for want of memory, with nobody to tell the client.
pub struct Request {
    pub client: u32,
    /// Whose share it is on, and with how much, while it waits.
    pub origin: u32,
    pub cost: usize,
    pub path: Text,
    /// The endpoint to bind; `None` where the path is to be listed.
    pub bind: Option<Service>,
}

/// A provider's answer.
pub enum Answer {
    /// Nothing that concerns a client.
    Nothing,
    /// To a bind: done, or refused with the endpoint that comes back.
    Bound {
        client: u32,
        refused: Option<(Refusal, Service)>,
    },
    /// To a find.
    Found {
        client: u32,
        names: Result<Text, Refusal>,
    },
    /// It has gone, while this client waited for a bind (true) or a find (false).
    Gone { waiting: Option<(u32, bool)> },
}

enum Channel {
    Starting(NamespaceContract::Imp<NamespaceContract::Start>),
    Ready(NamespaceContract::Imp<NamespaceContract::Ready>),
    Binding(u32, NamespaceContract::Imp<NamespaceContract::Binding>),
    Finding(u32, NamespaceContract::Imp<NamespaceContract::Finding>),
    Gone,
}

/// Requests that wait: origins take turns, so that nobody waits behind all that another has asked for.
#[derive(Default)]
struct Queue {
    waiting: BTreeMap<u32, VecDeque<Request>>,
    /// Whose turn it was last.
    turn: u32,
}

impl Queue {
    fn push(&mut self, request: Request) {
        let same = self.waiting.entry(request.origin).or_default();
        same.push_back(request);
    }

    fn pop(&mut self) -> Option<Request> {
        let behind = (Bound::Excluded(self.turn), Bound::Unbounded);
        let next = self.waiting.range(behind).next();
        let (&origin, _) = next.or_else(|| self.waiting.first_key_value())?;
        self.turn = origin;
        let same = self.waiting.get_mut(&origin)?;
        let request = same.pop_front();
        if same.is_empty() {
            self.waiting.remove(&origin);
        }
        request
    }
}

struct Provider {
    owner: u32,
    origin: u32,
    path: String,
    channel: Channel,
    queue: Queue,
}

impl Provider {
    /// Sends the next request where the provider can take one.
    fn advance(&mut self, shares: &mut Shares) {
        self.channel = match core::mem::replace(&mut self.channel, Channel::Gone) {
            Channel::Ready(channel) => match self.queue.pop() {
                None => Channel::Ready(channel),
                Some(request) => {
                    shares.give_back(request.origin, request.cost);
                    send(channel, request)
                }
            },
            busy => busy,
        };
    }
}

fn send(channel: NamespaceContract::Imp<NamespaceContract::Ready>, request: Request) -> Channel {
    let Request {
        client,
        origin,
        path,
        bind,
        ..
    } = request;
    match bind {
        Some(service) => Channel::Binding(client, channel.send_bind(path, origin, service)),
        None => Channel::Finding(client, channel.send_find(path)),
    }
}

/// A provider that is none any more.
pub struct Removed {
    /// Where it was registered, and on whose share.
    pub path: String,
    pub origin: u32,
    /// What nobody will answer now.
    pub waiting: Vec<Request>,
}

/// All providers.
#[derive(Default)]
pub struct Providers {
    all: BTreeMap<u32, Provider>,
    last: u32,
}

impl Providers {
    /// Takes a provider of a client's, registered at a path; its number. Client 0 stands for the system itself.
    ///
    /// # Errors
    /// The channel, where it cannot be watched.
    pub fn add(
        &mut self,
        owner: u32,
        origin: u32,
        path: &str,
        channel: NamespaceContract::Imp<NamespaceContract::Start>,
        set: &WaitSet,
    ) -> Result<u32, NamespaceContract::Imp<NamespaceContract::Start>> {
        self.last = next_number(self.last, |id| self.all.contains_key(&id));
        // Each may answer, or go away, in every state.
        let number = Source::Provider(self.last).number();
        if set.add(&channel, number).is_err() {
            return Err(channel);
        }
        self.all.insert(
            self.last,
            Provider {
                owner,
                origin,
                path: path.into(),
                channel: Channel::Starting(channel),
                queue: Queue::default(),
            },
        );
        Ok(self.last)
    }

    /// Closes a provider's channel.
    pub fn remove(&mut self, id: u32) -> Option<Removed> {
        let provider = self.all.remove(&id)?;
        Some(Removed {
            origin: provider.origin,
            path: provider.path,
            waiting: provider.queue.waiting.into_values().flatten().collect(),
        })
    }

    /// Whose provider it is.
    pub fn owner(&self, id: u32) -> Option<u32> {
        self.all.get(&id).map(|p| p.owner)
    }

    /// Those that a client has registered.
    pub fn owned_by(&self, client: u32) -> Vec<u32> {
        self.all
            .iter()
            .filter(|(_, p)| p.owner == client)
            .map(|(id, _)| *id)
            .collect()
    }

    /// Asks a provider, now or when its turn comes; gives the request back where the provider has gone or its origin has
    /// too much waiting.
    pub fn request(
        &mut self,
        id: u32,
        request: Request,
        shares: &mut Shares,
    ) -> Result<(), (Refusal, Request)> {
        let Some(provider) = self.all.get_mut(&id) else {
            return Err((Refusal::NotFound, request));
        };
        if !shares.take(request.origin, request.cost) {
            return Err((Refusal::NoResources, request));
        }
        provider.queue.push(request);
        provider.advance(shares);
        Ok(())
    }

    /// Receives from a provider whose channel is ready.
    pub fn hear(&mut self, id: u32, shares: &mut Shares) -> Answer {
        use NamespaceContract::imp;
        let Some(provider) = self.all.get_mut(&id) else {
            return Answer::Nothing;
        };
        let bound = |client, refused| Answer::Bound { client, refused };
        let found = |client, names| Answer::Found { client, names };
        let gone = |waiting| (Channel::Gone, Answer::Gone { waiting });
        let (next, answer) = match core::mem::replace(&mut provider.channel, Channel::Gone) {
            Channel::Starting(channel) => match channel.recv_success() {
                Ok(channel) => (Channel::Ready(channel), Answer::Nothing),
                Err(Closed) => gone(None),
            },
            Channel::Binding(client, channel) => match channel.recv() {
                imp::Binding::AckBind(channel) => (Channel::Ready(channel), bound(client, None)),
                imp::Binding::NakBind(reason, service, channel) => (
                    Channel::Ready(channel),
                    bound(client, Some((reason, service))),
                ),
                imp::Binding::Closed => gone(Some((client, true))),
            },
            Channel::Finding(client, channel) => match channel.recv() {
                imp::Finding::AckFind(names, channel) => {
                    (Channel::Ready(channel), found(client, Ok(names)))
                }
                imp::Finding::NakFind(reason, channel) => {
                    (Channel::Ready(channel), found(client, Err(reason)))
                }
                imp::Finding::Closed => gone(Some((client, false))),
            },
            // It has nothing to say in this state, so its channel is closed.
            Channel::Ready(_) | Channel::Gone => gone(None),
        };
        provider.channel = next;
        provider.advance(shares);
        answer
    }
}
