//! Registrations and links: who holds what, here and with name servers below, and how it ends.

use crate::asking::Made;
use crate::budget;
use crate::request::{Asking, Provided, Reply, Verb};
use crate::server::{Server, Source, Who};
use core::time::Duration;
use nameserver::{Node, Place};
use sing_sdk::prelude::*;
use sing_sdk::time;

/// What a client has registered with a name server below.
pub struct Remote {
    pub client: u32,
    pub origin: u32,
    pub price: usize,
}

/// The client of a registration whose client has gone: no client has this number.
const NOBODY: u32 = u32::MAX;
/// The wait before something is tried again, at first, and at most.
const RETRY: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// Reports of changes from a name server below.
pub struct Below {
    /// None from one that gives none now.
    reports: Option<NotifyContract::Exp<NotifyContract::Start>>,
    /// When that is asked again, and the wait after that.
    again: Duration,
    wait: Duration,
}

impl Below {
    fn new(reports: Option<NotifyContract::Exp<NotifyContract::Start>>) -> Below {
        Below {
            reports,
            again: time::uptime() + RETRY,
            wait: RETRY,
        }
    }

    fn take(&mut self, reports: NotifyContract::Exp<NotifyContract::Start>) {
        self.reports = Some(reports);
        self.wait = RETRY;
    }

    fn delay(&mut self) {
        self.again = time::uptime() + self.wait;
        self.wait = (self.wait * 2).min(LONGEST);
    }
}

impl Server {
    /// Whether a client has registered what is at this path of a name server below.
    pub(crate) fn has_remote(&self, who: Who, id: u32, rest: &str) -> bool {
        let remote = self.remote.get(&(id, rest.into()));
        remote.is_some_and(|r| (r.client, r.origin) == who)
    }

    /// A name server below has answered; what it has registered or taken back is noted.
    pub(crate) fn granted(&mut self, id: Option<u32>, who: Who, mut asking: Asking, reply: Reply) {
        if let (Reply::Done, Some(id)) = (&reply, id) {
            let rest = asking.path.get(asking.mount..).unwrap_or_default();
            let key = (id, String::from(rest));
            match &mut asking.verb {
                Verb::Register { price, .. } | Verb::Link { price, .. } => {
                    let remote = Remote {
                        client: who.0,
                        origin: who.1,
                        price: core::mem::take(price),
                    };
                    // The server below says that it is this client's now.
                    if let Some(old) = self.remote.insert(key, remote) {
                        self.shares.give_back(old.origin, old.price);
                    }
                }
                Verb::Deregister => {
                    if let Some(old) = self.remote.remove(&key) {
                        self.shares.give_back(old.origin, old.price);
                    }
                }
                Verb::Bind | Verb::Find(_) | Verb::Notify(_) | Verb::ReadLink => {}
            }
        }
        self.end(who, asking, reply);
    }

    /// Nobody waits any longer for what a name server below may register: it is told to take that
    /// back when it has. What the client has had there before stays. What it is to take back, it is
    /// told to take back once more: whether it has is not known, and nobody would ask again.
    pub(crate) fn disown(&mut self, who: Who, asking: &mut Asking) {
        let rest = asking.path.get(asking.mount..).unwrap_or_default();
        let key = (asking.server, String::from(rest));
        match &mut asking.verb {
            Verb::Register { price, .. } | Verb::Link { price, .. } => {
                if self.remote.contains_key(&key) {
                    return;
                }
                let remote = Remote {
                    client: NOBODY,
                    origin: who.1,
                    price: core::mem::take(price),
                };
                self.remote.insert(key, remote);
            }
            Verb::Deregister => match self.remote.get_mut(&key) {
                Some(remote) if (remote.client, remote.origin) == who => remote.client = NOBODY,
                _ => return,
            },
            Verb::Bind | Verb::Find(_) | Verb::Notify(_) | Verb::ReadLink => return,
        }
        self.take_back(|remote| remote.client == NOBODY);
    }

