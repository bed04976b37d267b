//! The server: its clients, providers and watchers, and the loop that serves them.

use crate::budget;
use crate::clients::{Clients, Gone, State};
use crate::parsed::{below, divided, link, search};
use crate::providers::{Answer, NAME_SERVER, Providers};
use crate::registry::{Below, Remote};
use crate::request::{Asker, Asking, Back, Provided, Reply, Verb};
use crate::succession::{self, REGISTRAR};
use crate::watchers::Watchers;
use alloc::collections::BTreeMap;
use core::time::Duration;
use nameserver::grace::Grace;
use nameserver::{HOPS, Tree, follow, origin};
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::provider::asked;
use sing_sdk::set::WaitSet;
use sing_sdk::share::{SYSTEM, Shares};
use sing_sdk::time::{self, Timeout};

/// How long the server waits for memory before it tries again.
const RETRY: Duration = Duration::from_millis(20);

/// The owner of an endpoint in the wait set.
#[derive(Clone, Copy)]
pub enum Source {
    Client(u32),
    Provider(u32),
    Watcher(u32),
    /// The changes below a provider that is a name server.
    Below(u32),
}

impl Source {
    /// Its number in the wait set.
    pub fn number(self) -> u32 {
        match self {
            Source::Client(id) => id << 2,
            Source::Provider(id) => id << 2 | 1,
            Source::Watcher(id) => id << 2 | 2,
            Source::Below(id) => id << 2 | 3,
        }
    }

    fn of(number: u32) -> Source {
        match number & 3 {
            0 => Source::Client(number >> 2),
            1 => Source::Provider(number >> 2),
            2 => Source::Watcher(number >> 2),
            _ => Source::Below(number >> 2),
        }
    }
}

/// A client that asks, and on whose share.
pub type Who = (u32, u32);

/// The name server's state.
pub struct Server {
    /// All channels from which a message or a close is awaited.
    pub(crate) set: WaitSet,
    /// Providers by their numbers; links with who has made them.
    pub(crate) tree: Tree<u32, Who>,
    pub(crate) clients: Clients,
    pub(crate) providers: Providers,
    pub(crate) watchers: Watchers,
    /// The name server at `/`, which serves what nobody else does.
    pub(crate) root: Option<u32>,
    /// Until then what was at `/` is expected back: it closed without a word.
    pub(crate) root_lost: Option<Duration>,
    /// The root mount, while a search has gone past it and it has answered nothing since.
    pub(crate) silent: Option<u32>,
    /// What clients have registered with name servers below, by those and the paths there.
    pub(crate) remote: BTreeMap<(u32, String), Remote>,
    /// Reports of changes from name servers below.
    pub(crate) below: BTreeMap<u32, Below>,
    /// When to take back again what could not be taken back from name servers below.
    pub(crate) orphans: Option<Duration>,
    /// The number of the last request to a provider.
    pub(crate) turn: u32,
    /// Clients that could not be watched any more: closed, and to be removed.
    gone: Vec<u32>,
    /// The accounts of all records, by origin.
    pub(crate) shares: Shares,
    /// The accounts of answers that may not have been received yet, by origin.
    answers: Shares,
    /// While names may be missing, as a predecessor has ended ([`crate::succession`]).
    pub(crate) grace: Option<Grace>,
}

impl Server {
    /// A server without clients.
    ///
    /// # Errors
    /// If memory or handles are short.
    pub fn new() -> Result<Server, Error> {
        sing_sdk::reserve(budget::HEAP)?;
        Ok(Server {
            shares: Shares::new(budget::TOTAL, budget::LEAST),
            answers: Shares::new(budget::ANSWERS, budget::LEAST_ANSWERS),
            set: WaitSet::new()?,
            tree: Tree::default(),
            clients: Clients::default(),
            providers: Providers::default(),
            watchers: Watchers::default(),
            root: None,
            root_lost: None,
            silent: None,
            remote: BTreeMap::new(),
            below: BTreeMap::new(),
            orphans: None,
            turn: 0,
            gone: Vec::new(),
            grace: None,
        })
    }

    /// Mounts a name server that exists from the start.
    pub fn mount(&mut self, at: &str, provider: Provided) {
        succession::keep_boot(&provider);
        let mounted = match path::normalize(at) {
            Some(path) => self.offer((0, SYSTEM), &path, NAME_SERVER, provider),
            None => Err((Refusal::BadPath, provider)),
        };
        if let Err((reason, _)) = mounted {
            eprintln!("nameserver: cannot mount at {at}: {}", Error::from(reason));
        }
    }

    /// Adds a client that exists from the start: it is the system's own. Its further connections
    /// are programs that it has started, each an origin of its own.
    pub fn connect(&mut self, client: NamespaceContract::Exp<NamespaceContract::Start>) {
        self.start(client.send_success(), false);
    }

    /// Serves a name server above this one.
    pub fn connect_above(&mut self, lookup: NamespaceContract::Exp<NamespaceContract::Ready>) {
        self.start(lookup, true);
    }

