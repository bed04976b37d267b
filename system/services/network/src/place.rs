//! The network's part of the name space: what may be done over a channel follows from the path that
//! was bound.

use crate::address::Address;
use crate::network::{Client, Network};
use sing_sdk::door::{Place, Turned};
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::walk::{Directories, Entry};

pub type Start = TcpConnectionContract::Exp<TcpConnectionContract::Start>;

/// What a channel may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Connections to everywhere, and every port to listen at.
    Any,
    /// A connection to here.
    To(Address, u16),
    /// This port, to listen at.
    Port(u16),
    /// A connection that was accepted.
    Accepted(u32),
}

/// What a path below the service's own is about.
fn target(path: &str) -> Result<Target, Refusal> {
    let mut parts = path.split('/').filter(|p| !p.is_empty());
    let (first, second) = (parts.next(), parts.next());
    if parts.next().is_some() {
        return Err(Refusal::NotFound);
    }
    // A sign or zeros before it are no other name of the same port.
    let port = |text: &str| {
        let port: u16 = text.parse().map_err(|_| Refusal::NotFound)?;
        let plain = port != 0 && text.starts_with(|c: char| ('1'..='9').contains(&c));
        plain.then_some(port).ok_or(Refusal::NotFound)
    };
    match (first, second) {
        (None, _) => Ok(Target::Any),
        (Some(_), None) => Err(Refusal::NotFound),
        (Some("listen"), Some(second)) => port(second).map(Target::Port),
        (Some(first), Some(second)) => {
            let address = Address::parse(first).filter(|a| a.is_unicast());
            let address = address.ok_or(Refusal::NotFound)?;
            port(second).map(|port| Target::To(address, port))
        }
    }
}

impl Directories for Network {
    /// Addresses and ports are too many to be listed.
    fn list(&mut self, at: &str, after: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
        match at {
            "/" if after.is_none_or(|a| a < "listen") => Ok([Entry::directory("listen")].into()),
            "/" | "/listen" => Ok(Vec::new()),
            _ => Err(Refusal::NotFound),
        }
    }
}

impl Place for Network {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        let target = match target(path) {
            Ok(target) => target,
            Err(refusal) => return Err((refusal, client)),
        };
        self.seek();
        self.seek_host();
        let client: Start = client.cast().map_err(|e| (Refusal::OtherContract, e))?;
        let taken = self.slots.insert(origin, client, |client| {
            Client::Ready(client.send_success(), target)
        });
        taken
            .map(drop)
            .map_err(|(_, client)| (Refusal::NoResources, client.into_endpoint()))
    }
}
