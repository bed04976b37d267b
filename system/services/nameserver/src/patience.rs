//! Patience with providers: no request waits for one for longer than a bounded time.
//!
//! A search goes on past a name server that does not answer, as if it had nothing. Any other request
//! is refused as [`Refusal::Silent`]. An endpoint that the provider has already is lost to its owner,
//! who gets a closed one in its place; one that waits here for the target of a link goes back. The
//! answer, when it comes, is nobody's
//! ([`crate::clients::Clients::asking`]).

use crate::parsed::below;
use crate::request::{Asking, Back, Reply, Verb};
use crate::server::Server;
use core::time::Duration;
use sing_sdk::prelude::*;

impl Server {
    /// Ends the wait of those who have waited for long enough. Returns when the next one has.
    pub(crate) fn go_past(&mut self, now: Duration) -> Option<Duration> {
        while let Some((id, asking)) = self.clients.late(now) {
            // A request that the provider does not have yet comes back whole.
            let withdrawn = self.providers.withdraw(id).map(|request| {
                let asker = request.asker;
                self.shares.give_back(asker.origin, asker.cost);
                request.body.back()
            });
            let withdrawn = withdrawn.or_else(|| self.providers.reclaim(id, asking.turn));
            match &asking.verb {
                Verb::Find(_) => self.search_past(id, &asking),
                _ => self.refuse_late(id, asking, withdrawn, now),
            }
        }
        self.clients.next_late()
    }

    fn search_past(&mut self, id: u32, asking: &Asking) {
        let Verb::Find(search) = &asking.verb else {
            return;
        };
        let refused = Reply::Refused(Refusal::NotFound, Back::Nothing);
        if search.union {
            self.silent = self.root;
            let who = (id, self.clients.origin(id));
            self.united(who, asking, refused);
        } else if search.into.is_some() {
            let past = below(search, refused);
            self.answer(id, past);
        } else {
            self.answer(id, Reply::Refused(Refusal::Silent, Back::Nothing));
        }
    }

    fn refuse_late(&mut self, id: u32, mut asking: Asking, back: Option<Back>, now: Duration) {
        let who = (id, self.clients.origin(id));
        let back = match back {
            Some(back) => back,
            None => match in_place(&asking.verb) {
                Ok(back) => {
                    self.disown(who, &mut asking);
                    back
                }
                // Memory is short: it waits once more.
                Err(_) => {
                    asking.since = now;
                    return self.clients.keep(id, asking);
                }
            },
        };
        self.end(who, asking, Reply::Refused(Refusal::Silent, back));
    }
}

/// An endpoint whose other side is closed, in place of one that came with a request.
fn in_place(verb: &Verb) -> Result<Back, Error> {
    Ok(match verb {
        Verb::Bind => Back::Service(ServiceContract::new_channel()?.1),
        Verb::Notify(_) => Back::Watcher(NotifyContract::new_channel()?.0),
        Verb::Register { .. } => Back::Provider(NamespaceContract::new_channel()?.0),
        Verb::Find(_) | Verb::Deregister | Verb::Link { .. } | Verb::ReadLink => Back::Nothing,
    })
}
