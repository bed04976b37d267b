//! Providers: those that serve a part of the name space, each asked for one thing at a time.

use crate::server::Source;
use alloc::collections::{BTreeMap, VecDeque};
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// Requests that may wait for one provider; more are refused.
const MAX_WAITING: usize = 256;

/// What a client asked of a provider. The path lies in the exchange heap already, so that passing the request on cannot
/// fail for want of memory, with nobody to tell the client.
pub enum Request {
    /// Bind this endpoint.
    Bind {
        client: u32,
        path: Text,
        service: Service,
    },
    /// List this path.
    Find { client: u32, path: Text },
}

/// What a provider says.
pub enum Answer {
    /// Nothing that concerns a client.
    Nothing,
    /// To a bind: done, or refused with the endpoint that comes back.
    Bound {
        client: u32,
        refused: Option<Service>,
    },
    /// To a find.
    Found { client: u32, names: Option<Text> },
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

struct Provider {
    owner: u32,
    channel: Channel,
    queue: VecDeque<Request>,
}

impl Provider {
    /// Sends the next request where the provider can take one.
    fn advance(&mut self) {
        self.channel = match core::mem::replace(&mut self.channel, Channel::Gone) {
            Channel::Ready(channel) => match self.queue.pop_front() {
                None => Channel::Ready(channel),
                Some(request) => send(channel, request),
            },
            busy => busy,
        };
    }
}

fn send(channel: NamespaceContract::Imp<NamespaceContract::Ready>, request: Request) -> Channel {
    match request {
        Request::Bind {
            client,
            path,
            service,
        } => Channel::Binding(client, channel.send_bind(path, service)),
        Request::Find { client, path } => Channel::Finding(client, channel.send_find(path)),
    }
}

/// All providers.
#[derive(Default)]
pub struct Providers {
    all: BTreeMap<u32, Provider>,
    last: u32,
}

impl Providers {
    /// Takes a provider of a client's; its number. Client 0 stands for the system itself.
    pub fn add(
        &mut self,
        owner: u32,
        channel: NamespaceContract::Imp<NamespaceContract::Start>,
        set: &WaitSet,
    ) -> u32 {
        self.last += 1;
        // Each may answer, or go away, in every state. One that cannot be watched is closed.
        let channel = match set.add(&channel, Source::Provider(self.last).number()) {
            Ok(()) => Channel::Starting(channel),
            Err(_) => Channel::Gone,
        };
        self.all.insert(
            self.last,
            Provider {
                owner,
                channel,
                queue: VecDeque::new(),
            },
        );
        self.last
    }

    /// Closes a provider's channel; what waited for it.
    pub fn remove(&mut self, id: u32) -> impl Iterator<Item = Request> + use<> {
        self.all.remove(&id).into_iter().flat_map(|p| p.queue)
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

    /// Asks a provider, now or when it has answered what was asked before; gives the request back where it
    /// has too much to do.
    pub fn request(&mut self, id: u32, request: Request) -> Option<Request> {
        match self.all.get_mut(&id) {
            Some(provider) if provider.queue.len() < MAX_WAITING => {
                provider.queue.push_back(request);
                provider.advance();
                None
            }
            _ => Some(request),
        }
    }

    /// Receives from a provider whose channel is ready.
    pub fn hear(&mut self, id: u32) -> Answer {
        use NamespaceContract::imp;
        let Some(provider) = self.all.get_mut(&id) else {
            return Answer::Nothing;
        };
        let (next, answer) = match core::mem::replace(&mut provider.channel, Channel::Gone) {
            Channel::Starting(channel) => match channel.recv_success() {
                Ok(channel) => (Channel::Ready(channel), Answer::Nothing),
                Err(Closed) => (Channel::Gone, Answer::Gone { waiting: None }),
            },
            Channel::Binding(client, channel) => match channel.recv() {
                imp::Binding::AckBind(channel) => (
                    Channel::Ready(channel),
                    Answer::Bound {
                        client,
                        refused: None,
                    },
                ),
                imp::Binding::NakBind(service, channel) => (
                    Channel::Ready(channel),
                    Answer::Bound {
                        client,
                        refused: Some(service),
                    },
                ),
                imp::Binding::Closed => (
                    Channel::Gone,
                    Answer::Gone {
                        waiting: Some((client, true)),
                    },
                ),
            },
            Channel::Finding(client, channel) => match channel.recv() {
                imp::Finding::AckFind(names, channel) => (
                    Channel::Ready(channel),
                    Answer::Found {
                        client,
                        names: Some(names),
                    },
                ),
                imp::Finding::NakFind(channel) => (
                    Channel::Ready(channel),
                    Answer::Found {
                        client,
                        names: None,
                    },
                ),
                imp::Finding::Closed => (
                    Channel::Gone,
                    Answer::Gone {
                        waiting: Some((client, false)),
                    },
                ),
            },
            // It has nothing to say in this state, so its channel is closed.
            Channel::Ready(_) | Channel::Gone => (Channel::Gone, Answer::Gone { waiting: None }),
        };
        provider.channel = next;
        provider.advance();
        answer
    }
}
