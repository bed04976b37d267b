//! The root mount: one name server, as a file system is, may be mounted at `/` itself. It serves
//! what this name server does not know, so that the name space holds transient services and the
//! persistent store in one ([O] 5.3).
//!
//! Invariants:
//! - A name of the name server wins: while anything is registered at `/a` or below it, all of `/a`
//!   is the name server's, and nothing of it is asked for at the root mount.
//! - Only the system and the services of its manager mount anything at `/`: whoever is there and
//!   silent keeps all waiting who ask for a name that nobody else has, for a while.
//! - Who asks for a name of a mount that has just ended, or has asked it, asks again for a while, and
//!   is not told that there is no such name.
//! - Nothing is registered with the root mount; it only answers binds and finds.
//! - The root mount is never asked for a request of its own origin. It waits for answers of this
//!   server, so the two could wait for each other; and it learns in this way which names are not
//!   its own.

use crate::budget;
use crate::parsed::found;
use crate::providers::NAME_SERVER;
use crate::request::{Asking, Back, Found, Provided, Reply, Verb};
use crate::server::{Server, Who};
use core::time::Duration;
use nameserver::union::{self, Asked, Theirs, Turn, top};
use nameserver::{Own, Place, origin};
use sing_sdk::path;
use sing_sdk::pattern::Pattern;
use sing_sdk::prelude::*;
use sing_sdk::time;
use sing_sdk::walk::{Directories, End};

/// How long a root mount that has ended is expected back, before its names are said not to be there.
const RETURN: Duration = Duration::from_secs(3);

impl Server {
    /// A provider has closed without a word, as one that was ended does. If it was mounted at `/`,
    /// those who ask for its names ask again for a while: whoever supervises it starts it again.
    pub(crate) fn expect_back(&mut self, id: u32) {
        if self.root == Some(id) {
            self.expect_root();
        }
    }

    /// The same after the end of another name server: what was mounted there comes back to this one.
    pub(crate) fn expect_root(&mut self) {
        self.root_lost = Some(time::uptime() + RETURN);
    }

    /// Whether whoever asks is to wait for the root mount to come back. A service is not: the mount
    /// itself may need it.
    pub(crate) fn is_expected(&mut self, who: Who) -> bool {
        self.root_lost = self.root_lost.filter(|until| time::uptime() < *until);
        self.root_lost.is_some() && self.root.is_none() && !origin::is_service(who.1)
    }

    /// Whether a name that nobody serves now may come back with the root mount.
    pub(crate) fn may_come_back(&mut self, who: Who, path: &str) -> bool {
        self.is_expected(who) && !self.is_known(&path[1..])
    }

    /// Mounts a name server at `/`, where nobody else is.
    pub(crate) fn mount_root(
        &mut self,
        who: Who,
        contract: &str,
        provider: Provided,
    ) -> Result<(), (Refusal, Provided)> {
        // To others it is held even while nothing is mounted.
        let may = origin::may_mount_root(who.1);
        if contract != NAME_SERVER || !may || self.root.is_some() {
            return Err((Refusal::Held, provider));
        }
        let cost = budget::registration("/");
        if !self.shares.take(who.1, cost) {
            return Err((Refusal::NoResources, provider));
        }
        let added = self.providers.add(who, "/", contract, provider, &self.set);
        let id = added.map_err(|provider| {
            self.shares.give_back(who.1, cost);
            (Refusal::NoResources, provider)
        })?;
        (self.root, self.root_lost) = (Some(id), None);
        self.watchers.changed_below("/");
        self.subscribe_all();
        Ok(())
    }

    /// The root mount, for a request of this origin.
    fn root_for(&self, who: Who) -> Option<u32> {
        let id = self.root?;
        let (_, origin) = self.providers.owner(id)?;
        (origin != who.1).then_some(id)
    }

    /// Whether a path from the root on begins with a name of the name server.
    fn is_known(&self, relative: &str) -> bool {
        let first = format!("/{}", top(relative));
        self.tree.resolve(&first) != Place::Nowhere
    }

    /// The root mount, if it serves this path for whoever asks.
    pub(crate) fn beyond(&self, who: Who, path: &str) -> Option<u32> {
        let id = self.root_for(who)?;
        (!self.is_known(&path[1..])).then_some(id)
    }

