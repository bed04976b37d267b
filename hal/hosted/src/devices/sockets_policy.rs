//! What programs of the system may do with sockets of the host: by default, be reached from this
//! machine, and nothing more.
//!
//! Invariant: addresses are compared as what they are: ::ffff:127.0.0.1 is 127.0.0.1.

use sing_sockets::Place;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Where the host keeps the addresses of the servers that know names.
const SERVERS: &str = "/etc/resolv.conf";
/// Their port, and the most of them.
const DNS: u16 = 53;
const MOST: usize = 3;

/// What programs of the system may do with sockets of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostSockets {
    /// Nothing: the machine has no device for them.
    #[default]
    None,
    /// Listen at the host's loopback.
    Loopback,
    /// Connect to all that the host's user can reach, and listen at any of the host's addresses. The
    /// servers that are asked for names of hosts; if there are none, those that the host asks.
    Host(Vec<SocketAddr>),
    /// Connect to these addresses, and listen at the host's loopback. The servers as above, as far as
    /// they are permitted.
    Only(Vec<AddressRange>, Vec<SocketAddr>),
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    address: IpAddr,
    bits: u32,
}

/// A range of addresses that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeError(String);

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "--net host: `{text}` is no range of addresses; write 10.0.0.0/8 or ::1/128, or \
             dns=10.0.0.1 for a server of names"
        )
    }
}

impl std::error::Error for RangeError {}

/// An address as one number of 128 bits, left aligned.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl AddressRange {
    fn named(text: &str) -> Option<AddressRange> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most)?,
            None => most,
        };
        Some(AddressRange { address, bits })
    }

    fn has(&self, address: IpAddr) -> bool {
        let differ = bits(self.address) ^ bits(address);
        let within = differ.checked_shr(128 - self.bits).unwrap_or(0) == 0;
        self.address.is_ipv4() == address.is_ipv4() && within
    }
}

/// A server of names, as `ADDRESS` or `ADDRESS:PORT`.
fn server(text: &str) -> Option<SocketAddr> {
    let alone = || Some(SocketAddr::new(text.parse().ok()?, DNS));
    text.parse().ok().or_else(alone)
}

/// The servers that a resolv.conf(5) names.
fn of_the_host(text: &str) -> Vec<SocketAddr> {
    let lines = text.lines().map(str::split_whitespace);
    let named = lines.filter_map(|mut words| match (words.next(), words.next()) {
        (Some("nameserver"), Some(address)) => Some(SocketAddr::new(address.parse().ok()?, DNS)),
        _ => None,
    });
    named.collect()
}

impl HostSockets {
    /// Reads `none`, `host` or `host,RANGE,...`, with `dns=ADDRESS` or `dns=ADDRESS:PORT` among the
    /// ranges; `None` if the text is another kind of network.
    ///
    /// # Errors
    /// The text that is no range of addresses.
    pub fn named(text: &str) -> Option<Result<HostSockets, RangeError>> {
        let mut parts = text.split(',');
        match parts.next() {
            Some("none") if text == "none" => return Some(Ok(HostSockets::None)),
            Some("host") => {}
            _ => return None,
        }
        let (mut ranges, mut servers) = (Vec::new(), Vec::new());
        for part in parts {
            let server = part.strip_prefix("dns=").map(server);
            match (server, AddressRange::named(part)) {
                (Some(Some(server)), _) => servers.push(server),
                (None, Some(range)) => ranges.push(range),
                _ => return Some(Err(RangeError(part.into()))),
            }
        }
        Some(Ok(match ranges.is_empty() {
            true => HostSockets::Host(servers),
            false => HostSockets::Only(ranges, servers),
        }))
    }

    /// The servers to be asked for names of hosts, as far as they are permitted.
    pub(super) fn servers(&self) -> Vec<Place> {
        let named = match self {
            HostSockets::None | HostSockets::Loopback => return Vec::new(),
            HostSockets::Host(named) | HostSockets::Only(_, named) => named.clone(),
        };
        let named = match named.is_empty() {
            true => of_the_host(&std::fs::read_to_string(SERVERS).unwrap_or_default()),
            false => named,
        };
        let places = named.into_iter().map(Place::from);
        let permitted = places.filter(|place| self.permits(place.address));
        permitted.take(MOST).collect()
    }

    /// Whether connections to an address are permitted.
    pub(super) fn permits(&self, address: Ipv6Addr) -> bool {
        let address = address.to_canonical();
        match self {
            HostSockets::None | HostSockets::Loopback => false,
            HostSockets::Host(_) => true,
            HostSockets::Only(ranges, _) => ranges.iter().any(|range| range.has(address)),
        }
    }

