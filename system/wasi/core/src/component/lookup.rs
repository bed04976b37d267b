//! `wasi:sockets/ip-name-lookup`.

use super::poll::Pollable;
use super::resources::Resource;
use super::sockets::{Made, segments};
use super::{Component, Outcome, Room};
use crate::host::Host;
use crate::net::{Answer, Code, Network, Pending};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

/// The longest text that is looked at: names of hosts have 253 characters at most.
const LONGEST: usize = 1 << 10;
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A name that is looked up.
pub(crate) enum Lookup<H: Host> {
    Pending(<H::Net as Network>::Lookup),
    /// The addresses that have not been told, the next one last.
    Found(Vec<IpAddr>),
    Failed(Code),
}

impl<H: Host> Lookup<H> {
    pub fn pending(&self) -> Option<&<H::Net as Network>::Lookup> {
        match self {
            Lookup::Pending(pending) => Some(pending),
            _ => None,
        }
    }
}

/// The address that a text is, also in brackets.
fn literal(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let parsed = match bare {
        Some(bare) => bare.parse().map(IpAddr::V6),
        None => text.parse(),
    };
    parsed.ok().map(|address: IpAddr| address.to_canonical())
}

/// Whether a text can be the name of a host. Names in other letters than those of ASCII can not, as there is
/// no table here by which they are written in these.
fn is_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let known = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        (1..=LONGEST_LABEL).contains(&label.len()) && label.bytes().all(known)
    };
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

impl<H: Room> Component<H> {
    /// `resolve-addresses`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn resolve(&mut self, network: u32, at: u32, len: u32, out: u32) -> Outcome {
        self.is_network(network)?;
        self.range(at, len.into())?;
        let text = match len as usize <= LONGEST {
            true => String::from_utf8(self.take(at, len, LONGEST)?).ok(),
            false => None,
        };
        // Nobody is asked without room for the answer.
        let room = match self.wasi.host.net().is_some() {
            true => self.has_room(),
            false => Err(Code::PermanentResolverFailure),
        };
        let made = room.and_then(|()| self.look_up(text.as_deref()));
        let made = made.and_then(|lookup| self.add_made(Made::Lookup(lookup)));
        match made {
            Ok(fd) => {
                self.hold(fd);
                let handle = self.table.add(Resource::Lookup(fd))?;
                self.answer_handles(out, Ok(&[handle]))
            }
            Err(code) => self.answer_handles(out, Err(code)),
        }
    }

    fn look_up(&mut self, text: Option<&str>) -> Answer<Lookup<H>> {
        let net = self.wasi.host.net().ok_or(Code::PermanentResolverFailure)?;
        let text = text.ok_or(Code::InvalidArgument)?;
        if let Some(address) = literal(text) {
            return Ok(Lookup::Found(vec![address]));
        }
        match is_name(text) {
            true => net.look_up(text).map(Lookup::Pending),
            false => Err(Code::InvalidArgument),
        }
    }

    /// `[method]resolve-address-stream.resolve-next-address`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn next_address(&mut self, lookup: u32, out: u32) -> Outcome {
        let fd = *self.table.lookup(lookup)?;
        let next = self.next_found(fd)?;
        let mut bytes = [0; 20];
        match next {
            Err(code) => return self.net_answer(out, 2, Err(code)),
            Ok(None) => {}
            Ok(Some(IpAddr::V4(v4))) => {
                bytes[0] = 1;
                bytes[4..8].copy_from_slice(&v4.octets());
            }
            Ok(Some(IpAddr::V6(v6))) => {
                (bytes[0], bytes[2]) = (1, 1);
                bytes[4..].copy_from_slice(&segments(v6));
            }
        }
        self.net_answer(out, 2, Ok(&bytes))
    }

    fn next_found(&mut self, fd: u32) -> Outcome<Answer<Option<IpAddr>>> {
        let Made::Lookup(lookup) = self.made(fd)? else {
            return Err("passes a resolve-address-stream that is none".into());
        };
        if let Some(pending) = lookup.pending() {
            if !pending.is_ready() {
                return Ok(Err(Code::WouldBlock));
            }
            let failed = Lookup::Failed(Code::PermanentResolverFailure);
            let Lookup::Pending(pending) = core::mem::replace(lookup, failed) else {
                return Ok(Err(Code::PermanentResolverFailure));
            };
            let found = self.net().and_then(|net| net.found(pending));
            let Made::Lookup(lookup) = self.made(fd)? else {
                return Err("passes a resolve-address-stream that is none".into());
            };
            *lookup = match found {
                Ok(mut all) => {
                    all.reverse();
                    Lookup::Found(all)
                }
                Err(code) => Lookup::Failed(code),
            };
        }
        let Made::Lookup(lookup) = self.made(fd)? else {
            return Err("passes a resolve-address-stream that is none".into());
        };
        Ok(match lookup {
            Lookup::Found(all) => Ok(all.pop()),
            Lookup::Failed(code) => Err(*code),
            Lookup::Pending(_) => Err(Code::WouldBlock),
        })
    }

    /// `[method]resolve-address-stream.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn subscribe_lookup(&mut self, lookup: u32) -> Outcome<u32> {
        let fd = *self.table.lookup(lookup)?;
        self.hold(fd);
        self.pollable(Pollable::Read(fd))
    }
}
