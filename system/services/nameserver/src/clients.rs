//! Clients, each in its state of the conversation, with whose share it is on.

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
    /// What the last answer costs, which it may not have taken yet.
    answer: usize,
}

/// What a client had that has gone.
pub struct Left {
    /// Whose share it was on.
    pub origin: u32,
    /// What an answer costs that it has not taken.
    pub answer: usize,
}

/// All clients. One that leaves while it waits for an answer stays until that has come, so that no number has a second owner
/// while anything is on its way to the first.
#[derive(Default)]
pub struct Clients {
    all: BTreeMap<u32, Client>,
    last: u32,
}

/// The client has gone: what it had goes with it.
#[must_use]
pub struct Gone;

impl Clients {
    /// A number for a client to come.
    pub fn number(&mut self, shares: &Shares) -> u32 {
        // An origin is called after its first client, and may outlive it.
        let taken = |id| self.all.contains_key(&id) || shares.of(id) > 0;
        self.last = next_number(self.last, taken);
        self.last
    }

    /// Takes a client under a number.
    ///
    /// # Errors
    /// Where it cannot be watched: it is closed.
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

    /// Whose share the client is on.
    pub fn origin(&self, id: u32) -> u32 {
        // A number that nobody has is on nobody's share, and no origin's number.
        self.all.get(&id).map_or(u32::MAX, |c| c.origin)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes the channel of a client that may ask, until [`Clients::put`] or [`Clients::remove`]. One that waits for an answer has
    /// gone away, which is looked at when there is one: until then it is not watched.
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

    /// Takes a client out.
    pub fn remove(&mut self, id: u32) -> Option<Left> {
        let Client { origin, answer, .. } = self.all.remove(&id)?;
        Some(Left { origin, answer })
    }

    /// A client has taken its last answer; what that cost.
    pub fn took_answer(&mut self, id: u32) -> usize {
        let client = self.all.get_mut(&id);
        client.map_or(0, |c| core::mem::take(&mut c.answer))
    }

    /// A client may ask again, and its next word is awaited.
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
    /// Where the client cannot be watched any more.
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

    /// Answers a find. What the answer costs is kept until the client has taken it.
    ///
    /// # Errors
    /// Where the client cannot be watched any more.
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