    /// Registers a client's provider, on the share of an origin.
    pub(crate) fn offer(
        &mut self,
        who: Who,
        path: &str,
        contract: &str,
        provider: Provided,
    ) -> Result<(), (Refusal, Provided)> {
        if self.has_to_wait(who) {
            return Err((Refusal::Again, provider));
        }
        self.clients.registers(who.0);
        if path == "/" {
            return self.mount_root(who, contract, provider);
        }
        if !self.tree.is_free(path, |node| self.is_owner(node, who)) {
            return Err((Refusal::Held, provider));
        }
        let cost = budget::registration(path);
        if !self.shares.take(who.1, cost) {
            return Err((Refusal::NoResources, provider));
        }
        let added = self.providers.add(who, path, contract, provider, &self.set);
        match added {
            Ok(id) => self.tree.register(path, Node::Provider(id)),
            Err(provider) => {
                self.shares.give_back(who.1, cost);
                return Err((Refusal::NoResources, provider));
            }
        }
        self.has_registered(who.0);
        self.watchers.changed(path);
        self.subscribe_all();
        Ok(())
    }

    fn is_owner(&self, node: &Node<u32, Who>, who: Who) -> bool {
        match node {
            Node::Provider(id) => self.providers.owner(*id) == Some(who),
            Node::Link(owner, _) => *owner == who,
        }
    }

    /// Makes a link.
    pub(crate) fn link(&mut self, who: Who, path: &str, target: &str) -> Result<(), Refusal> {
        if self.has_to_wait(who) {
            return Err(Refusal::Again);
        }
        if !self
            .tree
            .is_free_leaf(path, |node| self.is_owner(node, who))
        {
            return Err(Refusal::Held);
        }
        if !self.shares.take(who.1, budget::link(path, target)) {
            return Err(Refusal::NoResources);
        }
        self.tree.register(path, Node::Link(who, target.into()));
        self.has_registered(who.0);
        self.watchers.changed(path);
        Ok(())
    }

    /// Takes back a client's registration or link.
    pub(crate) fn deregister(&mut self, who: Who, path: &str) -> Result<(), Refusal> {
        let root = self.root.filter(|_| path == "/");
        let root = root.map(Node::Provider);
        match root.as_ref().or(self.tree.get(path)) {
            None => Err(Refusal::NotFound),
            Some(node) if !self.is_owner(node, who) => Err(Refusal::Held),
            Some(&Node::Provider(id)) => {
                self.forget(id);
                Ok(())
            }
            Some(Node::Link(..)) => {
                self.unlink(path);
                Ok(())
            }
        }
    }

    fn unlink(&mut self, path: &str) {
        if let Some(Node::Link((_, origin), target)) = self.tree.deregister(path) {
            self.shares.give_back(origin, budget::link(path, &target));
            self.watchers.changed(path);
        }
    }

    /// Removes all registrations of a client that has closed from the name space. It has ended, and
    /// its providers with it: which of these closes is heard of first makes no difference.
    pub(crate) fn forget_all(&mut self, client: u32) {
        for provider in self.providers.owned_by(client) {
            self.expect_back(provider);
            self.forget(provider);
        }
        for path in self.tree.links_of(|(owner, _)| *owner == client) {
            self.unlink(&path);
        }
        self.take_back(|remote| remote.client == client);
    }

    /// Takes back what clients have registered with name servers below. What cannot be taken back
    /// now, as its origin has its share of requests already, stays charged to the origin and is
    /// tried again.
    fn take_back(&mut self, of: impl Fn(&Remote) -> bool) {
        let mut all = Vec::new();
        self.remote.retain(|key, remote| {
            if of(remote) {
                all.push((key.clone(), remote.origin, remote.price));
            }
            !of(remote)
        });
        for ((id, rest), origin, price) in all {
            // The request is charged to the client's origin in place of the record.
            self.shares.give_back(origin, price);
            if self
                .send((0, origin), id, &rest, Made::Deregister, 0)
                .is_ok()
            {
                continue;
            }
            // The room that was just given back is there.
            if self.providers.owner(id).is_some() && self.shares.take(origin, price) {
                let client = NOBODY;
                let remote = Remote {
                    client,
                    origin,
                    price,
                };
                self.remote.insert((id, rest), remote);
                self.orphans = Some(time::uptime() + RETRY);
            }
        }
    }

