//! A network card ("5.1 Network Device"): frames are datagrams of the host, one each, as QEMU's
//! `-netdev socket,udp=` has them. So two systems can be connected, hosted or not.
//!
//! Frames that come are received by a thread of the card's own; it waits while the driver has no
//! room for them, so that a burst waits in the host's socket. What that has no room for is lost.
//! Frames that go are sent at once, by a call that never waits.
//!
//! Invariants: only datagrams of the other address are taken. A frame that is longer than a network
//! carries goes nowhere.

use super::mmio::{Model, Ticket, Transport};
use super::queue::{Chain, bytes};
use crate::signals;
use crate::thread::{Kernel, quiet_thread};
use rustix::event::{PollFd, PollFlags, poll};
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Stack of a card's thread.
const STACK: usize = 128 << 10;
/// The most bytes of a frame.
pub(super) const LONGEST: usize = 1514;
/// The bytes of the head before a frame, and where its last word lies: how many requests the frame
/// fills.
pub(super) const HEAD: usize = 12;
const REQUESTS: usize = 10;
/// Frames that are received before the kernel is told of them.
const BURST: usize = 64;
/// How long the thread pauses after an error that is not of one datagram, so that it does not spin.
const PAUSE: Duration = Duration::from_millis(20);

/// The queues.
const RECEIVE: usize = 0;

/// Features: the address, and whether there is a network.
const MAC: u64 = 1 << 5;
const STATUS: u64 = 1 << 16;
const LINK_UP: u8 = 1;

/// The network of a card: the datagrams between two addresses of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address of the host at which the card receives frames.
    pub local: SocketAddr,
    /// The address to which its frames go, and from which alone it takes any.
    pub remote: SocketAddr,
    /// Whether the card is an e1000, not a virtio one.
    pub e1000: bool,
}

/// Why a card has no network.
#[derive(Debug)]
pub struct NetworkError {
    text: String,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Syntax,
    Socket(io::Error),
    Thread(io::Error),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--net {}: ", self.text)?;
        match &self.reason {
            Reason::Syntax => f.write_str(
                "not two addresses, and not `host` or `none`; write LOCAL,REMOTE, such as \
                 127.0.0.1:5001,127.0.0.1:5002",
            ),
            Reason::Socket(error) => {
                write!(
                    f,
                    "{error}; is LOCAL an address of this machine, and its port free?"
                )
            }
            Reason::Thread(error) => write!(f, "no thread for it: {error}"),
        }
    }
}

impl std::error::Error for NetworkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Socket(error) | Reason::Thread(error) => Some(error),
            Reason::Syntax => None,
        }
    }
}

impl Network {
    /// Reads `LOCAL,REMOTE`: two addresses with ports, both of one kind, with `,e1000` behind them for
    /// another card.
    ///
    /// # Errors
    /// The text that names no two addresses.
    pub fn named(text: &str) -> Result<Network, NetworkError> {
        let read = || {
            let (both, e1000) = match text.strip_suffix(",e1000") {
                Some(both) => (both, true),
                None => (text, false),
            };
            let (local, remote) = both.split_once(',')?;
            let local: SocketAddr = local.parse().ok()?;
            let remote: SocketAddr = remote.parse().ok()?;
            let same_kind = local.is_ipv4() == remote.is_ipv4();
            (same_kind && local.port() != 0 && remote.port() != 0).then_some(Network {
                local,
                remote,
                e1000,
            })
        };
        read().ok_or_else(|| NetworkError {
            text: text.into(),
            reason: Reason::Syntax,
        })
    }

    fn error(&self, reason: Reason) -> NetworkError {
        NetworkError {
            text: format!("{},{}", self.local, self.remote),
            reason,
        }
    }

    /// The card's address: one for local use, with the local port, so that cards of one host
    /// differ.
    pub(super) fn mac(&self) -> [u8; 6] {
        let [high, low] = self.local.port().to_be_bytes();
        [0x52, 0x54, 0x00, 0x53, high, low]
    }

