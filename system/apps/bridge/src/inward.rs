//! The side of the clients: a service that is registered here and answered elsewhere.
//!
//! Invariants:
//! - A request is sent once. Without an answer its client's channel is closed, at the end of a
//!   time-out or with the connection: the client knows that it was carried out once at most.
//! - What comes back is for a request that waits, and one of the answers of its contract, or the
//!   client's channel is closed; the other clients go on.
//! - At most [`WAITING`] requests wait, and of one origin no more than its share of those; the
//!   client of a further one is closed.

use crate::attempts::Attempts;
use crate::link::{Link, Server};
use crate::shape::{Bridged, Event};
use crate::{CONTRACT, MESSAGE, REFUSED};
use alloc::collections::BTreeMap;
use bridge::{MOST, Message, Said};
use core::time::Duration;
use sing_sdk::entropy;
use sing_sdk::io::Reader;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::share;
use sing_sdk::time::{uptime, utc};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most requests that wait for an answer.
const WAITING: usize = 64;
/// Those that each origin may have while there is room, whatever its share.
const LEAST: usize = 4;

struct Waiting<A> {
    key: usize,
    origin: u32,
    client: A,
    end: Duration,
}

struct Inward<B: Bridged> {
    names: Names,
    provider: Provider<B::Start, B::Ready>,
    attempts: Attempts,
    subject: String,
    /// Subjects of answers begin so; nobody can guess it.
    inbox: String,
    link: Option<Link>,
    /// When it is connected next.
    next: Duration,
    number: u64,
    waiting: BTreeMap<u64, Waiting<B::Asked>>,
}

