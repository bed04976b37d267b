//! Providers: the servers of parts of the name space. Each gets one request at a time.

use crate::server::Source;
use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Bound;
use nameserver::next_number;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;
use sing_sdk::share::Shares;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// The origin of a request to a provider.
#[derive(Clone, Copy)]
pub struct Asker {
    pub client: u32,
    /// The origin and the price that it is charged until the request is answered.
    pub origin: u32,
    pub cost: usize,
}

/// A client's request to a provider. The path is in the exchange heap already, so that passing the
/// request on cannot fail for lack of memory, which would leave the client without an answer.
pub struct Request {
    pub asker: Asker,
    pub path: Text,
    /// The endpoint to bind; `None` if the path is to be listed.
    pub bind: Option<Service>,
}

/// A provider's answer.
pub enum Answer {
    /// No answer to a client.
    Nothing,
    /// To a bind: done, or refused with the endpoint that comes back.
    Bound {
        asker: Asker,
        refused: Option<(Refusal, Service)>,
    },
    /// To a find.
    Found {
        asker: Asker,
        names: Result<Text, Refusal>,
    },
    /// It has closed.
    Gone,
}

/// A provider's unanswered request.
pub enum Asked {
    Bind(Asker),
    Find(Asker),
}

enum Channel {
    Starting(NamespaceContract::Imp<NamespaceContract::Start>),
    Ready(NamespaceContract::Imp<NamespaceContract::Ready>),
    Binding(Asker, NamespaceContract::Imp<NamespaceContract::Binding>),
    Finding(Asker, NamespaceContract::Imp<NamespaceContract::Finding>),
    /// Closed by the other side; the request will not be answered.
    Gone(Option<Asked>),
}

/// Waiting requests: origins take turns, so that none waits behind all requests of another.
#[derive(Default)]
struct Queue {
    waiting: BTreeMap<u32, VecDeque<Request>>,
    /// The origin of the last turn.
    turn: u32,
}

impl Queue {
    fn push(&mut self, request: Request) {
        let same = self.waiting.entry(request.asker.origin).or_default();
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

    /// Removes a client's request.
    fn withdraw(&mut self, client: u32) -> Option<Request> {
        let place = |same: &VecDeque<Request>| same.iter().position(|r| r.asker.client == client);
        let mut all = self.waiting.iter();
        let (&origin, at) = all.find_map(|(origin, same)| Some((origin, place(same)?)))?;
        let same = self.waiting.get_mut(&origin)?;
        let request = same.remove(at);
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
    /// Sends the next request if the provider can take one.
    fn advance(&mut self) {
        self.channel = match core::mem::replace(&mut self.channel, Channel::Gone(None)) {
            Channel::Ready(channel) => match self.queue.pop() {
                None => Channel::Ready(channel),
                Some(request) => send(channel, request),
            },
            busy => busy,
        };
    }
}

fn send(channel: NamespaceContract::Imp<NamespaceContract::Ready>, request: Request) -> Channel {
    let Request { asker, path, bind } = request;
    match bind {
        Some(service) => Channel::Binding(asker, channel.send_bind(path, asker.origin, service)),
        None => Channel::Finding(asker, channel.send_find(path)),
    }
}

/// A removed provider.
pub struct Removed {
    /// Its path, and the origin that it was charged to.
    pub path: String,
    pub origin: u32,
    /// Requests that will not be answered now: the one that it got, and those that waited for it.
    pub asked: Option<Asked>,
    pub waiting: Vec<Request>,
}

/// All providers.
#[derive(Default)]
pub struct Providers {
    all: BTreeMap<u32, Provider>,
    last: u32,
}

impl Providers {
    /// Adds a client's provider, registered at a path; returns its number. Client 0 is the system
    /// itself.
    ///
    /// # Errors
    /// The channel, if it cannot be watched.
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
            asked: match provider.channel {
                Channel::Binding(asker, _) => Some(Asked::Bind(asker)),
                Channel::Finding(asker, _) => Some(Asked::Find(asker)),
                Channel::Gone(asked) => asked,
                Channel::Starting(_) | Channel::Ready(_) => None,
            },
            waiting: provider.queue.waiting.into_values().flatten().collect(),
        })
    }

    /// The client that owns the provider.
    pub fn owner(&self, id: u32) -> Option<u32> {
        self.all.get(&id).map(|p| p.owner)
    }

    /// The providers that a client has registered.
    pub fn owned_by(&self, client: u32) -> Vec<u32> {
        self.all
            .iter()
            .filter(|(_, p)| p.owner == client)
            .map(|(id, _)| *id)
            .collect()
    }

    /// Asks a provider, now or when its turn comes; returns the request if the provider has closed
    /// or its origin has too many waiting.
    pub fn request(
        &mut self,
        id: u32,
        request: Request,
        shares: &mut Shares,
    ) -> Result<(), (Refusal, Request)> {
        let Some(provider) = self.all.get_mut(&id) else {
            return Err((Refusal::NotFound, request));
        };
        if !shares.take(request.asker.origin, request.asker.cost) {
            return Err((Refusal::NoResources, request));
        }
        provider.queue.push(request);
        provider.advance();
        Ok(())
    }

    /// Removes a closed client's request from the queue in which it waits for a provider.
    pub fn withdraw(&mut self, client: u32) -> Option<Request> {
        let mut queues = self.all.values_mut().map(|p| &mut p.queue);
        queues.find_map(|queue| queue.withdraw(client))
    }

    /// Receives from a provider whose channel is ready.
    pub fn hear(&mut self, id: u32) -> Answer {
        use NamespaceContract::imp;
        let Some(provider) = self.all.get_mut(&id) else {
            return Answer::Nothing;
        };
        let bound = |asker, refused| Answer::Bound { asker, refused };
        let found = |asker, names| Answer::Found { asker, names };
        let gone = |asked| (Channel::Gone(asked), Answer::Gone);
        let (next, answer) = match core::mem::replace(&mut provider.channel, Channel::Gone(None)) {
            Channel::Starting(channel) => match channel.recv_success() {
                Ok(channel) => (Channel::Ready(channel), Answer::Nothing),
                Err(Closed) => gone(None),
            },
            Channel::Binding(asker, channel) => match channel.recv() {
                imp::Binding::AckBind(channel) => (Channel::Ready(channel), bound(asker, None)),
                imp::Binding::NakBind(reason, service, channel) => (
                    Channel::Ready(channel),
                    bound(asker, Some((reason, service))),
                ),
                imp::Binding::Closed => gone(Some(Asked::Bind(asker))),
            },
            Channel::Finding(asker, channel) => match channel.recv() {
                imp::Finding::AckFind(names, channel) => {
                    (Channel::Ready(channel), found(asker, Ok(names)))
                }
                imp::Finding::NakFind(reason, channel) => {
                    (Channel::Ready(channel), found(asker, Err(reason)))
                }
                imp::Finding::Closed => gone(Some(Asked::Find(asker))),
            },
            // It may not send in this state, so its channel is closed.
            Channel::Ready(_) => gone(None),
            Channel::Gone(asked) => gone(asked),
        };
        provider.channel = next;
        provider.advance();
        answer
    }
}
