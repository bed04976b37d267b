//! Providers: the servers of parts of the name space. Each gets one request at a time.

use crate::queue::Queue;
use crate::request::{Asker, Back, Body, Found, Reply, Request};
use crate::server::Source;
use crate::succession::Boot;
use NamespaceContract::{
    Binding, Deregistering, Finding, Imp, Linking, Notifying, Reading, Ready, Registering, Start,
    imp,
};
use alloc::collections::BTreeMap;
use nameserver::next_number;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;
use sing_sdk::share::{SYSTEM, Shares};

/// The contract of providers that are themselves name servers.
pub const NAME_SERVER: &str = "NamespaceContract";

/// What came from a provider.
pub enum Answer {
    /// No answer to a request.
    Nothing,
    Reply(Asker, Reply),
    /// It has closed.
    Gone,
}

/// A provider's channel, with who waits for an answer.
enum Channel {
    Starting(Imp<Start>),
    Ready(Imp<Ready>),
    Binding(Asker, Imp<Binding>),
    Finding(Asker, Imp<Finding>),
    Notifying(Asker, Imp<Notifying>),
    Registering(Asker, Imp<Registering>),
    Deregistering(Asker, Imp<Deregistering>),
    Linking(Asker, Imp<Linking>),
    Reading(Asker, Back, Imp<Reading>),
    /// Closed by the other side; the request will not be answered.
    Gone(Option<(Asker, Reply)>),
}

impl Channel {
    /// The answer to a request whose provider has gone. An endpoint that it had taken has gone with
    /// it: its owner sees its channel closed.
    fn lost(self) -> Option<(Asker, Reply)> {
        let refused = |back| Reply::Refused(Refusal::NotFound, back);
        match self {
            Channel::Starting(_) | Channel::Ready(_) => None,
            Channel::Binding(asker, _) => Some((asker, Reply::Done)),
            Channel::Notifying(asker, _) => Some((asker, Reply::Done)),
            Channel::Registering(asker, _) => Some((asker, Reply::Done)),
            Channel::Deregistering(asker, _) => Some((asker, Reply::Done)),
            Channel::Finding(asker, _) => Some((asker, refused(Back::Nothing))),
            Channel::Linking(asker, _) => Some((asker, refused(Back::Nothing))),
            Channel::Reading(asker, back, _) => Some((asker, refused(back))),
            Channel::Gone(lost) => lost,
        }
    }

