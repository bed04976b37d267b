//! Addresses, as contracts and paths have them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sing_sdk::contracts::IpAddress;
use sing_sdk::net::owner;
use smoltcp::wire::{self, IpListenEndpoint};

/// An address: IPv4 is ::ffff:a.b.c.d.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(Ipv6Addr);

impl Address {
    pub const ANY: Address = Address(Ipv6Addr::UNSPECIFIED);

    /// As a path or a person writes it.
    pub fn parse(text: &str) -> Option<Address> {
        text.parse().ok().map(Address::from_net)
    }

    fn from_net(address: IpAddr) -> Address {
        Address(match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        })
    }

    fn net(self) -> IpAddr {
        self.0.to_canonical()
    }

    /// One address for all that its owner has (`sing_sdk::net::owner`).
    pub fn owner(self) -> IpAddr {
        owner(self.0.into())
    }

    /// As smoltcp has it.
    pub fn ip(self) -> wire::IpAddress {
        self.net().into()
    }

    /// Any address, written as either family.
    pub fn is_any(self) -> bool {
        self.net().is_unspecified()
    }

    pub fn is_v4(self) -> bool {
        self.net().is_ipv4()
    }

    /// Of the link itself, and known there alone.
    pub fn is_link_local(self) -> bool {
        matches!(self.net(), IpAddr::V6(v6) if v6.is_unicast_link_local())
    }

    pub fn is_loopback(self) -> bool {
        self.net().is_loopback()
    }

    /// Of one machine, and not of many or of none.
    pub fn is_unicast(self) -> bool {
        let broadcast = self.net() == IpAddr::V4(Ipv4Addr::BROADCAST);
        !self.net().is_multicast() && !self.is_any() && !broadcast
    }

    pub fn listen(self, port: u16) -> IpListenEndpoint {
        IpListenEndpoint {
            addr: (!self.is_any()).then(|| self.ip()),
            port,
        }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        Address::from_net(address)
    }
}

impl From<IpAddress> for Address {
    fn from(address: IpAddress) -> Address {
        let bits = u128::from(address.high) << 64 | u128::from(address.low);
        Address(Ipv6Addr::from_bits(bits))
    }
}

impl From<Ipv6Addr> for Address {
    fn from(address: Ipv6Addr) -> Address {
        Address(address)
    }
}

impl From<Address> for Ipv6Addr {
    fn from(address: Address) -> Ipv6Addr {
        address.0
    }
}

impl From<Address> for IpAddress {
    fn from(address: Address) -> IpAddress {
        let bits = address.0.to_bits();
        IpAddress {
            high: (bits >> 64) as u64,
            low: bits as u64,
        }
    }
}

impl From<wire::IpAddress> for Address {
    fn from(address: wire::IpAddress) -> Address {
        Address::from_net(address.into())
    }
}