    /// Whether connections to some addresses are permitted.
    pub(super) fn is_outward(&self) -> bool {
        matches!(self, HostSockets::Host(_) | HostSockets::Only(..))
    }

    /// Whether listeners may be at any address.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, HostSockets::Host(_))
    }

    /// The addresses at which one listens who asks for this one; none if that is not permitted.
    pub(super) fn listens(&self, address: Ipv6Addr) -> Vec<IpAddr> {
        use std::net::Ipv4Addr;
        let asked = address.to_canonical();
        let v4 = asked.is_ipv4();
        match (asked.is_unspecified(), self.is_open()) {
            (true, true) if v4 => vec![Ipv4Addr::UNSPECIFIED.into()],
            (true, true) => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
            (true, false) if v4 => vec![Ipv4Addr::LOCALHOST.into()],
            (true, false) => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            (false, open) if open || asked.is_loopback() => vec![asked],
            (false, _) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v6(text: &str) -> Ipv6Addr {
        match text.parse().unwrap() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        }
    }

    fn named(text: &str) -> HostSockets {
        HostSockets::named(text).unwrap().unwrap()
    }

    #[test]
    fn without_a_word_nothing_outside_can_be_reached() {
        for address in ["127.0.0.1", "::1", "10.0.0.1", "2001:db8::1"] {
            assert!(!HostSockets::Loopback.permits(v6(address)));
            assert!(named("host").permits(v6(address)));
        }
        for address in ["0.0.0.0", "::"] {
            let all = HostSockets::Loopback.listens(v6(address));
            assert!(!all.is_empty() && all.iter().all(IpAddr::is_loopback));
            let all = named("host,10.0.0.0/8").listens(v6(address));
            assert!(!all.is_empty() && all.iter().all(IpAddr::is_loopback));
            let all = named("host").listens(v6(address));
            assert!(!all.is_empty() && all.iter().all(IpAddr::is_unspecified));
        }
        assert!(HostSockets::Loopback.listens(v6("10.0.0.1")).is_empty());
        assert_eq!(HostSockets::Loopback.listens(v6("127.0.0.2")).len(), 1);
    }

    #[test]
    fn a_range_has_the_addresses_that_begin_as_it_does() {
        let some = named("host,10.0.0.0/8,192.168.1.7,2001:db8::/32");
        for (address, within) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("192.168.1.7", true),
            ("192.168.1.6", false),
            ("::ffff:10.0.0.1", true),
            ("2001:db8:1::", true),
            ("2001:db9::", false),
            ("a00::1", false),
        ] {
            assert_eq!(some.permits(v6(address)), within, "{address}");
        }
        let all = named("host,0.0.0.0/0");
        assert!(all.permits(v6("1.2.3.4")) && !all.permits(v6("2001:db8::1")));
    }

    #[test]
    fn servers_of_names_are_those_that_are_permitted() {
        let of = |text: &str| {
            let all = named(text).servers();
            all.iter().map(|p| (p.address, p.port)).collect::<Vec<_>>()
        };
        let all = of("host,127.0.0.0/8,dns=127.0.0.1:5353,dns=10.0.0.1,dns=[::1]:7");
        assert_eq!(all, [(v6("127.0.0.1"), 5353)]);
        let all = of("host,dns=::1,dns=10.0.0.1");
        assert_eq!(all, [(v6("::1"), 53), (v6("10.0.0.1"), 53)]);
        assert!(HostSockets::Loopback.servers().is_empty());
        let text = "# a comment\nsearch a\nnameserver 10.0.0.2\nnameserver x\nnameserver ::1 # b\n";
        let all = of_the_host(text);
        assert_eq!(
            all,
            [("10.0.0.2:53"), ("[::1]:53")].map(|a| a.parse().unwrap())
        );
    }

    #[test]
    fn what_is_no_range_is_named() {
        for text in [
            "host,dns=",
            "host,dns=here",
            "host,",
            "host,10.0.0.0/33",
            "host,::/129",
            "host,here",
            "host,1.2.3.4/x",
        ] {
            let error = HostSockets::named(text).unwrap().unwrap_err().to_string();
            assert!(error.contains("10.0.0.0/8"), "{error}");
        }
        for text in ["127.0.0.1:1,127.0.0.1:2", "user", "hosts", "none,x"] {
            assert!(HostSockets::named(text).is_none(), "{text}");
        }
    }
}
