//! The network's places in the name space beside `/tcp`, and what may be done over a channel that
//! was bound there.

use crate::address::Address;
use crate::clients::{More, Start};
use crate::network::{Client, Network};
use crate::place;
use sing_packets::dns::Name;
use sing_sdk::door::{Place, Turned};
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::walk::{Directories, Entry};

/// A place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Tcp,
    Udp,
    Names,
    Echo,
    Links,
}

/// The network as it is seen from one of its places.
pub struct View<'a>(pub &'a mut Network, pub Root);

/// Another machine, as a path says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    Address(Address),
    Name(Name),
}

impl Host {
    /// An address of one machine, or a name.
    pub fn parse(text: &str) -> Option<Host> {
        match Address::parse(text) {
            Some(address) => address.is_unicast().then_some(Host::Address(address)),
            None => Name::parse(text).map(Host::Name),
        }
    }
}

/// A path below a place where hosts and ports are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Any,
    To(Host, u16),
    Port(u16),
}

impl Way {
    pub fn parse(path: &str) -> Result<Way, Refusal> {
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
            (None, _) => Ok(Way::Any),
            (Some(_), None) => Err(Refusal::NotFound),
            (Some("listen"), Some(second)) => port(second).map(Way::Port),
            (Some(first), Some(second)) => {
                let host = Host::parse(first).ok_or(Refusal::NotFound)?;
                port(second).map(|port| Way::To(host, port))
            }
        }
    }
}

/// The only name in a path, if there is one.
fn single(path: &str) -> Result<Option<&str>, Refusal> {
    let mut parts = path.split('/').filter(|p| !p.is_empty());
    match (parts.next(), parts.next()) {
        (first, None) => Ok(first),
        _ => Err(Refusal::NotFound),
    }
}

/// What a client may do who binds a path below a place.
fn start(root: Root, path: &str) -> Result<Start, Refusal> {
    match root {
        Root::Tcp => Ok(match Way::parse(path)? {
            Way::Any => Start::Tcp(place::Target::Any),
            Way::Port(port) => Start::Tcp(place::Target::Port(port)),
            Way::To(Host::Address(address), port) => Start::Tcp(place::Target::To(address, port)),
            Way::To(Host::Name(name), port) => Start::NamedTcp(name, port),
        }),
        Root::Udp => Way::parse(path).map(Start::Udp),
        Root::Names => match single(path)? {
            None => Ok(Start::Names(None)),
            Some(name) => {
                let name = Name::parse(name).ok_or(Refusal::NotFound)?;
                Ok(Start::Names(Some(name)))
            }
        },
        Root::Echo => {
            let host = single(path)?.and_then(Host::parse);
            host.map(Start::Echo).ok_or(Refusal::NotFound)
        }
        Root::Links => match single(path)? {
            None => Ok(Start::Links),
            Some(_) => Err(Refusal::NotFound),
        },
    }
}

impl Directories for View<'_> {
    /// Addresses, names and ports are too many to be listed.
    fn list(&mut self, at: &str, after: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
        let ports = matches!(self.1, Root::Tcp | Root::Udp);
        match at {
            "/" if ports && after.is_none_or(|a| a < "listen") => {
                Ok([Entry::directory("listen")].into())
            }
            "/" => Ok(Vec::new()),
            "/listen" if ports => Ok(Vec::new()),
            _ => Err(Refusal::NotFound),
        }
    }
}

impl Place for View<'_> {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        let start = match start(self.1, path) {
            Ok(start) => start,
            Err(refusal) => return Err((refusal, client)),
        };
        self.0.seek();
        self.0.seek_host();
        match start {
            Start::Tcp(target) => self.0.admit_client(
                origin,
                client,
                TcpConnectionContract::Exp::<TcpConnectionContract::Start>::send_success,
                |client| Client::Ready(client, target),
            ),
            Start::NamedTcp(name, port) => self.0.admit_client(
                origin,
                client,
                TcpConnectionContract::Exp::<TcpConnectionContract::Start>::send_success,
                |client| Client::More(More::Tcp(client, name, port)),
            ),
            Start::Udp(way) => self.0.admit_client(
                origin,
                client,
                UdpContract::Exp::<UdpContract::Start>::send_success,
                |client| Client::More(More::Udp(client, way)),
            ),
            Start::Names(only) => self.0.admit_client(
                origin,
                client,
                ResolveContract::Exp::<ResolveContract::Start>::send_success,
                |client| Client::More(More::Names(client, only)),
            ),
            Start::Echo(host) => self.0.admit_client(
                origin,
                client,
                EchoContract::Exp::<EchoContract::Start>::send_success,
                |client| Client::More(More::Echo(client, host)),
            ),
            Start::Links => self.0.admit_client(
                origin,
                client,
                LinksContract::Exp::<LinksContract::Start>::send_success,
                |client| Client::More(More::Links(client)),
            ),
        }
    }
}

impl Network {
    /// Takes a client, if its endpoint is of the contract and it may have a channel more.
    fn admit_client<S: TypedEndpoint, R>(
        &mut self,
        origin: u32,
        client: Endpoint,
        greet: impl FnOnce(S) -> R,
        fill: impl FnOnce(R) -> Client,
    ) -> Result<(), Turned> {
        let client: S = client.cast().map_err(|e| (Refusal::OtherContract, e))?;
        let taken = self
            .slots
            .insert(origin, client, |client| fill(greet(client)));
        taken
            .map(drop)
            .map_err(|(_, client)| (Refusal::NoResources, client.into_endpoint()))
    }
}
