//! What messages of the host's sockets say, as the network has it: faults, and places.

use crate::address::Address;
use core::net::Ipv6Addr;
use sing_sdk::prelude::*;
use sing_sockets::{Fault, Place};

pub fn fault(fault: Fault) -> TcpFault {
    match fault {
        Fault::None => TcpFault::None,
        Fault::Refused => TcpFault::Refused,
        Fault::Reset => TcpFault::Reset,
        Fault::TimedOut => TcpFault::TimedOut,
        Fault::Unreachable => TcpFault::Unreachable,
        Fault::NotLocal => TcpFault::NotLocal,
        Fault::InUse => TcpFault::InUse,
        Fault::NotPermitted => TcpFault::NotPermitted,
        Fault::NoResources => TcpFault::NoResources,
        Fault::Down => TcpFault::Down,
        Fault::TooLong => TcpFault::TooLong,
    }
}

pub fn place((address, port): (Address, u16)) -> Place {
    Place {
        address: Ipv6Addr::from(address),
        port,
    }
}

pub fn end(place: Place) -> (Address, u16) {
    (Address::from(place.address), place.port)
}
