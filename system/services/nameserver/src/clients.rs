//! Clients, each in its state of the conversation, with its origin.

use crate::request::{Asking, Back, Reply};
use crate::server::Source;
use crate::succession::REGISTRAR;
use NamespaceContract::{
    Binding, Deregistering, Exp, Finding, Linking, Notifying, Reading, Ready, Registering,
};
use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;
use nameserver::{next_number, origin};
use sing_sdk::legacy;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;
use sing_sdk::share::{SYSTEM, Shares};

/// A client's channel: it may ask, or waits for an answer.
pub enum State {
    Ready(Exp<Ready>),
    Binding(Exp<Binding>),
    Finding(Exp<Finding>),
    Notifying(Exp<Notifying>),
    Registering(Exp<Registering>),
    Deregistering(Exp<Deregistering>),
    Linking(Exp<Linking>),
    Reading(Exp<Reading>),
}

impl State {
    /// No longer watches the channel.
    fn unwatch(&self, set: &WaitSet) {
        match self {
            State::Ready(channel) => set.remove(channel),
            State::Binding(channel) => set.remove(channel),
            State::Finding(channel) => set.remove(channel),
            State::Notifying(channel) => set.remove(channel),
            State::Registering(channel) => set.remove(channel),
            State::Deregistering(channel) => set.remove(channel),
            State::Linking(channel) => set.remove(channel),
            State::Reading(channel) => set.remove(channel),
        };
    }

    /// Sends the answer; `None` for one that does not belong to the request.
    fn answer(self, reply: Reply) -> Option<Exp<Ready>> {
        Some(match (self, reply) {
            (State::Binding(channel), Reply::Done) => channel.send_ack_bind(),
            (State::Binding(channel), Reply::Refused(reason, Back::Service(service))) => {
                channel.send_nak_bind(reason, service)
            }
            (State::Finding(channel), Reply::Found(f)) => {
                channel.send_ack_find(f.count, f.results, f.text, f.at, f.after)
            }
            (State::Finding(channel), Reply::Refused(reason, _)) => channel.send_nak_find(reason),
            (State::Notifying(channel), Reply::Done) => channel.send_ack_notify(),
            (State::Notifying(channel), Reply::Refused(reason, Back::Watcher(watcher))) => {
                channel.send_nak_notify(reason, watcher)
            }
            (State::Registering(channel), Reply::Done) => channel.send_ack_register(),
            (State::Registering(channel), Reply::Refused(reason, Back::Provider(provider))) => {
                channel.send_nak_register(reason, provider)
            }
            (State::Deregistering(channel), Reply::Done) => channel.send_ack_deregister(),
            (State::Deregistering(channel), Reply::Refused(reason, _)) => {
                channel.send_nak_deregister(reason)
            }
            (State::Linking(channel), Reply::Done) => channel.send_ack_link(),
            (State::Linking(channel), Reply::Refused(reason, _)) => channel.send_nak_link(reason),
            (State::Reading(channel), Reply::Link(used, target, _)) => {
                channel.send_ack_read_link(used as u32, target)
            }
            (State::Reading(channel), Reply::Refused(reason, _)) => {
                channel.send_nak_read_link(reason)
            }
            _ => return None,
        })
    }
}

struct Client {
    origin: u32,
    /// It is a name server above this one, whose clients' origins it states.
    above: bool,
    /// It is the system's own and registers names, as the service manager does.
    registers: bool,
    /// `None` while it is served.
    state: Option<State>,
    /// What a provider has been asked for it.
    asking: Option<Asking>,
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
    /// Those that wait for providers: until when, and which.
    waits: BTreeSet<(Duration, u32)>,
}

/// How long a search waits for a name server below, or the root mount, to find its part.
const PART: Duration = Duration::from_secs(2);
/// How long any other request waits for a provider. A service that is started for it, or again, has
/// five seconds for that.
const ANSWER: Duration = Duration::from_secs(10);

/// Until when a request waits.
fn until(asking: &Asking) -> Duration {
    asking.since + if asking.is_part() { PART } else { ANSWER }
}

/// The client has closed; its records go with it.
#[must_use]
pub struct Gone;

impl Clients {
    /// A number for a new client.
    pub fn number(&mut self, shares: &Shares) -> u32 {
        // An origin has the number of its first client, and may outlive it.
        let kept = |id| shares.of(id) > 0 || shares.of(origin::of_service(id)) > 0;
        let taken = |id| self.all.contains_key(&id) || kept(id);
        self.last = next_number(self.last, taken);
        self.last
    }

