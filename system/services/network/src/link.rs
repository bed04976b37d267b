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
use crate::routers::Routers;
use crate::turns::Moved;
use crate::wire::Wire;
use alloc::vec::Vec;
use core::time::Duration;
use sing_packets::beginnings::Beginnings;
use sing_packets::icmp::Advert;
use sing_sdk::contracts::LinkAddress;
use sing_sdk::time::uptime;
use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet,
};
use smoltcp::socket::{Socket, dhcpv4, tcp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address, Ipv4Cidr};

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

/// What a connection's socket was like when it was looked at.
pub type Glance = Option<(tcp::State, usize, usize)>;

pub struct Link {
    interface: Interface,
    sockets: SocketSet<'static>,
    pub wire: Wire,
    /// A socket was used since the last look: it may have something to send.
    used: bool,
    /// When something is to be sent, if nothing happens before; known after a look.
    due: Option<Instant>,
    /// Where the link's address comes from, and that address.
    lease: Option<SocketHandle>,
    leased: Option<Ipv4Cidr>,
    /// The routers of IPv6 on a card's link.
    routers: Option<Routers>,
    /// Those that know the names of hosts.
    pub servers: Vec<Address>,
    seed: u64,
}

/// What there is to say of a link.
pub struct Described {
    /// The address of its card, the first byte lowest.
    pub card: u64,
    pub mtu: u32,
    /// Its own, then so many of routers, then so many of servers.
    pub addresses: Vec<LinkAddress>,
    pub routers: u32,
    pub servers: u32,
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
            used: true,
            due: None,
            lease: None,
            leased: None,
            routers: None,
            servers: Vec::new(),
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
        let secret = [link.draw(), link.draw()];
        if let Some(card) = link.card() {
            card.beginnings = Beginnings::new(secret);
        }
        link.lease = Some(link.sockets.add(dhcpv4::Socket::new()));
        link.routers = Some(Routers::new(mac));
        link.settle();
        link
    }

    /// The card, if it has one.
    pub fn card(&mut self) -> Option<&mut Card> {
        match &mut self.wire {
            Wire::Card(card) => Some(card),
            Wire::Loop(_) => None,
        }
    }

    /// Has no more connections begin at ports than sockets wait there; others are answered, and kept
    /// when the other side has heard that.
    pub fn allow(&mut self, ports: impl IntoIterator<Item = (u16, usize)>) {
        if let Some(card) = self.card() {
            card.beginnings.allow(ports);
        }
    }

    /// Whether it has an address from which packets go to this one.
    pub fn is_up_for(&self, to: Address) -> bool {
        let all = self.interface.ip_addrs();
        let beyond =
            |a: &IpCidr| matches!(a, IpCidr::Ipv6(a) if !a.address().is_unicast_link_local());
        match to.is_v4() {
            true => all.iter().any(|a| matches!(a, IpCidr::Ipv4(_))),
            false => to.is_link_local() || all.iter().any(beyond),
        }
    }

    /// Whether it leads to others by IPv6 alone.
    pub fn has_only_v6(&self) -> bool {
        self.leased.is_none() && self.own().len() > 1
    }

    /// Takes over what the DHCP server and the routers have said; whether the link's addresses are
    /// others now.
    pub fn configure(&mut self) -> bool {
        let mut changed = self.lease();
        let Some(routers) = &mut self.routers else {
            return changed;
        };
        routers.expire();
        let asks = self.card().is_some_and(|card| card.has_room());
        if let Some(routers) = self.routers.as_mut().filter(|_| asks)
            && let Some(frame) = routers.ask()
            && let Wire::Card(card) = &mut self.wire
        {
            card.put(&frame);
        }
        let known: Vec<Address> = self
            .interface
            .ip_addrs()
            .iter()
            .map(|a| a.address().into())
            .collect();
        changed |= known != self.own();
        if changed {
            self.settle();
        }
        self.route();
        changed
    }

    /// Takes over what the DHCP server has said: the address that the link has from now on, or that
    /// it has none.
    fn lease(&mut self) -> bool {
        let Some(lease) = self.lease else {
            return false;
        };
        let socket = self.sockets.get_mut::<dhcpv4::Socket>(lease);
        let Some(event) = socket.poll() else {
            return false;
        };
        let (own, router, servers) = match event {
            dhcpv4::Event::Configured(config) => (
                Some(config.address),
                config.router,
                config.dns_servers.to_vec(),
            ),
            dhcpv4::Event::Deconfigured => (None, None, Vec::new()),
        };
        // Anybody on the link can be its server, and smoltcp panics at addresses that are no
        // host's.
        let own = own.filter(|own| is_host(own.address()));
        let router = router.filter(|router| own.is_some() && is_host(*router));
        let servers = servers.into_iter().filter(|server| is_host(*server));
        self.servers = servers.map(|s| Address::from(IpAddress::Ipv4(s))).collect();
        self.leased = own;
        let routes = self.interface.routes_mut();
        match router {
            Some(router) => drop(routes.add_default_ipv4_route(router)),
            None => drop(routes.remove_default_ipv4_route()),
        }
        true
    }

    /// Has the interface know the router of IPv6.
    fn route(&mut self) {
        let router = self.routers.as_ref().and_then(Routers::router);
        let routes = self.interface.routes_mut();
        match router {
            Some(router) => drop(routes.add_default_ipv6_route(router)),
            None => drop(routes.remove_default_ipv6_route()),
        }
    }

    /// The addresses that a card's link should have.
    pub fn own(&self) -> Vec<Address> {
        let leased = self.leased.iter().map(|own| IpAddress::Ipv4(own.address()));
        let routers = self.routers.iter().flat_map(Routers::addresses);
        let all = leased.chain(routers.map(IpAddress::Ipv6));
        all.map(Address::from).collect()
    }

    /// Has the interface have them. Connections from those that it no longer has end.
    fn settle(&mut self) {
        let (leased, routers) = (self.leased, self.routers.as_ref());
        let v6 = routers.map(Routers::addresses).unwrap_or_default();
        self.interface.update_ip_addrs(|all| {
            all.clear();
            // There is room for all.
            all.extend(leased.map(IpCidr::Ipv4));
            all.extend(v6.into_iter().map(|a| IpCidr::new(IpAddress::Ipv6(a), 64)));
        });
        let own = self.interface.ip_addrs().iter();
        let own = own.map(|a| a.address().into()).collect();
        if let Some(card) = self.card() {
            card.beginnings.know(own);
        }
        self.cut();
    }

    /// Takes over what a router says.
    pub fn hear(&mut self, said: &Advert) {
        if let Some(routers) = &mut self.routers {
            routers.hear(said);
        }
    }

    /// The card may be at another network now.
    pub fn ask_routers(&mut self) {
        if let Some(routers) = &mut self.routers {
            routers.again();
        }
    }

    /// The most bytes of a datagram to an address.
    pub fn longest_datagram(&self, to: Address) -> usize {
        let heads = if to.is_v4() { 28 } else { 48 };
        self.mtu() - heads
    }

    fn mtu(&self) -> usize {
        match self.wire {
            Wire::Loop(_) => Loop::mtu(),
            Wire::Card(_) => Card::mtu(),
        }
    }

    /// What there is to say of it.
    pub fn describe(&self) -> Described {
        let list = |a: Address, bits: u8| {
            let sing_sdk::contracts::IpAddress { high, low } = a.into();
            let bits = bits.into();
            LinkAddress { high, low, bits }
        };
        let whole = |a: Address| list(a, if a.is_v4() { 32 } else { 128 });
        let own = self.interface.ip_addrs().iter();
        let mut addresses: Vec<_> = own
            .map(|a| list(a.address().into(), a.prefix_len()))
            .collect();
        let routes = self.interface.routes();
        let v4 = routes.get_default_ipv4_route();
        let v6 = routes.get_default_ipv6_route();
        let routers: Vec<_> = [v4, v6].into_iter().flatten().collect();
        addresses.extend(routers.iter().map(|r| whole(r.via_router.into())));
        addresses.extend(self.servers.iter().map(|s| whole(*s)));
        let card = self.routers.as_ref().map_or(0, Routers::card);
        Described {
            card,
            mtu: self.mtu() as u32,
            addresses,
            routers: routers.len() as u32,
            servers: self.servers.len() as u32,
        }
    }

    /// Ends the connections from addresses that the link no longer has.
    fn cut(&mut self) {
        self.used = true;
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

    /// Has packets to addresses of another link of this machine come here.
    pub fn adopt(&mut self, addresses: &[Address]) {
        self.interface.update_ip_addrs(|all| {
            all.retain(|a| Address::from(a.address()).is_loopback());
            for address in addresses {
                // There is room.
                let _ = all.push(IpCidr::new(
                    address.ip(),
                    if address.is_v4() { 32 } else { 128 },
                ));
            }
        });
    }

    /// Whether packets to this address go over this link.
    pub fn reaches(&self, address: Address) -> bool {
        match self.wire {
            Wire::Loop(_) => address.is_loopback() || self.has(address),
            Wire::Card(_) => !address.is_loopback(),
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

    /// Its sockets, to be used.
    pub fn sockets(&mut self) -> &mut SocketSet<'static> {
        self.used = true;
        &mut self.sockets
    }

    /// A socket, and what is to be set when it may have something to send.
    pub fn tcp(&mut self, socket: SocketHandle) -> (&mut tcp::Socket<'static>, &mut bool) {
        (self.sockets.get_mut(socket), &mut self.used)
    }

    /// Whether a socket waits for a connection.
    pub fn listens(&self, socket: SocketHandle) -> bool {
        self.sockets.get::<tcp::Socket>(socket).state() == tcp::State::Listen
    }

    /// A socket's state, and how many bytes wait in each direction.
    pub fn glance(&self, socket: SocketHandle) -> Glance {
        let socket = self.sockets.get::<tcp::Socket>(socket);
        Some((socket.state(), socket.recv_queue(), socket.send_queue()))
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
                _ => None,
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
        self.used = true;
        let socket = self.sockets.get_mut::<tcp::Socket>(socket);
        let local = from.0.listen(from.1);
        // It has lost its own, if it has waited for the link's address.
        socket.set_timeout(Some(PATIENCE.into()));
        socket.connect(self.interface.context(), (to.0.ip(), to.1), local)
    }

    /// Takes and sends packets; whether the state of a socket may have changed. A look for what is to
    /// be sent asks every socket, so there is none as long as no packet has come, no socket was used
    /// and no time is over.
    ///
    /// A packet closes a socket while packets are taken, a time-out while they are sent. smoltcp
    /// does not say otherwise which it was.
    pub fn poll(&mut self) -> Moved {
        let mut moved = Moved::default();
        let is_due = || self.due.is_some_and(|due| now() >= due);
        if !self.used && !self.wire.has_come() && !is_due() {
            return moved;
        }
        for _ in 0..ROUNDS {
            let heard = self.take();
            if heard {
                for socket in self.tcps() {
                    if socket.state() == tcp::State::Closed {
                        socket.set_timeout(None);
                    }
                }
            }
            moved.heard |= heard;
            moved.sent |= self.send();
            // What is sent over a loop has come by that.
            if !self.wire.has_come() {
                break;
            }
        }
        self.used = false;
        self.due = self.interface.poll_at(now(), &self.sockets);
        moved
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
            Wire::Card(card) => card.has_come(),
        };
        if waits || self.used {
            return Some(Duration::ZERO);
        }
        let left = |due: Instant| (due - now().min(due)).total_micros();
        let delay = self.due.map(|due| Duration::from_micros(left(due)));
        let routers = self.routers.as_ref().and_then(Routers::delay);
        [delay, routers].into_iter().flatten().min()
    }
}
