//! The server: its clients, providers and watchers, and the loop that serves them.

use crate::budget;
use crate::clients::{Clients, Gone, State};
use crate::providers::{Answer, Asked, Asker, Providers, Request};
use crate::watchers::Watchers;
use core::time::Duration;
use nameserver::{Place, Tree};
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::provider::{self, asked};
use sing_sdk::set::WaitSet;
use sing_sdk::share::{SYSTEM, Shares};
use sing_sdk::time::{self, Timeout};

/// How long the server waits for memory before it tries again.
const RETRY: Duration = Duration::from_millis(20);

type Service = ServiceContract::Exp<ServiceContract::Start>;
type Provided = NamespaceContract::Imp<NamespaceContract::Start>;

/// The owner of an endpoint in the wait set.
#[derive(Clone, Copy)]
pub enum Source {
    Client(u32),
    Provider(u32),
    Watcher(u32),
}

impl Source {
    /// Its number in the wait set.
    pub fn number(self) -> u32 {
        match self {
            Source::Client(id) => id << 2,
            Source::Provider(id) => id << 2 | 1,
            Source::Watcher(id) => id << 2 | 2,
        }
    }

    fn of(number: u32) -> Source {
        match number & 3 {
            0 => Source::Client(number >> 2),
            1 => Source::Provider(number >> 2),
            _ => Source::Watcher(number >> 2),
        }
    }
}

