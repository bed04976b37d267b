//! IPv6 on a card's link: the addresses that it has behind the prefixes of its routers (RFC 4862), and
//! the router.
//!
//! Anybody on the link can say to be a router; that is so wherever nobody guards the link.
//!
//! Invariants:
//! - An address is that of one machine: it is made of a prefix that was looked at
//!   ([`sing_packets::icmp`]), as smoltcp panics at others.
//! - At most [`PREFIXES`] prefixes and one router are kept, none for longer than was said last.
//! - What is said shortens nobody's address to less than [`SHORTEST`] (RFC 4862, 5.5.3).

use alloc::vec::Vec;
use core::net::Ipv6Addr;
use core::time::Duration;
use sing_packets::icmp::{self, Advert};
use sing_sdk::time::uptime;

/// Prefixes: each makes an address, for which the interface has room.
const PREFIXES: usize = 2;
/// How often routers are asked, and how long they are given to answer.
const ASKS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(4);
/// The shortest time that one who is not known to be the router may leave to an address.
const SHORTEST: Duration = Duration::from_secs(2 * 3600);
/// Longer is for ever.
const LONGEST: u64 = 365 * 24 * 3600;

pub struct Routers {
    mac: [u8; 6],
    prefixes: Vec<(Ipv6Addr, Duration)>,
    router: Option<(Ipv6Addr, Duration)>,
    asked: u32,
    next: Duration,
}

impl Routers {
    pub fn new(mac: [u8; 6]) -> Routers {
        Routers {
            mac,
            prefixes: Vec::new(),
            router: None,
            asked: 0,
            next: Duration::ZERO,
        }
    }

    /// The link may be another one now: routers are asked again.
    pub fn again(&mut self) {
        (self.asked, self.next) = (0, Duration::ZERO);
    }

    /// The frame that asks routers, if it is time.
    pub fn ask(&mut self) -> Option<Vec<u8>> {
        let now = uptime();
        if self.asked >= ASKS || now < self.next {
            return None;
        }
        self.asked += 1;
        self.next = now + PATIENCE;
        Some(icmp::solicit(self.mac).to_vec())
    }

    /// Takes over what a router says.
    pub fn hear(&mut self, said: &Advert) {
        let now = uptime();
        let until = |seconds: u64| now + Duration::from_secs(seconds.min(LONGEST));
        self.asked = ASKS;
        match self.router {
            Some((router, _)) if router == said.router && said.seconds == 0 => self.router = None,
            Some((router, _)) if router != said.router => {}
            _ if said.seconds == 0 => {}
            _ => self.router = Some((said.router, until(said.seconds))),
        }
        let Some((prefix, seconds)) = said.prefix else {
            return;
        };
        let new = until(seconds);
        let room = self.prefixes.len() < PREFIXES && seconds > 0;
        match self.prefixes.iter_mut().find(|(known, _)| *known == prefix) {
            Some((_, old)) => *old = new.max((*old).min(now + SHORTEST)),
            None if room => self.prefixes.push((prefix, new)),
            None => {}
        }
    }

    /// Drops what holds no longer.
    pub fn expire(&mut self) {
        let now = uptime();
        self.prefixes.retain(|(_, until)| now < *until);
        self.router = self.router.filter(|(_, until)| now < *until);
    }

    /// The addresses: that of the link alone, then those behind prefixes.
    pub fn addresses(&self) -> Vec<Ipv6Addr> {
        let prefixes = self.prefixes.iter().map(|(prefix, _)| *prefix);
        let all = [icmp::LINK].into_iter().chain(prefixes);
        all.map(|prefix| icmp::own_address(prefix, self.mac))
            .collect()
    }

    /// The address of the card, the first byte lowest.
    pub fn card(&self) -> u64 {
        let [a, b, c, d, e, f] = self.mac;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }

    pub fn router(&self) -> Option<Ipv6Addr> {
        self.router.map(|(router, _)| router)
    }

    /// How long until something is to be done.
    pub fn delay(&self) -> Option<Duration> {
        let ask = (self.asked < ASKS).then_some(self.next);
        let router = self.router.map(|(_, until)| until);
        let prefix = self.prefixes.iter().map(|(_, until)| *until).min();
        let least = [ask, router, prefix].into_iter().flatten().min();
        least.map(|at| at.saturating_sub(uptime()))
    }
}
