//! A link: an interface with its addresses, the card or loop behind it, and the sockets whose
//! packets go over it.
//!
//! A link with a card has the address that a DHCP server gives it. Until there is one, connections
//! wait for it, a while.
//!
//! A socket is on one link from its beginning: smoltcp sends what a set of sockets has to send over
//! whichever interface polls the set.

use crate::address::Address;
use crate::card::Card;
use crate::looped::Loop;
use crate::wire::Wire;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::time::uptime;
use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet,
};
use smoltcp::socket::{Socket, dhcpv4, tcp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address};

/// Bytes that a connection keeps of each direction: what has come and was not read, and what was
/// not yet acknowledged.
const BUFFER: usize = 64 << 10;
/// A connection whose other side does not answer for so long is given up.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often the other side of an idle connection is asked whether it is still there. smoltcp
/// counts [`PATIENCE`] from the last packet that came, so one that has nothing to say must be asked.
const ASK: Duration = Duration::from_secs(PATIENCE.as_secs() / 4);
/// Rounds of packets in one step: what comes back over a loop at once is taken at once.
const ROUNDS: usize = 8;

pub struct Link {
    interface: Interface,
    pub sockets: SocketSet<'static>,
    pub wire: Wire,
    /// Where the link's address comes from.
    lease: Option<SocketHandle>,
    seed: u64,
}

/// Now, on smoltcp's clock.
fn now() -> Instant {
    Instant::from_micros(i64::try_from(uptime().as_micros()).unwrap_or(i64::MAX))
}

/// Whether an address can be that of one machine on a link.
fn is_host(address: Ipv4Address) -> bool {
    Address::from(IpAddress::Ipv4(address)).is_unicast() && !address.is_loopback()
}

impl Link {
    fn new(mut wire: Wire, address: HardwareAddress, seed: u64) -> Link {
        let mut config = Config::new(address);
        config.random_seed = seed;
        Link {
            interface: Interface::new(config, &mut wire, now()),
            sockets: SocketSet::new(Vec::new()),
            wire,
            lease: None,
            seed,
        }
    }

    /// The link of the machine with itself.
    pub fn looped(seed: u64) -> Link {
        let mut link = Link::new(Wire::Loop(Loop::default()), HardwareAddress::Ip, seed);
        link.interface.update_ip_addrs(|all| {
            // There is room.
            let _ = all.push(IpCidr::new(IpAddress::v4(127, 0, 0, 1), 8));
            let _ = all.push(IpCidr::new(IpAddress::v6(0, 0, 0, 0, 0, 0, 0, 1), 128));
        });
        link
    }

    /// The link of a card with this address.
    pub fn carded(card: Card, mac: [u8; 6], seed: u64) -> Link {
        let address = HardwareAddress::Ethernet(EthernetAddress(mac));
        let mut link = Link::new(Wire::Card(card), address, seed);
        link.lease = Some(link.sockets.add(dhcpv4::Socket::new()));
        link
    }

    /// The card, if it has one.
    pub fn card(&mut self) -> Option<&mut Card> {
        match &mut self.wire {
            Wire::Card(card) => Some(card),
            Wire::Loop(_) => None,
        }
    }

    /// Whether it has an address.
    pub fn is_up(&self) -> bool {
        !self.interface.ip_addrs().is_empty()
    }

    /// Takes over what the DHCP server has said: the address that the link has from now on, or that
    /// it has none.
    pub fn configure(&mut self) -> Option<Option<Address>> {
        let socket = self.sockets.get_mut::<dhcpv4::Socket>(self.lease?);
        let (own, router) = match socket.poll()? {
            dhcpv4::Event::Configured(config) => (Some(config.address), config.router),
            dhcpv4::Event::Deconfigured => (None, None),
        };
        // Anybody on the link can be its server, and smoltcp panics at addresses that are no
        // host's.
        let own = own.filter(|own| is_host(own.address()));
        let router = router.filter(|router| own.is_some() && is_host(*router));
        self.interface.update_ip_addrs(|all| {
            all.clear();
            if let Some(own) = own {
                let _ = all.push(IpCidr::Ipv4(own));
            }
        });
        self.cut();
        let routes = self.interface.routes_mut();
        match router {
            Some(router) => drop(routes.add_default_ipv4_route(router)),
            None => drop(routes.remove_default_ipv4_route()),
        }
        Some(own.map(|own| Address::from(IpAddress::Ipv4(own.address()))))
    }

    /// Ends the connections from addresses that the link no longer has.
    fn cut(&mut self) {
        let own: Vec<IpAddress> = self
            .interface
            .ip_addrs()
            .iter()
            .map(IpCidr::address)
            .collect();
        for socket in self.tcps() {
            if socket
                .local_endpoint()
                .is_some_and(|e| !own.contains(&e.addr))
            {
                socket.set_timeout(None);
                socket.abort();
            }
        }
    }

