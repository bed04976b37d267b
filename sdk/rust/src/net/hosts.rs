//! Names of hosts, and whether they answer.

use super::ip;
use crate::Error;
use crate::contracts::{EchoContract, LinksContract, ResolveContract};
use crate::names::Names;
use crate::rt::Text;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;

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