    /// Takes a provider out of the name space, and answers those that wait for it.
    pub(crate) fn forget(&mut self, provider: u32) {
        let Some(removed) = self.providers.remove(provider) else {
            return;
        };
        self.below.remove(&provider);
        self.root.take_if(|root| *root == provider);
        self.tree.deregister(&removed.path);
        self.shares
            .give_back(removed.origin, budget::registration(&removed.path));
        self.remote.retain(|(id, _), remote| {
            if *id == provider {
                self.shares.give_back(remote.origin, remote.price);
            }
            *id != provider
        });
        match removed.path.as_str() {
            "/" => self.watchers.changed_below("/"),
            path => self.watchers.changed(path),
        }
        if let Some((asker, reply)) = removed.lost {
            self.replied(None, asker, reply);
        }
        for request in removed.waiting {
            self.unanswered(request);
        }
    }

    /// Asks the name servers below to report changes, as far as somebody watches there. Each is
    /// asked once, for all that watch it; one that does not report them is asked again later.
    pub(crate) fn subscribe_all(&mut self) {
        let all = self.providers.name_servers();
        let wanted =
            all.filter(|(id, path)| !self.below.contains_key(id) && self.watchers.reach(path));
        let wanted: Vec<u32> = wanted.map(|(id, _)| id).collect();
        for id in wanted {
            let reports = self.subscribe(id);
            self.below.insert(id, Below::new(reports));
        }
    }

    fn subscribe(&mut self, id: u32) -> Option<NotifyContract::Exp<NotifyContract::Start>> {
        let (_, origin) = self.providers.owner(id)?;
        let (imp, exp) = NotifyContract::new_channel().ok()?;
        self.set.add(&exp, Source::Below(id).number()).ok()?;
        let asked = self.send((0, origin), id, "/**", Made::Notify(imp), 0);
        asked.is_ok().then_some(exp)
    }

    /// A name server below reports changes, or that it will not report any for now.
    pub(crate) fn hear_below(&mut self, id: u32) {
        let Some(below) = self.below.get_mut(&id) else {
            return;
        };
        match below.reports.take().map(|channel| channel.recv_changed()) {
            None => return,
            Some(Err(Closed)) => return below.delay(),
            Some(Ok(told)) => below.take(told.send_ack()),
        }
        match self.providers.path(id) {
            // What it has under names of the name server's own is out of sight.
            Some("/") => {
                let tree = &self.tree;
                let is_known = |name: &str| tree.resolve(name) != Place::Nowhere;
                self.watchers.changed_beyond(is_known);
            }
            Some(path) => self.watchers.changed_below(path),
            None => {}
        }
    }

    /// Does what could not be done before, if it is time; returns when the next attempt is.
    pub(crate) fn try_again(&mut self, now: Duration) -> Option<Duration> {
        let due = |below: &Below| below.reports.is_none() && below.again <= now;
        let due: Vec<u32> = (self.below.iter().filter(|(_, b)| due(b)))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let reports = self.subscribe(id);
            if let (Some(below), Some(path)) = (self.below.get_mut(&id), self.providers.path(id)) {
                match reports {
                    // What has changed meanwhile is unknown.
                    Some(reports) => {
                        below.reports = Some(reports);
                        self.watchers.changed_below(path);
                    }
                    None => below.delay(),
                }
            }
        }
        if self.orphans.is_some_and(|again| again <= now) {
            self.orphans = None;
            self.take_back(|remote| remote.client == NOBODY);
        }
        let below = self.below.values().filter(|b| b.reports.is_none());
        let below = below.map(|b| b.again).min();
        below.into_iter().chain(self.orphans).min()
    }
}
