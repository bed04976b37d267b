//! Names of hosts, and whether they answer.

use super::ip;
use crate::Error;
use crate::contracts::{EchoContract, LinksContract, ResolveContract, TcpFault};
use crate::names::Names;
use crate::rt::Text;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;

/// Why a host is not reached, in words for a person, with the way out if there is one.
#[must_use]
pub fn explain(host: &str, error: &Error) -> String {
    let local = host.parse::<IpAddr>();
    let named = || {
        let name = host.strip_suffix('.').unwrap_or(host);
        name.eq_ignore_ascii_case("localhost")
    };
    let local = local.map_or_else(|_| named(), |ip| ip.to_canonical().is_loopback());
    match error {
        Error::NotFound => "neither the name nor the address of a host".into(),
        Error::Network(TcpFault::NotPermitted) => {
            "not permitted; the hosted system's programs connect to the host and beyond if it is \
             started with `--net host`"
                .into()
        }
        // Its own loopback is the system's and, with that option, the host's.
        Error::Network(TcpFault::Refused) if local => {
            format!(
                "{error}; no program of this system listens there, and the hosted system reaches \
                 those of its host if it is started with `--net host`"
            )
        }
        Error::Network(TcpFault::Unreachable) => {
            format!("{error}; if the machine has no network, its option `--net` gives it one")
        }
        _ => format!("{error}"),
    }
}

fn resolver(names: &mut Names) -> Result<ResolveContract::Imp<ResolveContract::Ready>, Error> {
    let (imp, exp) = ResolveContract::new_channel()?;
    names.bind("/dns", exp)?;
    Ok(imp.recv_success()?)
}

/// The addresses of a host; an address is its own.
///
/// # Errors
/// Those of [`Names::bind`], and [`Error::Network`] if it has none or no server answers.
pub fn look_up(names: &mut Names, host: &str) -> Result<Vec<IpAddr>, Error> {
    use ResolveContract::imp::Ready_Lookup as Answer;
    if let Ok(address) = host.parse() {
        return Ok([address].into());
    }
    match resolver(names)?.call_lookup(Text::new(host)?) {
        Answer::Addresses(all, _) => Ok(all.iter().map(ip).collect()),
        Answer::NotFound(reason, _) => Err(Error::Network(reason)),
        Answer::Closed => Err(Error::Closed),
    }
}

/// The records of a type that a host has, as the message of DNS that says so, and how old it is.
///
/// # Errors
/// As [`look_up`].
pub fn query(names: &mut Names, host: &str, kind: u16) -> Result<(Vec<u8>, Duration), Error> {
    use ResolveContract::imp::Ready_Query as Answer;
    match resolver(names)?.call_query(Text::new(host)?, kind) {
        Answer::Answer(message, age, _) => Ok((message.to_vec(), Duration::from_secs(age.into()))),
        Answer::NotFound(reason, _) => Err(Error::Network(reason)),
        Answer::Closed => Err(Error::Closed),
    }
}

/// A host that can be asked whether it answers.
#[derive(Debug)]
pub struct Echo(Option<EchoContract::Imp<EchoContract::Ready>>);

impl Echo {
    /// A host, by its name or address.
    ///
    /// # Errors
    /// Those of [`Names::bind`].
    pub fn new(names: &mut Names, host: &str) -> Result<Echo, Error> {
        let (imp, exp) = EchoContract::new_channel()?;
        names.bind(&format!("/icmp/{host}"), exp)?;
        Ok(Echo(Some(imp.recv_success()?)))
    }

    /// Sends it so many bytes; from where they have come back, and how long that took.
    ///
    /// # Errors
    /// [`Error::Network`] if they have not.
    pub fn ask(&mut self, bytes: u32, patience: Duration) -> Result<(IpAddr, Duration), Error> {
        use EchoContract::imp::Ready_Echo as Answer;
        let milliseconds = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        let channel = self.0.take().ok_or(Error::Closed)?;
        match channel.call_echo(bytes, milliseconds) {
            Answer::Answered(from, nanoseconds, next) => {
                self.0 = Some(next);
                Ok((ip(from), Duration::from_nanos(nanoseconds)))
            }
            Answer::NotAnswered(reason, next) => {
                self.0 = Some(next);
                Err(Error::Network(reason))
            }
            Answer::Closed => Err(Error::Closed),
        }
    }
}

/// A link of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The address of its card; all zero for the link of the machine with itself.
    pub card: [u8; 6],
    /// The most bytes of a packet.
    pub mtu: u32,
    /// Its addresses, and how many of their bits are those of their network.
    pub addresses: Vec<(IpAddr, u32)>,
    /// Where packets for other networks go.
    pub routers: Vec<IpAddr>,
    /// Servers that know the names of hosts.
    pub servers: Vec<IpAddr>,
}

/// The links of the network.
///
/// # Errors
/// Those of [`Names::bind`], and [`Error::Closed`] if the network has gone.
pub fn links(names: &mut Names) -> Result<Vec<Link>, Error> {
    use LinksContract::imp::Ready_Describe as Answer;
    let (imp, exp) = LinksContract::new_channel()?;
    names.bind("/net", exp)?;
    let mut channel = imp.recv_success()?;
    let mut links = Vec::new();
    loop {
        match channel.call_describe(links.len() as u32) {
            Answer::Link(card, mtu, all, routers, servers, next) => {
                channel = next;
                let all = all.iter().map(|a| {
                    let bits = u128::from(a.high) << 64 | u128::from(a.low);
                    (Ipv6Addr::from_bits(bits).to_canonical(), a.bits)
                });
                let mut own: Vec<_> = all.collect();
                let last = |own: &mut Vec<(IpAddr, u32)>, count: u32| {
                    let at = own.len().saturating_sub(count as usize);
                    own.split_off(at).into_iter().map(|(a, _)| a).collect()
                };
                let servers = last(&mut own, servers);
                let routers = last(&mut own, routers);
                let [a, b, c, d, e, f, ..] = card.to_le_bytes();
                links.push(Link {
                    card: [a, b, c, d, e, f],
                    mtu,
                    addresses: own,
                    routers,
                    servers,
                });
            }
            Answer::NoLink(_) => return Ok(links),
            Answer::Closed => return Err(Error::Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_is_refused_here_may_be_the_hosts() {
        let refused = Error::Network(TcpFault::Refused);
        for host in [
            "127.0.0.1",
            "127.8.9.1",
            "::1",
            "::ffff:127.0.0.1",
            "localhost",
        ] {
            let text = explain(host, &refused);
            assert!(text.starts_with("connection refused; "), "{host}: {text}");
            assert!(text.contains("`--net host`"), "{host}: {text}");
        }
        for host in ["10.0.2.2", "::2", "example.org", "localhost.example"] {
            assert_eq!(explain(host, &refused), "connection refused", "{host}");
        }
        let forbidden = Error::Network(TcpFault::NotPermitted);
        assert!(explain("10.0.2.2", &forbidden).contains("`--net host`"));
        assert_eq!(
            explain("127.0.0.1", &Error::Closed),
            Error::Closed.to_string()
        );
    }
}
