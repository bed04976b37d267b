//! Clients, each in its state of the conversation.

use crate::server::Source;
use alloc::collections::BTreeMap;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// A client's channel.
pub enum Client {
    /// It may ask.
    Ready(NamespaceContract::Exp<NamespaceContract::Ready>),
    /// It waits for the answer to a bind.
    Binding(NamespaceContract::Exp<NamespaceContract::Binding>),
    /// It waits for the answer to a find.
    Finding(NamespaceContract::Exp<NamespaceContract::Finding>),
}

/// All clients, by numbers that are never used again: an answer that comes late finds nobody.
#[derive(Default)]
pub struct Clients {
    all: BTreeMap<u32, Client>,
    last: u32,
}

impl Clients {
    /// Takes a client.
    pub fn add(
        &mut self,
        channel: NamespaceContract::Exp<NamespaceContract::Ready>,
        set: &WaitSet,
    ) {
        self.last += 1;
        self.ready(self.last, channel, set);
    }

    /// A client may ask, and its next word is awaited. One that cannot be watched is closed.
    fn ready(
        &mut self,
        id: u32,
        channel: NamespaceContract::Exp<NamespaceContract::Ready>,
        set: &WaitSet,
    ) {
        if set.add(&channel, Source::Client(id).number()).is_ok() {
            self.all.insert(id, Client::Ready(channel));
        }
    }

    /// Number of clients.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes the channel of a client that may ask, until [`Clients::put`]. One that waits for an answer has gone away,
    /// which is looked at when there is one: until then it is not watched.
    pub fn take(
        &mut self,
        id: u32,
        set: &WaitSet,
    ) -> Option<NamespaceContract::Exp<NamespaceContract::Ready>> {
        let other = match self.all.remove(&id)? {
            Client::Ready(channel) => return Some(channel),
            other => other,
        };
        match &other {
            Client::Ready(_) => false,
            Client::Binding(channel) => set.remove(channel),
            Client::Finding(channel) => set.remove(channel),
        };
        self.all.insert(id, other);
        None
    }

    /// Gives a client's channel back, in its new state.
    pub fn put(&mut self, id: u32, client: Client) {
        self.all.insert(id, client);
    }

    /// Answers a bind: done, or refused with the endpoint that comes back.
    pub fn bound(&mut self, id: u32, set: &WaitSet, refused: Option<Service>) {
        if let Some(Client::Binding(channel)) = self.all.remove(&id) {
            let channel = match refused {
                None => channel.send_ack_bind(),
                Some(service) => channel.send_nak_bind(service),
            };
            self.ready(id, channel, set);
        }
    }

    /// Answers a find.
    pub fn found(&mut self, id: u32, set: &WaitSet, names: Option<Text>) {
        if let Some(Client::Finding(channel)) = self.all.remove(&id) {
            let channel = match names {
                Some(names) => channel.send_ack_find(names),
                None => channel.send_nak_find(),
            };
            self.ready(id, channel, set);
        }
    }
}
