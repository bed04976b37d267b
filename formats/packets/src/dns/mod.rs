//! Messages of DNS (RFC 1035): questions, and the answers to them.

mod answer;
mod name;

pub use answer::{Answer, Record};
pub use name::Name;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use smoltcp::wire::{DnsFlags, DnsOpcode, DnsPacket, DnsQuestion, DnsRepr};

/// The port of servers.
pub const PORT: u16 = 53;
/// The most bytes of a message over UDP.
pub const LONGEST: usize = 512;

/// The types of records that have names here, with their numbers.
const KINDS: [(&str, u16); 10] = [
    ("A", A),
    ("NS", 2),
    ("CNAME", CNAME),
    ("SOA", 6),
    ("PTR", 12),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", AAAA),
    ("SRV", 33),
    ("CAA", 257),
];

/// Addresses of IPv4.
pub const A: u16 = 1;
/// Addresses of IPv6.
pub const AAAA: u16 = 28;
/// The name that another stands for.
const CNAME: u16 = 5;

/// The number of a type of records by its name, in either case, or as `TYPE65`.
#[must_use]
pub fn kind(text: &str) -> Option<u16> {
    let known = KINDS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    match (known, text.get(..4)) {
        (Some((_, number)), _) => Some(*number),
        (None, Some(head)) if head.eq_ignore_ascii_case("TYPE") => text[4..].parse().ok(),
        _ => None,
    }
}

/// The name of a type of records.
#[must_use]
pub fn kind_name(number: u16) -> String {
    let known = KINDS.iter().find(|(_, known)| *known == number);
    known.map_or_else(|| format!("TYPE{number}"), |(name, _)| String::from(*name))
}

/// The message that asks a server for records of a name, and to ask others if it must.
#[must_use]
pub fn query(id: u16, name: &Name, kind: u16) -> Vec<u8> {
    let wire = name.to_wire();
    let repr = DnsRepr {
        transaction_id: id,
        opcode: DnsOpcode::Query,
        flags: DnsFlags::RECURSION_DESIRED,
        question: DnsQuestion {
            name: &wire,
            type_: kind.into(),
        },
    };
    let mut message = alloc::vec![0; repr.buffer_len()];
    repr.emit(&mut DnsPacket::new_unchecked(&mut message[..]));
    message
}

/// The answer to the question for records of a name that means this machine, with the number 0.
#[must_use]
pub fn localhost(name: &Name, kind: u16) -> Vec<u8> {
    let v6 = Ipv6Addr::LOCALHOST.octets();
    let data: &[u8] = match kind {
        A => &[127, 0, 0, 1],
        AAAA => &v6,
        _ => &[],
    };
    let mut message = query(0, name, kind);
    // An answer, and that others would have been asked.
    message[2..4].copy_from_slice(&[0x81, 0x80]);
    if !data.is_empty() {
        message[7] = 1;
        // The name of the question.
        message.extend([0xc0, 12]);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 0, 0, data.len() as u8]);
        message.extend(data);
    }
    message
}

#[cfg(test)]
mod tests;
