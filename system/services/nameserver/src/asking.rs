//! Requests of clients: each goes to whoever serves its path.
//!
//! A path is looked up from the root on. A link on it leads elsewhere; a provider gets the rest of
//! the path, and the client's request waits for its answer while all others are served.

use crate::budget;
use crate::parsed::found;
use crate::request::{
    Asker, Asking, Back, Body, Provided, Reply, Request, Search, Service, Verb, Watcher,
};
use crate::server::{Server, Who};
use alloc::borrow::Cow;
use nameserver::watched::Watched;
use nameserver::{Place, origin};
use sing_sdk::legacy;
use sing_sdk::path;
use sing_sdk::pattern::{self, Pattern};
use sing_sdk::prelude::*;
use sing_sdk::provider;
use sing_sdk::share::SYSTEM;
use sing_sdk::time;
use sing_sdk::walk::{End, Piece, Walk};

/// Who answers a request.
enum Answers {
    Own,
    Provider(u32, usize),
    /// The root mount.
    Root(u32),
    Nobody,
}

impl Server {
    /// Serves a request, or passes it on to the server of its path.
    pub(crate) fn ask(&mut self, who: Who, asking: Asking, back: Back) {
        let path = &asking.path;
        // A registration is made in the directory to which the path above it leads.
        let last = matches!(
            asking.verb,
            Verb::Register { .. } | Verb::Deregister | Verb::Link { .. }
        );
        let server = match self.tree.resolve(path) {
            Place::Link(_, used, _) if last && used == path.len() => Answers::Own,
            Place::Link(_, used, target) if matches!(asking.verb, Verb::ReadLink) => {
                let reply = match Text::new(target) {
                    Ok(target) => Reply::Link(used, target, Back::Nothing),
                    Err(_) => Reply::Refused(Refusal::NoResources, back),
                };
                return self.answer(who.0, reply);
            }
            Place::Link(_, used, target) => {
                let target = String::from(target);
                return self.go_on(who, asking, used, &target, back);
            }
            Place::Provider(&id, used) => Answers::Provider(id, used),
            Place::Here => Answers::Own,
            Place::Nowhere if last => Answers::Own,
            Place::Nowhere => match self.beyond(who, path) {
                Some(id) => Answers::Root(id),
                None => Answers::Nobody,
            },
        };
        match server {
            Answers::Own => self.own(who, asking, back),
            // The root mount reports its changes, as all name servers below do.
            Answers::Nobody | Answers::Root(_) if matches!(asking.verb, Verb::Notify(_)) => {
                self.own(who, asking, back);
            }
            Answers::Root(id) => self.pass(who, id, 0, asking, back),
            Answers::Nobody => {
                let reason = match self.may_come_back(who, &asking.path) {
                    true => Refusal::Again,
                    false => Refusal::NotFound,
                };
                self.end(who, asking, Reply::Refused(reason, back));
            }
            Answers::Provider(id, used) => {
                let below = self.providers.contract(id).is_none() && used < asking.path.len();
                let mine = self.providers.owner(id) == Some(who);
                match asking.verb {
                    Verb::Bind | Verb::Find(_) | Verb::ReadLink => {
                        self.pass(who, id, used, asking, back);
                    }
                    // The directory of a name server is its own, too.
                    Verb::Notify(_) if self.providers.contract(id).is_none() => {
                        self.pass(who, id, used, asking, back);
                    }
                    Verb::Register { .. } | Verb::Link { .. } if below && !mine => {
                        self.pass(who, id, used, asking, back);
                    }
                    Verb::Deregister if below && self.has_remote(who, id, &asking.path[used..]) => {
                        self.pass(who, id, used, asking, back);
                    }
                    _ => self.own(who, asking, back),
                }
            }
        }
    }

    /// A request for what is the name server's own.
    fn own(&mut self, who: Who, asking: Asking, back: Back) {
        // The name server's own directories are served by itself.
        if asking.path == "/" && matches!(asking.verb, Verb::Bind) {
            return self.bind_root(who, asking, back);
        }
        let Asking { path, verb, .. } = &asking;
        let done = |refused: Result<(), (Refusal, Back)>| match refused {
            Ok(()) => Reply::Done,
            Err((reason, back)) => Reply::Refused(reason, back),
        };
        let reply = match (verb, back) {
            (Verb::Find(_), _) => return self.search(who, asking),
            (Verb::Notify(pattern), Back::Watcher(watcher)) => {
                done(self.watch(who.1, path, pattern, watcher))
            }
            (Verb::Register { contract, .. }, Back::Provider(provider)) => {
                let offered = self.offer(who, path, contract, provider);
                done(offered.map_err(|(reason, back)| (reason, Back::Provider(back))))
            }
            (Verb::Deregister, back) => done(self.deregister(who, path).map_err(|r| (r, back))),
            (Verb::Link { target, .. }, back) => {
                done(self.link(who, path, target).map_err(|r| (r, back)))
            }
            (_, back) => Reply::Refused(Refusal::NotFound, back),
        };
        self.end(who, asking, reply);
    }

