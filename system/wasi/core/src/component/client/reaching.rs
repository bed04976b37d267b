//! The way to a server: its name, and a connection to an address.

use crate::component::sockets::Family;
use crate::host::Host;
use crate::net::{Answer, Code, Network};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

pub fn look_up<H: Host>(host: &mut H, name: &str) -> Answer<<H::Net as Network>::Lookup> {
    host.net().ok_or(Code::AccessDenied)?.look_up(name)
}

pub fn found<H: Host>(host: &mut H, lookup: <H::Net as Network>::Lookup) -> Answer<Vec<IpAddr>> {
    host.net().ok_or(Code::AccessDenied)?.found(lookup)
}

pub fn connect<H: Host>(
    host: &mut H,
    remote: SocketAddr,
) -> Answer<<H::Net as Network>::Connecting> {
    let net = host.net().ok_or(Code::AccessDenied)?;
    // One of IPv4 in the form of IPv6 is judged as what it is.
    let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
    let family = match remote {
        SocketAddr::V4(_) => Family::V4,
        SocketAddr::V6(_) => Family::V6,
    };
    if !family.can_reach(remote) {
        return Err(Code::InvalidArgument);
    }
    let socket = net.tcp()?;
    net.connect(socket, remote)
}