    fn start(&mut self, client: NamespaceContract::Exp<NamespaceContract::Ready>, above: bool) {
        let id = self.clients.number(&self.shares);
        let taken = self.shares.take(SYSTEM, budget::CLIENT);
        if !taken || !self.admit(id, SYSTEM, above, client) {
            eprintln!("nameserver: no room for a client of the system's own");
        }
    }

    /// Adds a client whose price is already charged to its origin.
    pub(crate) fn admit(
        &mut self,
        id: u32,
        origin: u32,
        above: bool,
        client: NamespaceContract::Exp<NamespaceContract::Ready>,
    ) -> bool {
        let added = self.clients.add(id, origin, above, client, &self.set);
        if added.is_err() {
            let origin = if origin == REGISTRAR { SYSTEM } else { origin };
            self.shares.give_back(origin, budget::CLIENT);
        }
        added.is_ok()
    }

    /// Serves until the last client has closed.
    pub fn run(&mut self) {
        while !self.clients.is_empty() {
            let now = time::uptime();
            let late = self.go_past(now);
            let again = self.try_again(now);
            // Their end may have left something to be done soon.
            if self.remove_gone() {
                continue;
            }
            let due = late.into_iter().chain(again).min();
            let timeout = due.map_or(Timeout::FOREVER, |due| due.saturating_sub(now).into());
            match self.set.wait(timeout) {
                Ok(number) => {
                    self.serve(Source::of(number));
                    self.remove_gone();
                }
                Err(Error::Timeout) => {}
                Err(Error::NoResources) => time::sleep(RETRY),
                Err(e) => {
                    eprintln!("nameserver: cannot wait: {e}");
                    return;
                }
            }
        }
    }

    /// Removes the clients that could not be watched any more. Whether there were any. They are
    /// removed here and not where they close: removing one answers others, which may in turn close.
    fn remove_gone(&mut self) -> bool {
        let any = !self.gone.is_empty();
        while let Some(client) = self.gone.pop() {
            self.leave(client);
        }
        any
    }

    fn serve(&mut self, source: Source) {
        match source {
            Source::Client(id) => self.client(id),
            Source::Provider(id) => {
                self.silent.take_if(|silent| *silent == id);
                match self.providers.hear(id) {
                    Answer::Nothing => {}
                    Answer::Reply(asker, reply) => self.replied(Some(id), asker, reply),
                    Answer::Gone => {
                        self.expect_back(id);
                        self.forget(id);
                    }
                }
            }
            Source::Watcher(id) => {
                if let Some(watched) = self.watchers.hear(id) {
                    self.shares.give_back(watched.origin, watched.cost);
                }
            }
            Source::Below(id) => self.hear_below(id),
        }
    }

    /// The origin of a request: a name server above states it, clients cannot.
    fn origin(&self, client: u32, stated: u32) -> u32 {
        if !self.clients.is_above(client) {
            self.clients.origin(client)
        } else {
            origin::from_above(stated)
        }
    }

    fn client(&mut self, id: u32) {
        use NamespaceContract::exp::Ready as Request;
        let Some(channel) = self.clients.take(id, &self.set) else {
            return self.abandon(id);
        };
        // A message means that it has received the last answer, or has closed.
        let taken = self.clients.took_answer(id);
        self.answers.give_back(self.clients.origin(id), taken);
        let (origin, path, verb, back) = match channel.recv() {
            Request::Bind(path, origin, service, next) => {
                self.clients.put(id, State::Binding(next));
                (origin, asked(&path), Verb::Bind, Back::Service(service))
            }
            Request::Find(spec, at, after, next) => {
                self.clients.put(id, State::Finding(next));
                let (path, verb) = search(&spec, &at, &after).unzip();
                (0, path, verb, Back::Nothing)
            }
            Request::Notify(spec, origin, watcher, next) => {
                self.clients.put(id, State::Notifying(next));
                let (path, pattern) = divided(&spec).unzip();
                let verb = Verb::Notify(pattern);
                (origin, path, verb, Back::Watcher(watcher))
            }
            Request::Register(path, contract, origin, provider, next) => {
                self.clients.put(id, State::Registering(next));
                let contract = contract.get_within(255).unwrap_or_default();
                let verb = Verb::Register { contract, price: 0 };
                (origin, asked(&path), verb, Back::Provider(provider))
            }
            Request::Deregister(path, origin, next) => {
                self.clients.put(id, State::Deregistering(next));
                (origin, asked(&path), Verb::Deregister, Back::Nothing)
            }
            Request::Link(path, target, origin, next) => {
                self.clients.put(id, State::Linking(next));
                let (path, target) = link(&path, &target).unzip();
                let verb = Verb::Link { target, price: 0 };
                (origin, path, verb, Back::Nothing)
            }
            Request::ReadLink(path, next) => {
                self.clients.put(id, State::Reading(next));
                (0, asked(&path), Verb::ReadLink, Back::Nothing)
            }
            Request::Closed => return self.leave(id),
        };
        match path {
            Ok(path) => {
                let asking = Asking {
                    path,
                    hops: 0,
                    mount: 0,
                    verb,
                    turn: 0,
                    server: 0,
                    since: Duration::ZERO,
                };
                self.ask((id, self.origin(id, origin)), asking, back);
            }
            Err(reason) => self.answer(id, Reply::Refused(reason, back)),
        }
    }