    /// Adds a further client; gives back an endpoint that is not of the contract.
    pub(crate) fn accept(
        &mut self,
        (asking, origin): Who,
        service: Service,
    ) -> Result<(), (Refusal, Back)> {
        let id = self.clients.number(&self.shares);
        let origin = match origin {
            SYSTEM if self.clients.is_above(asking) => SYSTEM,
            // Of the system's own clients only the service manager registers names: what it has
            // started is a service.
            SYSTEM if self.clients.is_registrar(asking) => origin::of_service(id),
            SYSTEM => id,
            origin => origin,
        };
        if !self.shares.take(origin, budget::CLIENT) {
            return Err((Refusal::NoResources, Back::Service(service)));
        }
        match provider::accept::<NamespaceContract::Exp<NamespaceContract::Start>>(service) {
            // If it cannot be watched, it is closed, which the client sees.
            Ok(client) => {
                // Before the client hears that it is one: it stays one if this server ends now.
                legacy::keep(&client, origin);
                self.admit(id, origin, false, client.send_success());
                Ok(())
            }
            Err(other) => {
                self.shares.give_back(origin, budget::CLIENT);
                Err((Refusal::OtherContract, Back::Service(other)))
            }
        }
    }

    fn watch(
        &mut self,
        origin: u32,
        directory: &str,
        pattern: &str,
        watcher: Watcher,
    ) -> Result<(), (Refusal, Back)> {
        let cost = budget::watcher(directory, pattern);
        let Ok(compiled) = Pattern::new(pattern) else {
            return Err((Refusal::TooLong, Back::Watcher(watcher)));
        };
        if !self.shares.take(origin, cost) {
            return Err((Refusal::NoResources, Back::Watcher(watcher)));
        }
        let watched = Watched {
            directory: directory.into(),
            pattern: compiled,
            origin,
            cost,
        };
        if let Some(watcher) = self.watchers.add(watched, watcher, &self.set) {
            self.shares.give_back(origin, cost);
            return Err((Refusal::NoResources, Back::Watcher(watcher)));
        }
        self.subscribe_all();
        Ok(())
    }

    /// Finds the next piece below a directory of the name server's own.
    fn search(&mut self, who: Who, mut asking: Asking) {
        let path = asking.path.clone();
        let Verb::Find(search) = &mut asking.verb else {
            return;
        };
        let Ok(pattern) = Pattern::new(&search.pattern) else {
            return self.answer(who.0, Reply::Refused(Refusal::TooLong, Back::Nothing));
        };
        // The walk may have come to a name server below.
        let here = path::join(&path, &search.after);
        if let Some((id, used)) = self.lister(&here)
            && !(used == here.len() && search.after.ends_with('/'))
        {
            let into = path::below(&here[..used], &path).unwrap_or("/")[1..].to_owned();
            let start = pattern.follow(pattern.start(), &search.at);
            if pattern.goes_on(pattern.follow(start, &into)) {
                search.into = Some(into);
                return self.pass(who, id, used, asking, Back::Nothing);
            }
        }
        let Some(asking) = self.search_root(who, asking) else {
            return;
        };
        let Verb::Find(search) = &asking.verb else {
            return;
        };
        let walk = Walk {
            directory: &path,
            pattern: &pattern,
            at: &search.at,
            after: &search.after,
        };
        let walked = walk.piece(&mut self.directories());
        self.walked(who, asking, walked);
    }

    /// The name server whose listing a path is in, and how much of the path names it. What its
    /// holder has registered below it is in that listing, too.
    fn lister(&self, path: &str) -> Option<(u32, usize)> {
        let (mut found, mut end) = (None, path.len());
        loop {
            let used = match self.tree.resolve(&path[..end]) {
                Place::Provider(&id, used) => {
                    if self.providers.contract(id).is_none() {
                        found = Some((id, used));
                    }
                    used
                }
                Place::Link(_, used, _) => used,
                Place::Here | Place::Nowhere => return found,
            };
            match path[..used].rfind('/') {
                Some(above) if above > 0 => end = above,
                _ => return found,
            }
        }
    }