    /// Binds the root itself: as a further client of the name server, or else as what the root
    /// mount has there.
    pub(crate) fn bind_root(&mut self, who: Who, asking: Asking, back: Back) {
        let refused = match back {
            Back::Service(service) => self.accept(who, service),
            back => Err((Refusal::NotFound, back)),
        };
        let reply = match refused {
            Ok(()) => Reply::Done,
            Err((Refusal::OtherContract, back)) => match self.root_for(who) {
                Some(id) => return self.pass(who, id, 0, asking, back),
                None if self.is_expected(who) => Reply::Refused(Refusal::Again, back),
                None => Reply::Refused(Refusal::OtherContract, back),
            },
            Err((reason, back)) => Reply::Refused(reason, back),
        };
        self.end(who, asking, reply);
    }

    /// Lists what the root mount has together with the name server's own. Gives the request back
    /// if it is about nothing of the root mount's.
    pub(crate) fn search_root(&mut self, who: Who, mut asking: Asking) -> Option<Asking> {
        let root = self.root_for(who);
        if asking.path != "/" || root.is_none() && !self.is_expected(who) {
            return Some(asking);
        }
        let Verb::Find(search) = &mut asking.verb else {
            return Some(asking);
        };
        let Ok(pattern) = Pattern::new(&search.pattern) else {
            return Some(asking);
        };
        let asked = Asked {
            pattern: &pattern,
            at: &search.at,
            after: &search.after,
        };
        let turn = asked.turn(|name| self.is_known(name));
        let Some(id) = root else {
            // It is gone, and expected back. The listing of a whole directory goes on without it.
            if turn != Turn::Theirs {
                return Some(asking);
            }
            self.answer(who.0, Reply::Refused(Refusal::Again, Back::Nothing));
            return None;
        };
        match turn {
            Turn::Own => return Some(asking),
            Turn::Theirs => self.pass(who, id, 0, asking, Back::Nothing),
            Turn::Both => {
                search.union = true;
                // Who lists many directories waits for a silent mount once, not at each of them.
                if self.silent == Some(id) {
                    let refused = Reply::Refused(Refusal::NotFound, Back::Nothing);
                    self.united(who, &asking, refused);
                } else {
                    self.pass(who, id, 0, asking, Back::Nothing);
                }
            }
            Turn::Below => {
                let walked = asked.below(self.directories());
                self.walked(who, asking, walked);
            }
        }
        None
    }

    /// The name server's own directories.
    pub(crate) fn directories(&self) -> impl Directories {
        let describe = |id: &u32| self.providers.contract(*id);
        let tree = &self.tree;
        Own { tree, describe }
    }

    /// The root mount has listed its names. One that refuses has none.
    pub(crate) fn united(&mut self, who: Who, asking: &Asking, reply: Reply) {
        let Verb::Find(search) = &asking.verb else {
            return;
        };
        let (theirs, more) = match reply {
            Reply::Found(found) => listed(&found).unwrap_or_default(),
            _ => Default::default(),
        };
        let reply = match Pattern::new(&search.pattern) {
            Ok(pattern) => {
                let asked = Asked {
                    pattern: &pattern,
                    at: &search.at,
                    after: &search.after,
                };
                match union::piece(asked, &mut self.directories(), theirs, &more) {
                    Ok((piece, End::Complete)) => found(piece, ""),
                    Ok((piece, End::More(after) | End::Foreign(after))) => found(piece, &after),
                    Err(reason) => Reply::Refused(reason, Back::Nothing),
                }
            }
            Err(_) => Reply::Refused(Refusal::TooLong, Back::Nothing),
        };
        self.answer(who.0, reply);
    }
}

/// What an answer says, and where it would go on; `None` if it is none, or of a further server.
fn listed(found: &Found) -> Option<(Vec<Theirs>, String)> {
    if !found.is_sound() || found.at.get_within(path::LONGEST).as_deref() != Some("") {
        return None;
    }
    let text = found.text.get()?;
    let mut rest = text.as_str();
    let mut take = |len: u32| {
        let (taken, behind) = rest.split_at_checked(len as usize)?;
        rest = behind;
        Some(String::from(taken))
    };
    let all = (0..found.count as usize).map(|i| {
        let FindResponse { kind, path, detail } = found.results.get(i)?;
        Some((take(path)?, kind, take(detail)?))
    });
    let all = all.collect::<Option<Vec<Theirs>>>()?;
    Some((all, found.after.get_within(path::LONGEST)?))
}
