//! The server: its clients, providers and watchers, and the loop that serves them.

use crate::clients::{Client, Clients};
use crate::providers::{Providers, Request};
use crate::watchers::Watchers;
use nameserver::{Place, Tree};
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::rt::TypedEndpoint;
use sing_sdk::set::WaitSet;
use sing_sdk::time::Timeout;

/// Clients that the server holds channels with at most.
const MAX_CLIENTS: usize = 4096;
/// Registrations that one client may hold.
const MAX_PER_CLIENT: usize = 64;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// Who an endpoint in the wait set belongs to.
#[derive(Clone, Copy)]
pub enum Source {
    Client(u32),
    Provider(u32),
    Watcher(u32),
}

impl Source {
    /// Its number in the wait set. Of the 2^29 there are of each kind, the last are never reached.
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
    /// Everybody whose next word is awaited, or whose leaving.
    set: WaitSet,
    tree: Tree<u32>,
    clients: Clients,
    providers: Providers,
    watchers: Watchers,
}

impl Server {
    /// A server without anybody.
    ///
    /// # Errors
    /// Where handles are short.
    pub fn new() -> Result<Server, Error> {
        Ok(Server {
            set: WaitSet::new()?,
            tree: Tree::default(),
            clients: Clients::default(),
            providers: Providers::default(),
            watchers: Watchers::default(),
        })
    }

    /// Mounts a provider that was there from the start.
    pub fn mount(&mut self, at: &str, provider: NamespaceContract::Imp<NamespaceContract::Start>) {
        let id = self.providers.add(0, provider, &self.set);
        if !path::normalize(at).is_some_and(|at| self.tree.register(&at, id)) {
            eprintln!("nameserver: cannot mount at {at}");
            drop(self.providers.remove(id));
        }
    }

    /// Takes a client.
    pub fn connect(&mut self, client: NamespaceContract::Exp<NamespaceContract::Start>) {
        self.clients.add(client.send_success(), &self.set);
    }

