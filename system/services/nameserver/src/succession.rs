//! What one name server leaves to the next: its clients' channels and that to the boot files.
//!
//! The next one knows of each client its origin and the state of its channel, and no more. It gives
//! the answers that its predecessor owes as they are true now: what was registered is registered no
//! more, and whoever registered finds the channel closed; what was on its way to a service has
//! arrived or is closed; what was looked for is to be asked again.
//!
//! For a while ([`GRACE`]) names are missing that are about to be registered again, so that those who
//! ask for them are told to ask again ([`Refusal::Again`]). At first ([`HOLD_BACK`]) only the system's
//! own programs register, the service manager above all: no other takes the name of one of its
//! services.

use crate::budget;
use crate::server::{Server, Who};
use NamespaceContract::{Exp, Imp};
use core::time::Duration;
use nameserver::Node;
use sing_sdk::door;
use sing_sdk::legacy;
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::rt::Endpoint;
use sing_sdk::share::SYSTEM;
use sing_sdk::time;

/// For how long after a restart names may still be missing.
pub const GRACE: Duration = Duration::from_millis(500);
/// For how long only the system's own programs register.
pub const HOLD_BACK: Duration = Duration::from_millis(100);

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
        self.grace = Some(time::uptime() + GRACE);
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
        self.grace = self.grace.filter(|until| time::uptime() < *until);
        self.grace.is_some()
    }

    /// Whether a client must wait with registering until the system's own services are there again.
    pub(crate) fn has_to_wait(&mut self, (client, origin): Who) -> bool {
        let over = |until: Duration| time::uptime() + GRACE >= until + HOLD_BACK;
        origin != SYSTEM && client != 0 && self.in_grace() && !self.grace.is_some_and(over)
    }
}
