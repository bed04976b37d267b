//! A link: an interface with its addresses, the card or loop behind it, and the sockets whose
//! packets go over it.
//!
//! A socket is on one link from its beginning: smoltcp sends what a set of sockets has to send over
//! whichever interface polls the set.

use crate::address::Address;
use crate::looped::Loop;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::time::uptime;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

/// Bytes that a connection keeps of each direction: what has come and was not read, and what was
/// not yet acknowledged.
const BUFFER: usize = 64 << 10;
/// A connection whose other side does not answer for so long is given up.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Rounds of packets in one step: what comes back over a loop at once is taken at once.
const ROUNDS: usize = 8;

pub struct Link {
    interface: Interface,
    pub sockets: SocketSet<'static>,
    device: Loop,
}

/// Now, on smoltcp's clock.
fn now() -> Instant {
    Instant::from_micros(i64::try_from(uptime().as_micros()).unwrap_or(i64::MAX))
}

impl Link {
    /// The link of the machine with itself.
    pub fn looped(seed: u64) -> Link {
        let mut device = Loop::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device, now());
        interface.update_ip_addrs(|all| {
            // There is room for two.
            let _ = all.push(IpCidr::new(IpAddress::v4(127, 0, 0, 1), 8));
            let _ = all.push(IpCidr::new(IpAddress::v6(0, 0, 0, 0, 0, 0, 0, 1), 128));
        });
        Link {
            interface,
            sockets: SocketSet::new(Vec::new()),
            device,
        }
    }

    /// Whether packets to this address go over this link.
    pub fn reaches(&self, address: Address) -> bool {
        address.is_loopback()
    }

    /// Whether an address is this machine's on this link.
    pub fn has(&self, address: Address) -> bool {
        let all = self.interface.ip_addrs();
        address.is_any() || all.iter().any(|a| Address::from(a.address()) == address)
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
        socket.connect(self.interface.context(), (to.0.ip(), to.1), local)
    }

    /// Takes and sends packets; whether the state of a socket may have changed.
    pub fn poll(&mut self) -> bool {
        let mut changed = false;
        for _ in 0..ROUNDS {
            match self
                .interface
                .poll(now(), &mut self.device, &mut self.sockets)
            {
                PollResult::SocketStateChanged => changed = true,
                PollResult::None => break,
            }
        }
        changed
    }

    /// How long until packets are to be sent, if nothing happens before.
    pub fn delay(&mut self) -> Option<Duration> {
        if !self.device.is_empty() {
            return Some(Duration::ZERO);
        }
        let delay = self.interface.poll_delay(now(), &self.sockets)?;
        Some(Duration::from_micros(delay.total_micros()))
    }
}