    /// Answers with a piece of a walk, or has the name server go on to which that has come.
    pub(crate) fn walked(
        &mut self,
        who: Who,
        mut asking: Asking,
        walked: Result<(Piece, End), Refusal>,
    ) {
        let reply = match walked {
            Ok((piece, End::Complete)) => found(piece, ""),
            Ok((piece, End::More(after))) => found(piece, &after),
            Ok((piece, End::Foreign(into))) => {
                let at = path::join(&asking.path, &into);
                if let Place::Provider(&id, used) = self.tree.resolve(&at)
                    && let Verb::Find(search) = &mut asking.verb
                {
                    search.after.clone_from(&into);
                    search.into = Some(into);
                    return self.pass(who, id, used, asking, Back::Nothing);
                }
                found(piece, &(into + "/"))
            }
            Err(reason) => Reply::Refused(reason, Back::Nothing),
        };
        self.answer(who.0, reply);
    }

    /// Passes a request on to a provider, which is named by the first `used` bytes of the path.
    pub(crate) fn pass(&mut self, who: Who, id: u32, used: usize, mut asking: Asking, back: Back) {
        (asking.mount, asking.server) = (used, id);
        self.number(&mut asking);
        let turn = asking.turn;
        let rest = match asking.path.get(used..) {
            None | Some("") => "/",
            Some(rest) => rest,
        };
        let mut price = 0;
        let kept = asking.kept();
        let made = match (&asking.verb, back) {
            (Verb::Bind, Back::Service(service)) => Ok((Cow::Borrowed(rest), Made::Bind(service))),
            (Verb::Find(search), _) => place(rest, search).map(|(spec, made)| (spec.into(), made)),
            (Verb::Notify(pattern), Back::Watcher(watcher)) => {
                Ok((pattern::under(rest, pattern).into(), Made::Notify(watcher)))
            }
            (Verb::Register { contract, .. }, Back::Provider(provider)) => {
                price = budget::registration(rest);
                Ok((rest.into(), Made::Register(contract.clone(), provider)))
            }
            (Verb::Deregister, _) => Ok((rest.into(), Made::Deregister)),
            (Verb::Link { target, .. }, _) => {
                price = budget::registration(rest);
                Ok((rest.into(), Made::Link(target.clone())))
            }
            (Verb::ReadLink, back) => Ok((rest.into(), Made::ReadLink(back))),
            (_, back) => Err((Refusal::NotFound, back)),
        };
        let sent = made.and_then(|(path, made)| {
            if path.len() > path::LONGEST {
                return Err((Refusal::TooLong, made.back()));
            }
            if !self.shares.take(who.1, price) {
                price = 0;
                return Err((Refusal::NoResources, made.back()));
            }
            self.send_as(turn, who, id, &path, made, kept)
        });
        match &mut asking.verb {
            Verb::Register { price: kept, .. } | Verb::Link { price: kept, .. } => *kept = price,
            _ => {}
        }
        match sent {
            Ok(()) => self.clients.keep(who.0, asking),
            Err((reason, back)) => self.end(who, asking, Reply::Refused(reason, back)),
        }
    }

    /// Sends a request to a provider, or has it wait for its turn. `kept`: the bytes of what was
    /// asked, which stay here until it is answered.
    pub(crate) fn send(
        &mut self,
        who: Who,
        id: u32,
        path: &str,
        made: Made,
        kept: usize,
    ) -> Result<(), (Refusal, Back)> {
        self.send_as(0, who, id, path, made, kept)
    }

    /// Gives what is asked the number of the request that follows.
    fn number(&mut self, asking: &mut Asking) {
        self.turn = self.turn.wrapping_add(1);
        asking.turn = self.turn;
        // A chain of links gives nobody more time.
        if asking.since.is_zero() || asking.is_part() {
            asking.since = time::uptime();
        }
    }

