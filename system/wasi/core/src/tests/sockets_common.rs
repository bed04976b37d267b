//! A component with a network in memory, and what its calls answer.

use super::OUT;
use super::components::{World, component, get};
use super::fake_net::Net;
use crate::component::Outcome;
use crate::net::Code;
use core::net::{IpAddr, SocketAddr};
use std::string::String;
use std::vec::Vec;

/// A component with a network.
pub(super) fn networked() -> World {
    let mut world = component().world;
    world.wasi.host().net = Some(Net::default());
    world
}

pub(super) fn net(world: &mut World) -> &mut Net {
    world.wasi.host().net.as_mut().unwrap()
}

/// An address as parameters.
pub(super) fn flat(text: &str) -> [u32; 12] {
    let mut flat = [0; 12];
    let address: SocketAddr = text.parse().unwrap();
    flat[1] = address.port().into();
    match address {
        SocketAddr::V4(v4) => {
            for (to, octet) in flat[2..].iter_mut().zip(v4.ip().octets()) {
                *to = octet.into();
            }
        }
        SocketAddr::V6(v6) => {
            flat[0] = 1;
            for (to, segment) in flat[3..].iter_mut().zip(v6.ip().segments()) {
                *to = segment.into();
            }
            flat[11] = v6.scope_id();
        }
    }
    flat
}

/// What a call has answered: the bytes of its result from this place on, or its error.
pub(super) fn said(world: &mut World, done: Outcome, at: u32, len: usize) -> Result<Vec<u8>, u8> {
    done.unwrap();
    match get(world, OUT, 1)[0] {
        0 => Ok(get(world, OUT + at, len)),
        _ => Err(get(world, OUT + at, 1)[0]),
    }
}

/// The same of a call that answers nothing.
pub(super) fn done(world: &mut World, outcome: Outcome) -> Result<(), Code> {
    code(said(world, outcome, 1, 0)).map(drop)
}

/// The same of a call that answers so many resources.
pub(super) fn handles<const N: usize>(
    world: &mut World,
    outcome: Outcome,
) -> Result<[u32; N], Code> {
    let bytes = code(said(world, outcome, 4, N * 4))?;
    let word = |at: usize| u32::from_le_bytes(bytes[at * 4..][..4].try_into().unwrap());
    Ok(core::array::from_fn(word))
}

pub(super) fn code<T>(said: Result<T, u8>) -> Result<T, Code> {
    const ALL: [Code; 21] = [
        Code::Unknown,
        Code::AccessDenied,
        Code::NotSupported,
        Code::InvalidArgument,
        Code::OutOfMemory,
        Code::Timeout,
        Code::ConcurrencyConflict,
        Code::NotInProgress,
        Code::WouldBlock,
        Code::InvalidState,
        Code::NewSocketLimit,
        Code::AddressNotBindable,
        Code::AddressInUse,
        Code::RemoteUnreachable,
        Code::ConnectionRefused,
        Code::ConnectionReset,
        Code::ConnectionAborted,
        Code::DatagramTooLarge,
        Code::NameUnresolvable,
        Code::TemporaryResolverFailure,
        Code::PermanentResolverFailure,
    ];
    said.map_err(|number| ALL[usize::from(number)])
}

/// The address that a call has answered.
pub(super) fn address(world: &mut World, outcome: Outcome) -> Result<String, Code> {
    let bytes = code(said(world, outcome, 4, 32))?;
    Ok(address_of(&bytes))
}

pub(super) fn address_of(bytes: &[u8]) -> String {
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let ip: IpAddr = match bytes[0] {
        0 => <[u8; 4]>::try_from(&bytes[6..10]).unwrap().into(),
        _ => core::array::from_fn::<u16, 8, _>(|i| half(12 + i * 2)).into(),
    };
    std::format!("{}", SocketAddr::new(ip, half(4)))
}
