//! Clients, each in its state of the conversation, with its origin.

use crate::server::Source;
use alloc::collections::BTreeMap;
use nameserver::next_number;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;
use sing_sdk::share::Shares;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// A client's channel.
pub enum State {
    /// It may ask.
    Ready(NamespaceContract::Exp<NamespaceContract::Ready>),
    /// It waits for the answer to a bind.
    Binding(NamespaceContract::Exp<NamespaceContract::Binding>),
    /// It waits for the answer to a find.
    Finding(NamespaceContract::Exp<NamespaceContract::Finding>),
}

struct Client {
    origin: u32,
    /// `None` while it is served.
    state: Option<State>,
    /// The price of the last answer, which it may not have received yet.
    answer: usize,
}

/// The charges of a removed client.
pub struct Left {
    /// Its origin.
    pub origin: u32,
    /// The price of an answer that it has not received.
    pub answer: usize,
}

/// All clients. One that closes while it waits for an answer stays until the answer has come, so
/// that its number is not reused while a message is on its way to it.
#[derive(Default)]
pub struct Clients {
    all: BTreeMap<u32, Client>,
    last: u32,
}

/// The client has closed; its records go with it.
#[must_use]
pub struct Gone;

impl Clients {
    /// A number for a new client.
    pub fn number(&mut self, shares: &Shares) -> u32 {
        // An origin has the number of its first client, and may outlive it.
        let taken = |id| self.all.contains_key(&id) || shares.of(id) > 0;
        self.last = next_number(self.last, taken);
        self.last
    }

    /// Takes a client under a number.
    ///
    /// # Errors
    /// If it cannot be watched; it is then closed.
    pub fn add(
        &mut self,
        id: u32,
        origin: u32,
        channel: NamespaceContract::Exp<NamespaceContract::Ready>,
        set: &WaitSet,
    ) -> Result<(), Error> {
        set.add(&channel, Source::Client(id).number())?;
        let client = Client {
            origin,
            state: Some(State::Ready(channel)),
            answer: 0,
        };
        self.all.insert(id, client);
        Ok(())
    }

    /// The origin of the client.
    pub fn origin(&self, id: u32) -> u32 {
        // An unused number has no origin, and is the number of none.
        self.all.get(&id).map_or(u32::MAX, |c| c.origin)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes the channel of a client that may ask, until [`Clients::put`] or [`Clients::remove`]. A
    /// client that closes while it waits for an answer is noticed with the answer: until then it is
    /// not watched.
    pub fn take(
        &mut self,
        id: u32,
        set: &WaitSet,
    ) -> Option<NamespaceContract::Exp<NamespaceContract::Ready>> {
        let client = self.all.get_mut(&id)?;
        match client.state.take() {
            Some(State::Ready(channel)) => return Some(channel),
            Some(State::Binding(channel)) => {
                set.remove(&channel);
                client.state = Some(State::Binding(channel));
            }
            Some(State::Finding(channel)) => {
                set.remove(&channel);
                client.state = Some(State::Finding(channel));
            }
            None => {}
        }
        None
    }

    /// Gives a client's channel back, in its new state.
    pub fn put(&mut self, id: u32, state: State) {
        if let Some(client) = self.all.get_mut(&id) {
            client.state = Some(state);
        }
    }

    /// Removes a client.
    pub fn remove(&mut self, id: u32) -> Option<Left> {
        let Client { origin, answer, .. } = self.all.remove(&id)?;
        Some(Left { origin, answer })
    }

    /// A client has received its last answer; returns the price of that.
    pub fn took_answer(&mut self, id: u32) -> usize {
        let client = self.all.get_mut(&id);
        client.map_or(0, |c| core::mem::take(&mut c.answer))
    }

    /// A client may ask again, and is watched again.
    fn ready(
        &mut self,
        id: u32,
        channel: NamespaceContract::Exp<NamespaceContract::Ready>,
        set: &WaitSet,
    ) -> Result<(), Gone> {
        set.add(&channel, Source::Client(id).number())
            .map_err(|_| Gone)?;
        self.put(id, State::Ready(channel));
        Ok(())
    }

    /// Answers a bind: done, or refused with the endpoint that comes back.
    ///
    /// # Errors
    /// If the client cannot be watched any more.
    pub fn bound(
        &mut self,
        id: u32,
        set: &WaitSet,
        refused: Option<(Refusal, Service)>,
    ) -> Result<(), Gone> {
        match self.all.get_mut(&id).and_then(|c| c.state.take()) {
            Some(State::Binding(channel)) => {
                let channel = match refused {
                    None => channel.send_ack_bind(),
                    Some((reason, service)) => channel.send_nak_bind(reason, service),
                };
                self.ready(id, channel, set)
            }
            Some(other) => {
                self.put(id, other);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Answers a find. The answer is charged until the client has received it.
    ///
    /// # Errors
    /// If the client cannot be watched any more.
    pub fn found(
        &mut self,
        id: u32,
        set: &WaitSet,
        names: Result<(Text, usize), Refusal>,
    ) -> Result<(), Gone> {
        match self.all.get_mut(&id).and_then(|c| c.state.take()) {
            Some(State::Finding(channel)) => {
                let channel = match names {
                    Ok((names, cost)) => {
                        if let Some(client) = self.all.get_mut(&id) {
                            client.answer = cost;
                        }
                        channel.send_ack_find(names)
                    }
                    Err(reason) => channel.send_nak_find(reason),
                };
                self.ready(id, channel, set)
            }
            Some(other) => {
                self.put(id, other);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