    fn send_as(
        &mut self,
        turn: u32,
        (client, origin): Who,
        id: u32,
        path: &str,
        made: Made,
        kept: usize,
    ) -> Result<(), (Refusal, Back)> {
        let cost = budget::request(path.len() + made.len()) + kept;
        let asker = Asker {
            client,
            origin,
            cost,
            turn,
        };
        let (path, body) = match Text::new(path) {
            Ok(path) => (path, made.body()?),
            Err(_) => return Err((Refusal::NoResources, made.back())),
        };
        let request = Request { asker, path, body };
        let asked = self.providers.request(id, request, &mut self.shares);
        asked.map_err(|(reason, request)| (reason, request.body.back()))
    }

    /// Asks a provider for the link of which it says that the path leads through it.
    pub(crate) fn read_link(&mut self, who: Who, id: u32, mut asking: Asking, back: Back) {
        self.number(&mut asking);
        let turn = asking.turn;
        let rest = match asking.path.get(asking.mount..) {
            None | Some("") => "/",
            Some(rest) => rest,
        };
        let kept = asking.kept();
        match self.send_as(turn, who, id, rest, Made::ReadLink(back), kept) {
            Ok(()) => self.clients.keep(who.0, asking),
            Err((reason, back)) => self.end(who, asking, Reply::Refused(reason, back)),
        }
    }

    /// Answers a request that goes no further; what was charged for its record is given back.
    pub(crate) fn end(&mut self, who: Who, asking: Asking, reply: Reply) {
        if let Verb::Register { price, .. } | Verb::Link { price, .. } = asking.verb {
            self.shares.give_back(who.1, price);
        }
        self.answer(who.0, reply);
    }

    /// Answers a request that no provider will answer.
    pub(crate) fn unanswered(&mut self, request: Request) {
        let Request { asker, body, .. } = request;
        let reply = match body {
            Body::Deregister => Reply::Done,
            body => Reply::Refused(Refusal::NotFound, body.back()),
        };
        self.replied(None, asker, reply);
    }
}

/// A request to a provider before its texts are in the exchange heap.
pub(crate) enum Made {
    Bind(Service),
    Find(String, String),
    Notify(Watcher),
    Register(String, Provided),
    Deregister,
    Link(String),
    ReadLink(Back),
}

impl Made {
    fn len(&self) -> usize {
        match self {
            Made::Find(at, after) => at.len() + after.len(),
            Made::Register(text, _) | Made::Link(text) => text.len(),
            Made::Bind(_) | Made::Notify(_) | Made::Deregister | Made::ReadLink(_) => 0,
        }
    }

    fn back(self) -> Back {
        match self {
            Made::Bind(service) => Back::Service(service),
            Made::Notify(watcher) => Back::Watcher(watcher),
            Made::Register(_, provider) => Back::Provider(provider),
            Made::ReadLink(back) => back,
            Made::Find(..) | Made::Deregister | Made::Link(_) => Back::Nothing,
        }
    }

    fn body(self) -> Result<Body, (Refusal, Back)> {
        let full = |back| (Refusal::NoResources, back);
        Ok(match self {
            Made::Bind(service) => Body::Bind(service),
            Made::Find(at, after) => match (Text::new(&at), Text::new(&after)) {
                (Ok(at), Ok(after)) => Body::Find { at, after },
                _ => return Err(full(Back::Nothing)),
            },
            Made::Notify(watcher) => Body::Notify(watcher),
            Made::Register(contract, provider) => match Text::new(&contract) {
                Ok(contract) => Body::Register { contract, provider },
                Err(_) => return Err(full(Back::Provider(provider))),
            },
            Made::Deregister => Body::Deregister,
            Made::Link(target) => match Text::new(&target) {
                Ok(target) => Body::Link { target },
                Err(_) => return Err(full(Back::Nothing)),
            },
            Made::ReadLink(back) => Body::ReadLink(back),
        })
    }
}

/// The specification for a provider, and the part of the walk that it does.
fn place(rest: &str, search: &Search) -> Result<(String, Made), (Refusal, Back)> {
    let Some(into) = &search.into else {
        let made = Made::Find(search.at.clone(), search.after.clone());
        return Ok((pattern::under(rest, &search.pattern), made));
    };
    let at = match &search.at[..] {
        "" => into.clone(),
        at => format!("{at}/{into}"),
    };
    let after = search.after.strip_prefix(into.as_str()).unwrap_or_default();
    let after = after.strip_prefix('/').unwrap_or(after).to_owned();
    if at.len() > path::LONGEST {
        return Err((Refusal::TooLong, Back::Nothing));
    }
    Ok((pattern::under("/", &search.pattern), Made::Find(at, after)))
}
