//! What one name server leaves to the next: its clients' channels and that to the boot files.
//!
//! The next one knows of each client its origin and the state of its channel, and no more. It gives
//! the answers that its predecessor owes as they are true now: what was registered is registered no
//! more, and whoever registered finds the channel closed; what was on its way to a service has
//! arrived or is closed; what was looked for is to be asked again.
//!
//! For a while ([`nameserver::grace`]) names are missing that are about to be registered again, so that
//! those who ask for them are told to ask again ([`Refusal::Again`]).

use crate::budget;
use crate::server::{Server, Who};
use NamespaceContract::{Exp, Imp};
use nameserver::Node;
use nameserver::grace::Grace;
use nameserver::origin;
use sing_sdk::door;
use sing_sdk::legacy;
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::rt::Endpoint;
use sing_sdk::share::SYSTEM;
use sing_sdk::time;

/// The number under which the channel to the boot files is left; an origin is smaller.
const BOOT: u32 = u32::MAX;
/// That of a client of the system's own that registers names: what it starts are services, even if
/// it starts one before it has registered anything with the successor.
pub const REGISTRAR: u32 = u32::MAX - 1;

/// What a predecessor has left.
#[derive(Default)]
pub struct Legacy {
    /// The boot files.
    pub boot: Option<Boot>,
    /// Clients with their origins.
    pub clients: Vec<(u32, Exp<NamespaceContract::Ready>)>,
}

/// A channel to a provider that may owe an answer, which is then nobody's.
pub enum Boot {
    Start(Imp<NamespaceContract::Start>),
    Ready(Imp<NamespaceContract::Ready>),
    Binding(Imp<NamespaceContract::Binding>),
    Finding(Imp<NamespaceContract::Finding>),
    Notifying(Imp<NamespaceContract::Notifying>),
    Registering(Imp<NamespaceContract::Registering>),
    Deregistering(Imp<NamespaceContract::Deregistering>),
    Linking(Imp<NamespaceContract::Linking>),
    Reading(Imp<NamespaceContract::Reading>),
}

/// Leaves the channel to the boot files to the next name server.
pub fn keep_boot(boot: &Imp<NamespaceContract::Start>) {
    legacy::keep(boot, BOOT);
}

/// Takes what a predecessor has left; nothing in a name server that is the first.
pub fn take() -> Legacy {
    let mut taken = Legacy::default();
    for (tag, endpoint) in legacy::take() {
        if tag == BOOT {
            taken.boot = boot(endpoint);
        } else if let Some(client) = door::resume(endpoint) {
            taken.clients.push((tag, client));
        }
    }
    taken
}

/// A provider's channel in the state that it is in.
fn boot(endpoint: Endpoint) -> Option<Boot> {
    let other = match endpoint.cast() {
        Ok(channel) => return Some(Boot::Ready(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Start(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Binding(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Finding(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Notifying(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Registering(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Deregistering(channel)),
        Err(other) => other,
    };
    let other = match other.cast() {
        Ok(channel) => return Some(Boot::Linking(channel)),
        Err(other) => other,
    };
    other.cast().ok().map(Boot::Reading)
}

impl Server {
    /// Takes over what a predecessor has left, with the boot files at a path.
    pub fn take_over(&mut self, at: &str, legacy: Legacy) {
        if legacy.boot.is_none() && legacy.clients.is_empty() {
            return;
        }
        let has_manager = legacy.clients.iter().any(|(tag, _)| *tag == REGISTRAR);
        self.grace = Some(Grace::new(time::uptime(), has_manager));
        self.expect_root();
        // All origins are known before new clients get numbers.
        let mut clients = legacy.clients;
        clients.retain(|(origin, _)| {
            let origin = if *origin == REGISTRAR {
                SYSTEM
            } else {
                *origin
            };
            self.shares.take(origin, budget::CLIENT)
        });
        for (origin, client) in clients {
            let id = self.clients.number(&self.shares);
            if !self.admit(id, origin, false, client) {
                eprintln!("nameserver: no room for a client of the name server before");
            }
        }
        let (Some(boot), Some(path)) = (legacy.boot, path::normalize(at)) else {
            return;
        };
        let room = self.shares.take(SYSTEM, budget::registration(&path));
        let mounted = match room {
            true => self.providers.take_over(&path, boot, &self.set),
            false => Err(Error::NoResources),
        };
        match mounted {
            Ok(id) => self.tree.register(&path, Node::Provider(id)),
            Err(e) => eprintln!("nameserver: cannot mount at {at}: {e}"),
        }
    }

    /// Whether names may be missing that are about to be registered again.
    pub(crate) fn in_grace(&mut self) -> bool {
        let now = time::uptime();
        self.grace.take_if(|grace| grace.is_over(now));
        self.grace.is_some()
    }

    /// Whether a client must wait with registering until the system's own services are there again.
    pub(crate) fn has_to_wait(&self, (client, origin): Who) -> bool {
        let is_service = origin::is_service(origin);
        let holds_back = |grace: &Grace| grace.holds_back(time::uptime(), is_service);
        origin != SYSTEM && client != 0 && self.grace.as_ref().is_some_and(holds_back)
    }

    /// Notes that a client has registered a name or made a link.
    pub(crate) fn has_registered(&mut self, client: u32) {
        if self.clients.is_registrar(client)
            && let Some(grace) = &mut self.grace
        {
            grace.registered(time::uptime());
        }
    }
}