    pub(super) fn open(&self) -> Result<UdpSocket, NetworkError> {
        let socket = UdpSocket::bind(self.local).and_then(|socket| {
            socket.connect(self.remote)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        socket.map_err(|e| self.error(Reason::Socket(e)))
    }
}

/// The thread waits here for room of the driver; the number counts how often there was more.
#[derive(Default)]
pub(super) struct Room {
    added: Mutex<u64>,
    more: Condvar,
}

impl Room {
    fn added(&self) -> u64 {
        *self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is more.
    pub(super) fn add(&self) {
        *self.added.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.more.notify_one();
    }

    /// Waits until it has been added to since it was `seen`.
    fn wait(&self, seen: u64) {
        let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.more.wait_while(added, |added| *added == seen));
    }
}

/// The card.
struct Card {
    socket: Arc<UdpSocket>,
    room: Arc<Room>,
    config: [u8; 8],
    /// A frame on its way, kept for its room.
    frame: Vec<u8>,
}

/// A card, as its thread knows it.
pub(super) trait Receiver: Send + Sync {
    /// Takes a frame, which has [`HEAD`] bytes before it. Returns whether an interrupt is now to be
    /// delivered; `None` if the driver has no room for it yet.
    fn receive(&self, headed: &[u8]) -> Option<bool>;
}

impl Receiver for Transport {
    fn receive(&self, headed: &[u8]) -> Option<bool> {
        self.fill(RECEIVE, |chain| chain.fill(headed) as u32)
    }
}

/// Starts a card's thread, which hands it the frames that come.
pub(super) fn listen(
    network: &Network,
    socket: Arc<UdpSocket>,
    room: Arc<Room>,
    card: Arc<impl Receiver + 'static>,
) -> Result<(), NetworkError> {
    let started = quiet_thread("net", STACK, move |kernel| {
        receive(&socket, &room, &*card, kernel);
    });
    let started = started.map(drop);
    started.map_err(|e| network.error(Reason::Thread(e)))
}

/// Opens the network, and starts the card's thread, which fills requests of this transport.
pub(super) fn start(
    network: &Network,
    transport: &Arc<Transport>,
) -> Result<Box<dyn Model>, NetworkError> {
    let socket = Arc::new(network.open()?);
    let room = Arc::new(Room::default());
    listen(
        network,
        Arc::clone(&socket),
        Arc::clone(&room),
        Arc::clone(transport),
    )?;
    let mut config = [0; 8];
    config[..6].copy_from_slice(&network.mac());
    config[6] = LINK_UP;
    Ok(Box::new(Card {
        socket,
        room,
        config,
        frame: Vec::new(),
    }))
}

impl Model for Card {
    fn id(&self) -> u32 {
        1
    }

    fn features(&self) -> u64 {
        MAC | STATUS
    }

    fn config(&self) -> &[u8] {
        &self.config
    }

    fn queues(&self) -> usize {
        2
    }

    fn keeps(&mut self, queue: usize) -> bool {
        if queue == RECEIVE {
            self.room.add();
        }
        queue == RECEIVE
    }

    fn most(&self) -> usize {
        HEAD + LONGEST
    }

    /// Sends a frame.
    fn serve(&mut self, chain: &mut Chain, _: Ticket) -> Option<u32> {
        if (HEAD + 1..=HEAD + LONGEST).contains(&bytes(&chain.readable)) {
            chain.copy_to(&mut self.frame);
            // A network loses frames that it has no room for.
            let _ = self.socket.send(&self.frame[HEAD..]);
        }
        Some(0)
    }
}

/// Receives frames as long as the system runs.
fn receive(socket: &UdpSocket, room: &Room, card: &impl Receiver, kernel: Kernel) {
    // One byte more than a frame has: what fills it is too long.
    let mut bytes = [0; HEAD + LONGEST + 1];
    bytes[REQUESTS] = 1;
    loop {
        // An error is told by the next call, too.
        let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], None);
        let mut tell = false;
        for _ in 0..BURST {
            match socket.recv(&mut bytes[HEAD..]) {
                Ok(len @ 1..=LONGEST) => {
                    put(&bytes[..HEAD + len], room, card, kernel, &mut tell);
                }
                Ok(_) => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => break,
                    // The other side is not there yet: told of a frame that was sent.
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted => {}
                    _ => thread::sleep(PAUSE),
                },
            }
        }
        if tell {
            kernel.signal(signals::DEVICE);
        }
    }
}

/// Has the card take a frame, waiting for room. `tell`: whether an interrupt is to
/// be delivered, which is not left waiting.
fn put(frame: &[u8], room: &Room, card: &impl Receiver, kernel: Kernel, tell: &mut bool) {
    loop {
        let seen = room.added();
        if let Some(now) = card.receive(frame) {
            *tell |= now;
            return;
        }
        if std::mem::take(tell) {
            kernel.signal(signals::DEVICE);
        }
        room.wait(seen);
    }
}