/// The name server's state.
pub struct Server {
    /// All channels from which a message or a close is awaited.
    set: WaitSet,
    tree: Tree<u32>,
    clients: Clients,
    providers: Providers,
    watchers: Watchers,
    /// Clients that could not be watched any more: closed, and to be removed.
    gone: Vec<u32>,
    /// The accounts of all records, by origin.
    shares: Shares,
    /// The accounts of answers that may not have been received yet, by origin.
    answers: Shares,
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
            gone: Vec::new(),
        })
    }

    /// Mounts a provider that exists from the start.
    pub fn mount(&mut self, at: &str, provider: Provided) {
        let mounted = asked_at(path::normalize(at)).and_then(|at| {
            self.offer(0, SYSTEM, &at, provider)
                .map_err(|(reason, _)| reason)
        });
        if let Err(reason) = mounted {
            eprintln!("nameserver: cannot mount at {at}: {}", Error::from(reason));
        }
    }

    /// Adds a client that exists from the start: it is the system's own. Its further connections
    /// are programs that it has started, each an origin of its own.
    pub fn connect(&mut self, client: NamespaceContract::Exp<NamespaceContract::Start>) {
        let id = self.clients.number(&self.shares);
        let taken = self.shares.take(SYSTEM, budget::CLIENT);
        if !taken || !self.admit(id, SYSTEM, client) {
            eprintln!("nameserver: no room for a client of the system's own");
        }
    }

    /// Adds a client whose price is already charged to its origin.
    fn admit(
        &mut self,
        id: u32,
        origin: u32,
        client: NamespaceContract::Exp<NamespaceContract::Start>,
    ) -> bool {
        let client = client.send_success();
        let watched = self.clients.add(id, origin, client, &self.set).is_ok();
        if !watched {
            self.shares.give_back(origin, budget::CLIENT);
        }
        watched
    }

    /// Serves until the last client has closed.
    pub fn run(&mut self) {
        while !self.clients.is_empty() {
            match self.set.wait(Timeout::FOREVER) {
                Ok(number) => {
                    self.serve(Source::of(number));
                    // They are removed here and not where they close: removing one answers others,
                    // which may in turn close.
                    while let Some(client) = self.gone.pop() {
                        self.leave(client);
                    }
                }
                Err(Error::NoResources) => time::sleep(RETRY),
                Err(e) => {
                    eprintln!("nameserver: cannot wait: {e}");
                    return;
                }
            }
        }
    }

    fn serve(&mut self, source: Source) {
        match source {
            Source::Client(id) => self.client(id),
            Source::Provider(id) => self.provider(id),
            Source::Watcher(id) => {
                if let Some((path, origin)) = self.watchers.hear(id) {
                    self.shares.give_back(origin, budget::watcher(&path));
                }
            }
        }
    }

    fn client(&mut self, id: u32) {
        use NamespaceContract::exp;
        let Some(channel) = self.clients.take(id, &self.set) else {
            return self.abandon(id);
        };
        // A message means that it has received the last answer, or has closed.
        let taken = self.clients.took_answer(id);
        self.answers.give_back(self.clients.origin(id), taken);
        match channel.recv() {
            exp::Ready::Bind(path, _, service, next) => {
                self.clients.put(id, State::Binding(next));
                let path = asked_at(asked(&path));
                self.bind(id, path, service);
            }
            exp::Ready::Find(path, next) => {
                self.clients.put(id, State::Finding(next));
                let path = asked_at(asked(&path));
                self.find(id, path);
            }
            exp::Ready::Notify(path, watcher, next) => {
                let next = match self.watch(id, asked(&path), watcher) {
                    Ok(()) => next.send_ack_notify(),
                    Err((reason, watcher)) => next.send_nak_notify(reason, watcher),
                };
                self.clients.put(id, State::Ready(next));
            }
            exp::Ready::Register(path, provider, next) => {
                let next = match self.register(id, asked(&path), provider) {
                    Ok(()) => next.send_ack_register(),
                    Err((reason, provider)) => next.send_nak_register(reason, provider),
                };
                self.clients.put(id, State::Ready(next));
            }
            exp::Ready::Deregister(path, next) => {
                let next = match asked(&path).is_some_and(|path| self.deregister(id, &path)) {
                    true => next.send_ack_deregister(),
                    false => next.send_nak_deregister(),
                };
                self.clients.put(id, State::Ready(next));
            }
            exp::Ready::Closed => self.leave(id),
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

    /// Removes all registrations of a client from the name space.
    fn forget_all(&mut self, client: u32) {
        for provider in self.providers.owned_by(client) {
            self.forget(provider);
        }
    }

    /// Answers a bind.
    fn bound(&mut self, client: u32, refused: Option<(Refusal, Service)>) {
        if let Err(Gone) = self.clients.bound(client, &self.set, refused) {
            self.gone.push(client);
        }
    }

    /// Answers a find. The answer is charged to the client's origin until the client has received
    /// it.
    fn found(&mut self, client: u32, names: Result<Text, Refusal>) {
        let names = names.and_then(|names| {
            let (origin, cost) = (
                self.clients.origin(client),
                budget::answer(names.block().len()),
            );
            match self.answers.take(origin, cost) {
                true => Ok((names, cost)),
                false => Err(Refusal::NoResources),
            }
        });
        if let Err(Gone) = self.clients.found(client, &self.set, names) {
            self.gone.push(client);
        }
    }

    fn bind(&mut self, client: u32, path: Result<String, Refusal>, service: Service) {
        let place = path.as_deref().map(|path| (path, self.tree.resolve(path)));
        let refused = match place {
            Ok((_, Place::Provider(&provider, rest))) => {
                return self.request(client, provider, rest.into(), Some(service));
            }
            // The name server's own directories are served by itself.
            Ok(("/", Place::Here)) => self.accept(client, service).err(),
            Ok(_) => Some((Refusal::NotFound, service)),
            Err(reason) => Some((*reason, service)),
        };
        self.bound(client, refused);
    }

    /// Adds a further client; returns an endpoint that is not of the contract.
    fn accept(&mut self, asking: u32, service: Service) -> Result<(), (Refusal, Service)> {
        let id = self.clients.number(&self.shares);
        let origin = match self.clients.origin(asking) {
            SYSTEM => id,
            origin => origin,
        };
        if !self.shares.take(origin, budget::CLIENT) {
            return Err((Refusal::NoResources, service));
        }
        match provider::accept(service) {
            // If it cannot be watched, it is closed, which the client sees.
            Ok(client) => {
                self.admit(id, origin, client);
                Ok(())
            }
            Err(other) => {
                self.shares.give_back(origin, budget::CLIENT);
                Err((Refusal::NotFound, other))
            }
        }
    }

    fn find(&mut self, client: u32, path: Result<String, Refusal>) {
        let place = path.as_deref().map(|path| (path, self.tree.resolve(path)));
        let names = match place {
            Ok((_, Place::Provider(&provider, rest))) => {
                return self.request(client, provider, rest.into(), None);
            }
            Ok((path, Place::Here)) => {
                let names = self.tree.list(path).unwrap_or_default();
                provider::lines(&names).map_err(|_| Refusal::NoResources)
            }
            Ok((_, Place::Nowhere)) => Err(Refusal::NotFound),
            Err(reason) => Err(*reason),
        };
        self.found(client, names);
    }

    /// Passes a client's request on to a provider, which sees this path.
    fn request(&mut self, client: u32, provider: u32, path: String, bind: Option<Service>) {
        let origin = self.clients.origin(client);
        let cost = budget::request(&path);
        let refused = match Text::new(&path) {
            Ok(path) => {
                let asker = Asker {
                    client,
                    origin,
                    cost,
                };
                let request = Request { asker, path, bind };
                match self.providers.request(provider, request, &mut self.shares) {
                    Ok(()) => return,
                    Err((reason, request)) => (reason, request.bind),
                }
            }
            Err(_) => (Refusal::NoResources, bind),
        };
        self.refuse(client, refused);
    }

    /// Answers a request that failed.
    fn refuse(&mut self, client: u32, (reason, bind): (Refusal, Option<Service>)) {
        match bind {
            Some(service) => self.bound(client, Some((reason, service))),
            None => self.found(client, Err(reason)),
        }
    }

    fn watch(
        &mut self,
        client: u32,
        path: Option<String>,
        watcher: NotifyContract::Imp<NotifyContract::Start>,
    ) -> Result<(), (Refusal, NotifyContract::Imp<NotifyContract::Start>)> {
        let Some(path) = path else {
            return Err((Refusal::NotFound, watcher));
        };
        let (origin, cost) = (self.clients.origin(client), budget::watcher(&path));
        if !self.shares.take(origin, cost) {
            return Err((Refusal::NoResources, watcher));
        }
        match self.watchers.add(path, origin, watcher, &self.set) {
            None => Ok(()),
            Some(watcher) => {
                self.shares.give_back(origin, cost);
                Err((Refusal::NoResources, watcher))
            }
        }
    }

    fn register(
        &mut self,
        client: u32,
        path: Option<String>,
        provider: Provided,
    ) -> Result<(), (Refusal, Provided)> {
        match path {
            Some(path) => self.offer(client, self.clients.origin(client), &path, provider),
            None => Err((Refusal::NotFound, provider)),
        }
    }

    /// Registers a client's provider, on the share of an origin.
    fn offer(
        &mut self,
        client: u32,
        origin: u32,
        path: &str,
        provider: Provided,
    ) -> Result<(), (Refusal, Provided)> {
        let mine = |id: &u32| self.providers.owner(*id) == Some(client);
        if !self.tree.is_free(path, mine) {
            return Err((Refusal::Held, provider));
        }
        let cost = budget::registration(path);
        if !self.shares.take(origin, cost) {
            return Err((Refusal::NoResources, provider));
        }
        match self
            .providers
            .add(client, origin, path, provider, &self.set)
        {
            Ok(id) => self.tree.register(path, id),
            Err(provider) => {
                self.shares.give_back(origin, cost);
                return Err((Refusal::NoResources, provider));
            }
        }
        self.watchers.changed(path);
        Ok(())
    }

    fn deregister(&mut self, client: u32, path: &str) -> bool {
        match self.tree.resolve(path) {
            Place::Provider(&id, "/") if self.providers.owner(id) == Some(client) => {
                self.forget(id);
                true
            }
            _ => false,
        }
    }

    /// Takes a provider out of the name space, and answers those that wait for it.
    fn forget(&mut self, provider: u32) {
        let Some(removed) = self.providers.remove(provider) else {
            return;
        };
        self.tree.deregister(&removed.path);
        self.shares
            .give_back(removed.origin, budget::registration(&removed.path));
        self.watchers.changed(&removed.path);
        match removed.asked {
            // The endpoint that it had taken is gone with it; the client sees its channel closed.
            Some(Asked::Bind(asker)) => self.answer_bind(asker, None),
            Some(Asked::Find(asker)) => self.answer_find(asker, Err(Refusal::NotFound)),
            None => {}
        }
        for request in removed.waiting {
            self.unanswered(request);
        }
    }

    /// Answers a request that no provider will answer.
    fn unanswered(&mut self, request: Request) {
        let Request { asker, bind, .. } = request;
        match bind {
            Some(service) => self.answer_bind(asker, Some((Refusal::NotFound, service))),
            None => self.answer_find(asker, Err(Refusal::NotFound)),
        }
    }

    fn answer_bind(&mut self, asker: Asker, refused: Option<(Refusal, Service)>) {
        self.shares.give_back(asker.origin, asker.cost);
        self.bound(asker.client, refused);
    }

    fn answer_find(&mut self, asker: Asker, names: Result<Text, Refusal>) {
        self.shares.give_back(asker.origin, asker.cost);
        self.found(asker.client, names);
    }

    fn provider(&mut self, id: u32) {
        match self.providers.hear(id) {
            Answer::Nothing => {}
            Answer::Bound { asker, refused } => self.answer_bind(asker, refused),
            Answer::Found { asker, names } => self.answer_find(asker, names),
            Answer::Gone => self.forget(id),
        }
    }
}

/// The requested path; an invalid one is `None`.
fn asked_at(path: Option<String>) -> Result<String, Refusal> {
    path.ok_or(Refusal::NotFound)
}