    /// Serves until nobody is left that could ask.
    pub fn run(&mut self) {
        while !self.clients.is_empty() {
            match self.set.wait(Timeout::FOREVER) {
                Ok(number) => self.serve(Source::of(number)),
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
            Source::Watcher(id) => self.watchers.hear(id),
        }
    }

    fn client(&mut self, id: u32) {
        use NamespaceContract::exp;
        let Some(channel) = self.clients.take(id, &self.set) else {
            return;
        };
        match channel.recv() {
            exp::Ready::Bind(path, service, next) => {
                self.clients.put(id, Client::Binding(next));
                self.bind(id, path.get_within(path::LONGEST), service);
            }
            exp::Ready::Find(path, next) => {
                self.clients.put(id, Client::Finding(next));
                self.find(id, path.get_within(path::LONGEST));
            }
            exp::Ready::Notify(path, watcher, next) => {
                let path = path
                    .get_within(path::LONGEST)
                    .as_deref()
                    .and_then(path::normalize);
                let refused = match path {
                    Some(path) => self.watchers.add(path, watcher, &self.set),
                    None => Some(watcher),
                };
                let next = match refused {
                    None => next.send_ack_notify(),
                    Some(watcher) => next.send_nak_notify(watcher),
                };
                self.clients.put(id, Client::Ready(next));
            }
            exp::Ready::Register(path, provider, next) => {
                let path = path
                    .get_within(path::LONGEST)
                    .as_deref()
                    .and_then(path::normalize);
                let next = match self.register(id, path, provider) {
                    None => next.send_ack_register(),
                    Some(provider) => next.send_nak_register(provider),
                };
                self.clients.put(id, Client::Ready(next));
            }
            exp::Ready::Deregister(path, next) => {
                let path = path
                    .get_within(path::LONGEST)
                    .as_deref()
                    .and_then(path::normalize);
                let next = match path.is_some_and(|path| self.deregister(id, &path)) {
                    true => next.send_ack_deregister(),
                    false => next.send_nak_deregister(),
                };
                self.clients.put(id, Client::Ready(next));
            }
            // It has been taken out above; what it registered goes with it.
            exp::Ready::Closed => {
                for provider in self.providers.owned_by(id) {
                    self.forget(provider);
                }
            }
        }
    }

    fn bind(&mut self, client: u32, path: Option<String>, service: Service) {
        let path = path.as_deref().and_then(path::normalize);
        let refused = match path.as_deref().map(|p| (p, self.tree.resolve(p))) {
            Some((_, Place::Provider(&provider, rest))) => match Text::new(rest) {
                Ok(path) => {
                    let request = Request::Bind {
                        client,
                        path,
                        service,
                    };
                    match self.providers.request(provider, request) {
                        None => return,
                        Some(Request::Bind { service, .. }) => Some(service),
                        Some(Request::Find { .. }) => return,
                    }
                }
                Err(_) => Some(service),
            },
            // The name server's own directories are served by itself.
            Some(("/", Place::Here)) => self.accept(service),
            _ => Some(service),
        };
        self.clients.bound(client, &self.set, refused);
    }

    /// Takes a further client; gives back what is no channel for one.
    fn accept(&mut self, service: Service) -> Option<Service> {
        if self.clients.len() >= MAX_CLIENTS {
            return Some(service);
        }
        match service
            .into_endpoint()
            .cast::<NamespaceContract::Exp<NamespaceContract::Start>>()
        {
            Ok(client) => {
                self.connect(client);
                None
            }
            Err(other) => other.cast().ok(),
        }
    }

    fn find(&mut self, client: u32, path: Option<String>) {
        let path = path.as_deref().and_then(path::normalize);
        let names = match path.as_deref().map(|p| (p, self.tree.resolve(p))) {
            Some((_, Place::Provider(&provider, rest))) => {
                let request = Text::new(rest).map(|path| Request::Find { client, path });
                if request.is_ok_and(|r| self.providers.request(provider, r).is_none()) {
                    return;
                }
                None
            }
            Some((p, Place::Here)) => Some(self.tree.list(p).unwrap_or_default()),
            _ => None,
        };
        let text = names.and_then(|names| {
            let lines: String = names.iter().flat_map(|n| [n.as_str(), "\n"]).collect();
            Text::new(&lines).ok()
        });
        self.clients.found(client, &self.set, text);
    }

    fn register(
        &mut self,
        client: u32,
        path: Option<String>,
        provider: NamespaceContract::Imp<NamespaceContract::Start>,
    ) -> Option<NamespaceContract::Imp<NamespaceContract::Start>> {
        let Some(path) = path else {
            return Some(provider);
        };
        let free = path != "/" && !matches!(self.tree.resolve(&path), Place::Provider(_, "/"));
        if !free || self.providers.owned_by(client).len() >= MAX_PER_CLIENT {
            return Some(provider);
        }
        let id = self.providers.add(client, provider, &self.set);
        self.tree.register(&path, id);
        self.watchers.changed(&path);
        None
    }

    fn deregister(&mut self, client: u32, path: &str) -> bool {
        let owner = match self.tree.resolve(path) {
            Place::Provider(&id, "/") => self.providers.owner(id).map(|owner| (id, owner)),
            _ => None,
        };
        match owner {
            Some((id, owner)) if owner == client && owner != 0 => {
                self.forget(id);
                true
            }
            _ => false,
        }
    }

    /// Takes a provider out of the name space, and answers those that wait for it.
    fn forget(&mut self, provider: u32) {
        while let Some(path) = self.tree.find(|id| *id == provider) {
            self.tree.deregister(&path);
            self.watchers.changed(&path);
        }
        for request in self.providers.remove(provider) {
            self.refuse(request);
        }
    }

    fn refuse(&mut self, request: Request) {
        match request {
            Request::Bind {
                client, service, ..
            } => self.clients.bound(client, &self.set, Some(service)),
            Request::Find { client, .. } => self.clients.found(client, &self.set, None),
        }
    }

    fn provider(&mut self, id: u32) {
        use crate::providers::Answer;
        match self.providers.hear(id) {
            Answer::Nothing => {}
            Answer::Bound { client, refused } => self.clients.bound(client, &self.set, refused),
            Answer::Found { client, names } => self.clients.found(client, &self.set, names),
            Answer::Gone { waiting } => {
                // The endpoint that it had taken is gone with it; the client sees its channel closed.
                match waiting {
                    Some((client, true)) => self.clients.bound(client, &self.set, None),
                    Some((client, false)) => self.clients.found(client, &self.set, None),
                    None => {}
                }
                self.forget(id);
            }
        }
    }
}