    /// Has packets to an address of another link of this machine come here.
    pub fn adopt(&mut self, address: Option<Address>) {
        self.interface.update_ip_addrs(|all| {
            all.retain(|a| Address::from(a.address()).is_loopback());
            if let Some(address) = address {
                let _ = all.push(IpCidr::new(address.ip(), 32));
            }
        });
    }

    /// Whether packets to this address go over this link.
    pub fn reaches(&self, address: Address) -> bool {
        match self.wire {
            Wire::Loop(_) => address.is_loopback() || self.has(address),
            Wire::Card(_) => address.is_v4() && !address.is_loopback(),
        }
    }

    /// Whether an address is this machine's on this link.
    pub fn has(&self, address: Address) -> bool {
        let all = self.interface.ip_addrs();
        address.is_any() || all.iter().any(|a| Address::from(a.address()) == address)
    }

    /// A number for a further link.
    pub fn draw(&mut self) -> u64 {
        self.seed = self
            .seed
            .rotate_left(17)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.seed
    }

    /// A new socket, or none where memory is short.
    pub fn socket(&mut self) -> Option<SocketHandle> {
        let buffer = || {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(BUFFER).ok()?;
            bytes.resize(BUFFER, 0);
            Some(tcp::SocketBuffer::new(bytes))
        };
        let mut socket = tcp::Socket::new(buffer()?, buffer()?);
        socket.set_timeout(Some(PATIENCE.into()));
        socket.set_keep_alive(Some(ASK.into()));
        socket.set_congestion_control(tcp::CongestionControl::Reno);
        Some(self.sockets.add(socket))
    }

    pub fn tcp(&mut self, socket: SocketHandle) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(socket)
    }

    /// Whether a socket has nothing more to send, and no packets to wait for.
    pub fn is_closed(&self, socket: SocketHandle) -> bool {
        self.sockets.get::<tcp::Socket>(socket).state() == tcp::State::Closed
    }

    fn tcps(&mut self) -> impl Iterator<Item = &mut tcp::Socket<'static>> {
        self.sockets
            .iter_mut()
            .filter_map(|(_, socket)| match socket {
                Socket::Tcp(socket) => Some(socket),
                Socket::Dhcpv4(_) => None,
            })
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// Those of smoltcp.
    pub fn connect(
        &mut self,
        socket: SocketHandle,
        to: (Address, u16),
        from: (Address, u16),
    ) -> Result<(), tcp::ConnectError> {
        let socket = self.sockets.get_mut::<tcp::Socket>(socket);
        let local = from.0.listen(from.1);
        // It has lost its own, if it has waited for the link's address.
        socket.set_timeout(Some(PATIENCE.into()));
        socket.connect(self.interface.context(), (to.0.ip(), to.1), local)
    }

    /// Takes and sends packets; whether the state of a socket may have changed.
    ///
    /// A packet closes a socket while packets are taken, a time-out while they are sent. smoltcp
    /// does not say otherwise which it was.
    pub fn poll(&mut self) -> bool {
        let mut changed = false;
        for _ in 0..ROUNDS {
            let heard = self.take();
            if heard {
                for socket in self.tcps() {
                    if socket.state() == tcp::State::Closed {
                        socket.set_timeout(None);
                    }
                }
            }
            if !self.send() && !heard {
                break;
            }
            changed = true;
        }
        changed
    }

    /// Takes packets; whether the state of a socket may have changed.
    fn take(&mut self) -> bool {
        let mut changed = false;
        loop {
            let (wire, sockets) = (&mut self.wire, &mut self.sockets);
            match self.interface.poll_ingress_single(now(), wire, sockets) {
                PollIngressSingleResult::SocketStateChanged => changed = true,
                PollIngressSingleResult::PacketProcessed => {}
                PollIngressSingleResult::None => return changed,
            }
        }
    }

    /// Sends packets; whether the state of a socket may have changed.
    fn send(&mut self) -> bool {
        let mut changed = false;
        loop {
            let (wire, sockets) = (&mut self.wire, &mut self.sockets);
            match self.interface.poll_egress(now(), wire, sockets) {
                PollResult::SocketStateChanged => changed = true,
                PollResult::None => return changed,
            }
        }
    }

    /// How long until packets are to be sent, if nothing happens before.
    pub fn delay(&mut self) -> Option<Duration> {
        let waits = match &self.wire {
            Wire::Loop(all) => !all.is_empty(),
            // Nothing can be sent, and what has come waits: for the driver's answer, or for its
            // successor.
            Wire::Card(card) if !card.has_room() => return None,
            Wire::Card(card) => card.has_frames(),
        };
        if waits {
            return Some(Duration::ZERO);
        }
        let delay = self.interface.poll_delay(now(), &self.sockets)?;
        Some(Duration::from_micros(delay.total_micros()))
    }
}