    /// Receives what has come.
    fn hear(self) -> (Channel, Answer) {
        use Answer::Reply as Answered;
        let refused = |reason, back| Reply::Refused(reason, back);
        let gone = |asker, reply| (Channel::Gone(Some((asker, reply))), Answer::Gone);
        let (next, asker, reply) = match self {
            Channel::Starting(channel) => {
                return match channel.recv_success() {
                    Ok(channel) => (Channel::Ready(channel), Answer::Nothing),
                    Err(Closed) => (Channel::Gone(None), Answer::Gone),
                };
            }
            Channel::Binding(asker, channel) => match channel.recv() {
                imp::Binding::AckBind(next) => (next, asker, Reply::Done),
                imp::Binding::NakBind(reason, service, next) => {
                    (next, asker, refused(reason, Back::Service(service)))
                }
                imp::Binding::Closed => return gone(asker, Reply::Done),
            },
            Channel::Finding(asker, channel) => match channel.recv() {
                imp::Finding::AckFind(count, results, text, at, after, next) => {
                    let found = Found {
                        count,
                        results,
                        text,
                        at,
                        after,
                    };
                    (next, asker, Reply::Found(found))
                }
                imp::Finding::NakFind(reason, next) => {
                    (next, asker, refused(reason, Back::Nothing))
                }
                imp::Finding::Closed => {
                    return gone(asker, refused(Refusal::NotFound, Back::Nothing));
                }
            },
            Channel::Notifying(asker, channel) => match channel.recv() {
                imp::Notifying::AckNotify(next) => (next, asker, Reply::Done),
                imp::Notifying::NakNotify(reason, watcher, next) => {
                    (next, asker, refused(reason, Back::Watcher(watcher)))
                }
                imp::Notifying::Closed => return gone(asker, Reply::Done),
            },
            Channel::Registering(asker, channel) => match channel.recv() {
                imp::Registering::AckRegister(next) => (next, asker, Reply::Done),
                imp::Registering::NakRegister(reason, provider, next) => {
                    (next, asker, refused(reason, Back::Provider(provider)))
                }
                imp::Registering::Closed => return gone(asker, Reply::Done),
            },
            Channel::Deregistering(asker, channel) => match channel.recv() {
                imp::Deregistering::AckDeregister(next) => (next, asker, Reply::Done),
                imp::Deregistering::NakDeregister(reason, next) => {
                    (next, asker, refused(reason, Back::Nothing))
                }
                imp::Deregistering::Closed => return gone(asker, Reply::Done),
            },
            Channel::Linking(asker, channel) => match channel.recv() {
                imp::Linking::AckLink(next) => (next, asker, Reply::Done),
                imp::Linking::NakLink(reason, next) => {
                    (next, asker, refused(reason, Back::Nothing))
                }
                imp::Linking::Closed => {
                    return gone(asker, refused(Refusal::NotFound, Back::Nothing));
                }
            },
            Channel::Reading(asker, back, channel) => match channel.recv() {
                imp::Reading::AckReadLink(used, target, next) => {
                    (next, asker, Reply::Link(used as usize, target, back))
                }
                imp::Reading::NakReadLink(_, next) => {
                    (next, asker, refused(Refusal::NotFound, back))
                }
                imp::Reading::Closed => return gone(asker, refused(Refusal::NotFound, back)),
            },
            // It may not send in this state, so its channel is closed.
            Channel::Ready(_) => return (Channel::Gone(None), Answer::Gone),
            Channel::Gone(lost) => return (Channel::Gone(lost), Answer::Gone),
        };
        (Channel::Ready(next), Answered(asker, reply))
    }
}

struct Provider {
    /// The client that registered it, and on whose share.
    owner: u32,
    origin: u32,
    path: String,
    contract: String,
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

fn send(channel: Imp<Ready>, request: Request) -> Channel {
    let Request { asker, path, body } = request;
    let origin = asker.origin;
    match body {
        Body::Bind(service) => Channel::Binding(asker, channel.send_bind(path, origin, service)),
        Body::Find { at, after } => Channel::Finding(asker, channel.send_find(path, at, after)),
        Body::Notify(watcher) => {
            Channel::Notifying(asker, channel.send_notify(path, origin, watcher))
        }
        Body::Register { contract, provider } => {
            let next = channel.send_register(path, contract, origin, provider);
            Channel::Registering(asker, next)
        }
        Body::Deregister => Channel::Deregistering(asker, channel.send_deregister(path, origin)),
        Body::Link { target } => Channel::Linking(asker, channel.send_link(path, target, origin)),
        Body::ReadLink(back) => Channel::Reading(asker, back, channel.send_read_link(path)),
    }
}

/// A removed provider.
pub struct Removed {
    /// Its path, and the origin that it was charged to.
    pub path: String,
    pub origin: u32,
    /// The answer to the request that it got, and the requests that waited for it.
    pub lost: Option<(Asker, Reply)>,
    pub waiting: Vec<Request>,
}

/// All providers.
#[derive(Default)]
pub struct Providers {
    all: BTreeMap<u32, Provider>,
    last: u32,
}

impl Providers {
    /// Adds a provider that a client registers at a path, on the share of an origin; returns its
    /// number. Client 0 is the system itself.
    ///
    /// # Errors
    /// The channel, if it cannot be watched.
    pub fn add(
        &mut self,
        (owner, origin): (u32, u32),
        path: &str,
        contract: &str,
        channel: Imp<Start>,
        set: &WaitSet,
    ) -> Result<u32, Imp<Start>> {
        self.last = next_number(self.last, |id| self.all.contains_key(&id));
        // Each may answer, or go away, in every state.
        let number = Source::Provider(self.last).number();
        if set.add(&channel, number).is_err() {
            return Err(channel);
        }
        let channel = Channel::Starting(channel);
        self.insert((owner, origin), path, contract, channel);
        Ok(self.last)
    }