/// A word that others do not know.
fn secret(names: &mut Names) -> String {
    let drawn = entropy::draw(names, 12, uptime() + Duration::from_secs(1));
    let bytes = drawn.unwrap_or_else(|_| {
        // A machine without a source of random bytes: at least no two bridges have the same.
        let seed = utc().as_nanos() as u64 ^ sing_sdk::time::cycle_count();
        seed.to_le_bytes().into()
    });
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Stands for the service until the name server has gone.
pub fn run<B: Bridged>(
    mut names: Names,
    path: &str,
    subject: &str,
    server: Server,
) -> Result<i32, Error> {
    let provider = B::register(&mut names, path)?;
    let inbox = format!("_INBOX.{}", secret(&mut names));
    let mut inward = Inward::<B> {
        names,
        provider,
        attempts: Attempts::new(server),
        subject: subject.into(),
        inbox,
        link: None,
        next: Duration::ZERO,
        number: 0,
        waiting: BTreeMap::new(),
    };
    // What is waited for while there is no connection: nothing ever comes.
    let (_held, idle) = PipeContract::new_channel()?;
    let idle = Reader::new(idle);
    loop {
        inward.connect();
        let soonest = inward.waiting.values().map(|w| w.end).min();
        let again = inward.link.is_none().then_some(inward.next);
        let end = soonest.into_iter().chain(again).min();
        let end = end.unwrap_or_else(|| uptime() + Duration::from_secs(60));
        let input = inward.link.as_ref().map_or(&idle, |link| &link.input);
        match B::next(&mut inward.provider, input, end) {
            Event::Asked(key, message, arguments, client) => {
                inward.ask(key, message, &arguments, client);
            }
            Event::Lookup => {
                let one = |path: &str| (path == "/").then_some(());
                if inward.provider.answer(one).is_err() {
                    inward.provider.come_back(&mut inward.names)?;
                }
            }
            Event::Input => inward.hear(),
            Event::Gone | Event::Late => {}
        }
        inward.expire();
    }
}

impl<B: Bridged> Inward<B> {
    /// Connects, if there is no connection and it is time.
    fn connect(&mut self) {
        if self.link.is_some() || uptime() < self.next {
            return;
        }
        let answers = bridge::subscribe(&format!("{}.*", self.inbox), None);
        match self.attempts.connect(&mut self.names, &answers) {
            Ok(link) => self.link = Some(link),
            Err(why) => self.lose(&why),
        }
    }

    /// Gives up the connection, and whatever waits for an answer over it.
    fn lose(&mut self, why: &str) {
        self.link = None;
        self.next = uptime() + self.attempts.ended(why);
        for (_, waiting) in core::mem::take(&mut self.waiting) {
            self.close(waiting.key, waiting.client);
        }
    }

    fn close(&mut self, key: usize, client: B::Asked) {
        drop(client);
        self.provider.clients.forget(key);
    }

    /// Whether one more request of this origin may wait.
    fn has_room(&self, origin: u32) -> bool {
        let same = self.waiting.values().filter(|w| w.origin == origin).count();
        let free = WAITING.saturating_sub(self.waiting.len());
        share::allows(origin, same, 1, free, LEAST)
    }

    /// Sends a client's request.
    fn ask(&mut self, key: usize, message: &str, arguments: &[u8], client: B::Asked) {
        let origin = self.provider.origin(key);
        let room = self.has_room(origin);
        let why = match &mut self.link {
            None => "there is no connection",
            Some(_) if !room => "too many requests wait for an answer",
            Some(_) if arguments.len() > MOST => "the message is longer than a bridge carries",
            Some(link) => {
                self.number += 1;
                let reply = format!("{}.{}", self.inbox, self.number);
                let headers = [(CONTRACT, B::IDENTITY), (MESSAGE, message)];
                let bytes = bridge::publish(&self.subject, Some(&reply), &headers, arguments);
                let end = uptime() + PATIENCE;
                let sent = link.send(&bytes);
                let waiting = Waiting {
                    key,
                    origin,
                    client,
                    end,
                };
                self.waiting.insert(self.number, waiting);
                if let Err(why) = sent {
                    self.lose(&why);
                }
                return;
            }
        };
        sing_sdk::log!("{message} for {}: {why}", self.subject);
        self.close(key, client);
    }

    /// Takes what the server says.
    fn hear(&mut self) {
        let mut heard = Vec::new();
        let outcome = match &mut self.link {
            None => return,
            Some(link) => link.receive().and_then(|()| {
                while let Some(said) = link.said().map_err(|bad| bad.to_string())? {
                    link.keep(&said)?;
                    match said {
                        Said::Message(message) => heard.push((message, true)),
                        Said::Useless(message) => heard.push((message, false)),
                        _ => {}
                    }
                }
                Ok(())
            }),
        };
        for (message, useful) in heard {
            self.answered(&message, useful);
        }
        if let Err(why) = outcome {
            self.lose(&why);
        }
    }

    /// Passes an answer on to the client that waits for it.
    fn answered(&mut self, message: &Message, useful: bool) {
        let number = message.subject.strip_prefix(&self.inbox);
        let number = number.and_then(|rest| rest.strip_prefix('.')?.parse::<u64>().ok());
        // One that comes too late is nobody's.
        let Some(Waiting { key, client, .. }) = number.and_then(|n| self.waiting.remove(&n)) else {
            return;
        };
        let name = message.header(MESSAGE).unwrap_or_default();
        let why = if !useful {
            "the answer is longer than a bridge carries, or its headers are none"
        } else if message.status == Some(503) {
            "nobody serves it"
        } else if let Some(refused) = message.header(REFUSED) {
            let plain = |c: char| if c.is_control() { '?' } else { c };
            let said: String = refused.chars().take(200).map(plain).collect();
            sing_sdk::log!("{}: refused by the other side: {said}", self.subject);
            return self.close(key, client);
        } else if message.header(CONTRACT) != Some(B::IDENTITY) {
            "the answer is of another contract, or another version of it"
        } else {
            match B::answer(client, name, &message.payload) {
                Ok(ready) => return self.provider.clients.put(key, ready),
                Err(fault) => {
                    sing_sdk::log!("{}: an answer of no use: {}", self.subject, fault.text());
                    self.provider.clients.forget(key);
                    return;
                }
            }
        };
        sing_sdk::log!("{}: {why}", self.subject);
        self.close(key, client);
    }

    /// Closes the channels of those who have waited long enough.
    fn expire(&mut self) {
        let now = uptime();
        let late = self.waiting.iter().filter(|(_, w)| w.end <= now);
        let late: Vec<u64> = late.map(|(number, _)| *number).collect();
        for number in late {
            if let Some(waiting) = self.waiting.remove(&number) {
                sing_sdk::log!("{}: no answer in {PATIENCE:?}", self.subject);
                self.close(waiting.key, waiting.client);
            }
        }
    }
}
