//! Clients, each in its state of the conversation.

use alloc::collections::BTreeMap;
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;

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
    pub fn add(&mut self, channel: NamespaceContract::Exp<NamespaceContract::Ready>) {
        self.last += 1;
        self.all.insert(self.last, Client::Ready(channel));
    }

    /// Number of clients.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Names every client whose next word is awaited.
    pub fn waiting(&self, mut watch: impl FnMut(u32, Handle)) {
        for (id, client) in &self.all {
            if let Client::Ready(channel) = client {
                watch(*id, channel.handle());
            }
        }
    }

    /// Takes the channel of a client that may ask, until [`Clients::put`].
    pub fn take(&mut self, id: u32) -> Option<NamespaceContract::Exp<NamespaceContract::Ready>> {
        match self.all.remove(&id)? {
            Client::Ready(channel) => Some(channel),
            other => {
                self.all.insert(id, other);
                None
            }
        }
    }

    /// Gives a client's channel back, in its new state.
    pub fn put(&mut self, id: u32, client: Client) {
        self.all.insert(id, client);
    }

    /// Answers a bind: done, or refused with the endpoint that comes back.
    pub fn bound(&mut self, id: u32, refused: Option<Service>) {
        if let Some(Client::Binding(channel)) = self.all.remove(&id) {
            let channel = match refused {
                None => channel.send_ack_bind(),
                Some(service) => channel.send_nak_bind(service),
            };
            self.put(id, Client::Ready(channel));
        }
    }

    /// Answers a find.
    pub fn found(&mut self, id: u32, names: Option<Text>) {
        if let Some(Client::Finding(channel)) = self.all.remove(&id) {
            let channel = match names {
                Some(names) => channel.send_ack_find(names),
                None => channel.send_nak_find(),
            };
            self.put(id, Client::Ready(channel));
        }
    }
}