    /// Adds a name server of the system's own that a predecessor has left. If that owes an answer,
    /// nobody waits for it.
    ///
    /// # Errors
    /// If it cannot be watched; it is then closed.
    pub fn take_over(&mut self, path: &str, channel: Boot, set: &WaitSet) -> Result<u32, Error> {
        self.last = next_number(self.last, |id| self.all.contains_key(&id));
        let number = Source::Provider(self.last).number();
        let nobody = Asker {
            client: 0,
            origin: SYSTEM,
            cost: 0,
            turn: 0,
        };
        let channel = match channel {
            Boot::Start(c) => set.add(&c, number).map(|()| Channel::Starting(c)),
            Boot::Ready(c) => set.add(&c, number).map(|()| Channel::Ready(c)),
            Boot::Binding(c) => set.add(&c, number).map(|()| Channel::Binding(nobody, c)),
            Boot::Finding(c) => set.add(&c, number).map(|()| Channel::Finding(nobody, c)),
            Boot::Notifying(c) => set.add(&c, number).map(|()| Channel::Notifying(nobody, c)),
            Boot::Registering(c) => set
                .add(&c, number)
                .map(|()| Channel::Registering(nobody, c)),
            Boot::Deregistering(c) => set
                .add(&c, number)
                .map(|()| Channel::Deregistering(nobody, c)),
            Boot::Linking(c) => set.add(&c, number).map(|()| Channel::Linking(nobody, c)),
            Boot::Reading(c) => set
                .add(&c, number)
                .map(|()| Channel::Reading(nobody, Back::Nothing, c)),
        }?;
        self.insert((0, SYSTEM), path, NAME_SERVER, channel);
        Ok(self.last)
    }

    fn insert(
        &mut self,
        (owner, origin): (u32, u32),
        path: &str,
        contract: &str,
        channel: Channel,
    ) {
        self.all.insert(
            self.last,
            Provider {
                owner,
                origin,
                path: path.into(),
                contract: contract.into(),
                channel,
                queue: Queue::default(),
            },
        );
    }

    /// Closes a provider's channel.
    pub fn remove(&mut self, id: u32) -> Option<Removed> {
        let provider = self.all.remove(&id)?;
        Some(Removed {
            origin: provider.origin,
            path: provider.path,
            lost: provider.channel.lost(),
            waiting: provider.queue.into_requests(),
        })
    }

    /// The client that owns the provider, and the origin that it is charged to.
    pub fn owner(&self, id: u32) -> Option<(u32, u32)> {
        self.all.get(&id).map(|p| (p.owner, p.origin))
    }

    /// The path at which it is registered.
    pub fn path(&self, id: u32) -> Option<&str> {
        self.all.get(&id).map(|p| p.path.as_str())
    }

    /// The contract of a service, as its provider says; `None` for a name server.
    pub fn contract(&self, id: u32) -> Option<&str> {
        let contract = self.all.get(&id).map(|p| p.contract.as_str());
        contract.filter(|name| *name != NAME_SERVER)
    }

    /// The numbers of all name servers.
    pub fn name_servers(&self) -> impl Iterator<Item = (u32, &str)> {
        let all = self.all.iter().filter(|(_, p)| p.contract == NAME_SERVER);
        all.map(|(id, p)| (*id, p.path.as_str()))
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

    /// Takes back the endpoint that waits here while a provider is asked for a link on the way, for
    /// this request of a client's. The provider's answer is nobody's then.
    pub fn reclaim(&mut self, client: u32, turn: u32) -> Option<Back> {
        self.all.values_mut().find_map(|p| match &mut p.channel {
            Channel::Reading(asker, back, _) if (asker.client, asker.turn) == (client, turn) => {
                Some(core::mem::replace(back, Back::Nothing))
            }
            _ => None,
        })
    }

    /// Receives from a provider whose channel is ready.
    pub fn hear(&mut self, id: u32) -> Answer {
        let Some(provider) = self.all.get_mut(&id) else {
            return Answer::Nothing;
        };
        let channel = core::mem::replace(&mut provider.channel, Channel::Gone(None));
        let (next, answer) = channel.hear();
        provider.channel = next;
        provider.advance();
        answer
    }
}