    /// Takes a client under a number. [`REGISTRAR`] stands for the system's origin.
    ///
    /// # Errors
    /// If it cannot be watched; it is then closed.
    pub fn add(
        &mut self,
        id: u32,
        origin: u32,
        above: bool,
        channel: Exp<Ready>,
        set: &WaitSet,
    ) -> Result<(), Error> {
        set.add(&channel, Source::Client(id).number())?;
        let (origin, registers) = match origin {
            REGISTRAR => (SYSTEM, true),
            origin => (origin, false),
        };
        legacy::keep(&channel, if registers { REGISTRAR } else { origin });
        let client = Client {
            origin,
            above,
            registers,
            state: Some(State::Ready(channel)),
            asking: None,
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

    /// Whether the client is a name server above this one.
    pub fn is_above(&self, id: u32) -> bool {
        self.all.get(&id).is_some_and(|c| c.above)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes the channel of a client that may ask, until [`Clients::put`] or [`Clients::remove`]. A
    /// client that closes while it waits for an answer is noticed with the answer: until then it is
    /// not watched.
    pub fn take(&mut self, id: u32, set: &WaitSet) -> Option<Exp<Ready>> {
        let client = self.all.get_mut(&id)?;
        match client.state.take()? {
            State::Ready(channel) => Some(channel),
            waiting => {
                waiting.unwatch(set);
                client.state = Some(waiting);
                None
            }
        }
    }

    /// Gives a client's channel back, in its new state.
    pub fn put(&mut self, id: u32, state: State) {
        if let Some(client) = self.all.get_mut(&id) {
            client.state = Some(state);
        }
    }

    /// Keeps what has been asked for a client.
    pub fn keep(&mut self, id: u32, asking: Asking) {
        if let Some(client) = self.all.get_mut(&id) {
            self.waits.insert((until(&asking), id));
            client.asking = Some(asking);
        }
    }

    /// What has been asked for a client, in the request with this number.
    pub fn asking(&mut self, id: u32, turn: u32) -> Option<Asking> {
        let client = self.all.get_mut(&id)?;
        let asking = client.asking.take_if(|asking| asking.turn == turn)?;
        self.waits.remove(&(until(&asking), id));
        Some(asking)
    }

    /// A request that has waited for long enough, which ends now.
    pub fn late(&mut self, now: Duration) -> Option<(u32, Asking)> {
        let &(until, id) = self.waits.first().filter(|(until, _)| *until <= now)?;
        self.waits.remove(&(until, id));
        let client = self.all.get_mut(&id)?;
        Some((id, client.asking.take()?))
    }

    /// When the next request will have waited for long enough.
    pub fn next_late(&self) -> Option<Duration> {
        self.waits.first().map(|(until, _)| *until)
    }

    /// Notes that a client registers names: for a successor of this name server, too.
    pub fn registers(&mut self, id: u32) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        if client.origin == SYSTEM && !client.above && !client.registers {
            client.registers = true;
            if let Some(State::Registering(channel)) = &client.state {
                legacy::keep(channel, REGISTRAR);
            }
        }
    }

    /// Whether a client of the system's own registers names, or has done so before.
    pub fn is_registrar(&self, id: u32) -> bool {
        self.all.get(&id).is_some_and(|c| c.registers)
    }

    /// Removes a client.
    pub fn remove(&mut self, id: u32) -> Option<Left> {
        let removed = self.all.remove(&id)?;
        if let Some(asking) = &removed.asking {
            self.waits.remove(&(until(asking), id));
        }
        let Client { origin, answer, .. } = removed;
        Some(Left { origin, answer })
    }

    /// A client has received its last answer; returns the price of that.
    pub fn took_answer(&mut self, id: u32) -> usize {
        let client = self.all.get_mut(&id);
        client.map_or(0, |c| core::mem::take(&mut c.answer))
    }

    /// Answers a client, which may then ask again and is watched again. The price of the answer is
    /// charged until it has received it.
    ///
    /// # Errors
    /// If the client cannot be watched any more.
    pub fn answer(
        &mut self,
        id: u32,
        set: &WaitSet,
        reply: Reply,
        cost: usize,
    ) -> Result<(), Gone> {
        let Some(client) = self.all.get_mut(&id) else {
            return Ok(());
        };
        let Some(state) = client.state.take() else {
            return Ok(());
        };
        client.answer = cost;
        let channel = state.answer(reply).ok_or(Gone)?;
        set.add(&channel, Source::Client(id).number())
            .map_err(|_| Gone)?;
        client.state = Some(State::Ready(channel));
        Ok(())
    }
}
