//! A name of a host, as DNS has it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use smoltcp::wire::DnsPacket;

/// The most bytes of a name as text, and of one of its parts.
const LONGEST: usize = 253;
const LONGEST_PART: usize = 63;

/// A name: parts of letters, digits, `-` and `_`, in small letters, without the last dot. No such
/// name can be taken for an address, as its last part is not of digits alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// A name as people write it, `Example.org` or `example.org.`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Name> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() || text.len() > LONGEST {
            return None;
        }
        let good = |part: &str| {
            let known = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            !part.is_empty() && part.len() <= LONGEST_PART && part.bytes().all(known)
        };
        let last = text.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().all(|b| b.is_ascii_digit());
        (!number && text.split('.').all(good)).then(|| Name(text.to_ascii_lowercase()))
    }

    /// The name at a place of a message: `None` if it is none, or not one of a host.
    pub(super) fn read(packet: &DnsPacket<&[u8]>, at: &[u8]) -> Option<Name> {
        Name::parse(&text(packet, at)?)
    }

    /// Whether it means this machine, whatever servers say (RFC 6761).
    #[must_use]
    pub fn is_localhost(&self) -> bool {
        self.0 == "localhost" || self.0.ends_with(".localhost")
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As messages have it.
    pub(super) fn to_wire(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() + 2);
        for part in self.0.split('.') {
            bytes.push(part.len() as u8);
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes.push(0);
        bytes
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name at a place of a message as text, whatever its parts are of: what cannot be printed, and
/// dots within parts, as `\DDD`.
pub(super) fn text(packet: &DnsPacket<&[u8]>, at: &[u8]) -> Option<String> {
    let (mut text, mut bytes) = (String::new(), 0);
    for part in packet.parse_name(at) {
        let part = part.ok()?;
        bytes += part.len() + 1;
        if bytes > LONGEST + 1 {
            return None;
        }
        if !text.is_empty() {
            text.push('.');
        }
        super::answer::push_plain(&mut text, part, b".\\");
    }
    Some(if text.is_empty() { ".".into() } else { text })
}