    /// A provider has answered, or it has been answered for it if it has gone.
    pub(crate) fn replied(&mut self, provider: Option<u32>, asker: Asker, reply: Reply) {
        self.shares.give_back(asker.origin, asker.cost);
        let Some(mut asking) = self.clients.asking(asker.client, asker.turn) else {
            return;
        };
        let who = (asker.client, asker.origin);
        if let (Verb::Bind, Reply::Done) = (&asking.verb, &reply) {
            return self.answer(who.0, reply);
        }
        match (&mut asking.verb, reply) {
            // Only the root mount serves paths from their first byte on: it has gone, and is expected
            // back.
            (_, Reply::Refused(Refusal::NotFound, back))
                if provider.is_none() && asking.mount == 0 && self.is_expected(who) =>
            {
                self.end(who, asking, Reply::Refused(Refusal::Again, back));
            }
            (Verb::Find(search), reply) if search.union => self.united(who, &asking, reply),
            (Verb::ReadLink, Reply::Link(used, target, _)) => {
                let used = asking.mount.saturating_add(used);
                let known = asking.path.get(..used).is_some();
                let reply = match known && target.block().len() <= path::LONGEST {
                    true => Reply::Link(used, target, Back::Nothing),
                    false => Reply::Refused(Refusal::NotFound, Back::Nothing),
                };
                self.answer(who.0, reply);
            }
            // The path leads through a link of the provider: from there on it is looked up anew.
            (_, Reply::Link(used, target, back)) => {
                let target = target.get_within(path::LONGEST).unwrap_or_default();
                let used = asking.mount.saturating_add(used);
                self.go_on(who, asking, used, &target, back);
            }
            (verb, Reply::Refused(Refusal::IsLink, back))
                if !matches!(verb, Verb::ReadLink) && !self.clients.is_above(who.0) =>
            {
                match provider {
                    Some(provider) => self.read_link(who, provider, asking, back),
                    None => self.end(who, asking, Reply::Refused(Refusal::NotFound, back)),
                }
            }
            (Verb::Find(search), reply) if search.into.is_some() => {
                let reply = below(search, reply);
                self.answer(who.0, reply);
            }
            (_, reply) => self.granted(provider, who, asking, reply),
        }
    }

    /// Goes on where a path leads through a link.
    pub(crate) fn go_on(
        &mut self,
        who: Who,
        mut asking: Asking,
        used: usize,
        target: &str,
        back: Back,
    ) {
        // A name server above knows where absolute links lead.
        if self.clients.is_above(who.0) {
            return self.end(who, asking, Reply::Refused(Refusal::IsLink, back));
        }
        asking.hops += 1;
        match follow(&asking.path, used, target) {
            Ok(_) if asking.hops > HOPS => {
                self.end(who, asking, Reply::Refused(Refusal::Loop, back));
            }
            Ok(path) => {
                asking.path = path;
                self.ask(who, asking, back);
            }
            Err(reason) => self.end(who, asking, Reply::Refused(reason, back)),
        }
    }

    /// Answers a client. A block is charged to its origin until it has received it.
    pub(crate) fn answer(&mut self, client: u32, reply: Reply) {
        let reply = match reply {
            Reply::Refused(Refusal::NotFound, back) if self.in_grace() => {
                Reply::Refused(Refusal::Again, back)
            }
            other => other,
        };
        let (mut reply, mut cost) = (reply, 0);
        let len = match &reply {
            Reply::Found(found) => Some(found.len()),
            Reply::Link(_, target, _) => Some(target.block().len()),
            _ => None,
        };
        if let Some(len) = len {
            cost = budget::answer(len);
            if !self.answers.take(self.clients.origin(client), cost) {
                reply = Reply::Refused(Refusal::NoResources, Back::Nothing);
                cost = 0;
            }
        }
        if let Err(Gone) = self.clients.answer(client, &self.set, reply, cost) {
            self.gone.push(client);
        }
    }

    /// A client has closed; its registrations go with it.
    fn leave(&mut self, id: u32) {
        if let Some(left) = self.clients.remove(id) {
            self.shares.give_back(left.origin, budget::CLIENT);
            self.answers.give_back(left.origin, left.answer);
        }
        self.forget_all(id);
    }

    /// A client has closed while it waits for an answer. The answer may never come: from a silent
    /// provider, or from one that the client itself has registered and whose other end is in a
    /// queue here. So nothing is kept for it except a request that a provider is working on.
    fn abandon(&mut self, id: u32) {
        self.forget_all(id);
        if let Some(request) = self.providers.withdraw(id) {
            self.unanswered(request);
        }
    }
}
