//! The port, for the one who listens here: takes connections, has their handshakes, and hands on
//! those that are over.
//!
//! Invariants:
//! - There are at most [`HANDSHAKES`] at a time; when there are so many, the one that has begun first
//!   makes way, if it has had [`LEAST`].
//! - At most [`WAITING`] are over and not taken; a further one takes the place of the first.
//! - Connections that the server has left do not count among those that were handed on: at most [`PARTING`] of them
//!   give their clients the last bytes, and a further one takes the place of the first. So clients that do not read
//!   keep nobody out.

use crate::handshake::{self, Established};
use crate::relay;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::net::{self, Awaited, Connection, Listener};
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::sync::{AutoEvent, ManualEvent, Mutex, wait_any};
use sing_sdk::thread;
use sing_sdk::time::{Timeout, uptime};
use tls::config::Config;
use tls::rustls::ServerConfig;

/// Handshakes at a time.
const HANDSHAKES: usize = 16;
/// How long one may go on, however many wait for its place.
const LEAST: Duration = Duration::from_millis(500);
/// Those that are over and wait to be taken.
const WAITING: usize = 16;
/// Connections that the server has left, and whose clients have not got the last bytes.
const PARTING: usize = 32;
/// Connections that wait with the network.
const BACKLOG: u32 = 16;
/// Between two looks whether a handshake can make way, and after a connection that failed.
const LOOK: Duration = Duration::from_millis(100);
/// Of the threads: a handshake computes with numbers of many bytes.
const STACK: usize = 256 << 10;

type Bound = TcpConnectionContract::Exp<TcpConnectionContract::BoundLocally>;
type Listens = TcpConnectionContract::Exp<TcpConnectionContract::Listens>;
type Accepting = TcpConnectionContract::Exp<TcpConnectionContract::Accepting>;
type Start = TcpConnectionContract::Exp<TcpConnectionContract::Start>;

/// A handshake that goes on.
struct Begun {
    number: u64,
    since: Duration,
    leave: Arc<ManualEvent>,
}

pub struct Gate {
    pub config: Config,
    pub server: Arc<ServerConfig>,
    names: Mutex<Names>,
    open: AtomicBool,
    begun: Mutex<(u64, Vec<Begun>)>,
    over: Mutex<VecDeque<Established>>,
    /// Connections that were handed on and go on.
    joined: AtomicUsize,
    /// Those that the server has left; set to have one make way.
    parting: Mutex<VecDeque<Arc<ManualEvent>>>,
    /// Set when any of these has changed.
    changed: AutoEvent,
}

/// Who listens.
enum Client {
    Listens(Listens),
    Accepting(Accepting, Start),
}

impl Client {
    fn handle(&self) -> Handle {
        match self {
            Client::Listens(client) => client.handle(),
            Client::Accepting(client, _) => client.handle(),
        }
    }
}

impl Gate {
    pub fn new(config: Config, server: Arc<ServerConfig>, names: Names) -> Result<Gate, Error> {
        Ok(Gate {
            config,
            server,
            names: Mutex::new(names),
            open: AtomicBool::new(false),
            begun: Mutex::new((0, Vec::new())),
            over: Mutex::new(VecDeque::new()),
            joined: AtomicUsize::new(0),
            parting: Mutex::new(VecDeque::new()),
            changed: AutoEvent::new(false)?,
        })
    }

    /// Takes the gate; false if somebody listens already.
    pub fn open(&self) -> bool {
        !self.open.swap(true, Relaxed)
    }

    /// Gives it back. Nobody is there for those who wait.
    pub fn shut(&self) {
        self.over.lock().clear();
        self.open.store(false, Relaxed);
    }

    /// Whether there is room for a handshake; if not, the first is asked to make way.
    fn has_room(&self) -> bool {
        let begun = self.begun.lock();
        let full = begun.1.len() >= HANDSHAKES;
        if full
            && let Some(first) = begun.1.first()
            && uptime().saturating_sub(first.since) >= LEAST
        {
            first.leave.set();
        }
        !full
    }

    /// Begins a handshake.
    fn begin(self: &Arc<Self>, connection: Connection, peer: SocketAddr) -> Result<(), Error> {
        let leave = Arc::new(ManualEvent::new(false)?);
        let number = {
            let mut begun = self.begun.lock();
            begun.0 += 1;
            let number = begun.0;
            begun.1.push(Begun {
                number,
                since: uptime(),
                leave: Arc::clone(&leave),
            });
            number
        };
        let gate = Arc::clone(self);
        let run = move || {
            let established = handshake::run(&gate, connection, peer, leave.handle());
            gate.ended(number);
            // Without anybody who listens it is closed.
            if let Some(established) = established
                && gate.open.load(Relaxed)
            {
                let mut over = gate.over.lock();
                if over.len() >= WAITING {
                    over.pop_front();
                }
                over.push_back(established);
            }
            gate.changed.set();
        };
        thread::spawn_with_stack(STACK, run)
            .map(drop)
            .inspect_err(|_| self.ended(number))
    }

    fn ended(&self, number: u64) {
        self.begun.lock().1.retain(|begun| begun.number != number);
    }

    /// The next one to be handed on, if there may be one more.
    fn next(&self) -> Option<Established> {
        let most = self.config.connections;
        let next = (self.joined.load(Relaxed) < most).then(|| self.over.lock().pop_front())??;
        self.joined.fetch_add(1, Relaxed);
        Some(next)
    }

    /// One that was handed on has ended, or the server has left it.
    fn give_back(&self) {
        self.joined.fetch_sub(1, Relaxed);
        self.changed.set();
    }

    /// Hands one on, over a channel that begins.
    fn hand_on(self: &Arc<Self>, established: Established, connection: Start) {
        let gate = Arc::clone(self);
        let run = move || {
            let mut place = Joined { gate, leave: None };
            relay::run(established, connection, &mut place);
        };
        if let Err(error) = thread::spawn_with_stack(STACK, run) {
            // Both sides find it closed.
            self.joined.fetch_sub(1, Relaxed);
            sing_sdk::log!("no thread for a connection: {error}");
        }
    }

    /// Serves who listens, until that or the network has gone.
    fn serve(self: &Arc<Self>, bound: Bound) -> Result<(), Error> {
        use TcpConnectionContract::exp::BoundLocally;
        let listen = match bound.recv() {
            BoundLocally::Listen(_, listen) => listen,
            BoundLocally::Connect(.., next) => {
                drop(next.send_failed(TcpFault::NotPermitted));
                return Ok(());
            }
            BoundLocally::Closed => return Ok(()),
        };
        let any = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), self.config.port);
        let path = format!("/tcp/listen/{}", self.config.port);
        let listener = Listener::new(&mut self.names.lock(), &path, any, BACKLOG);
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                let fault = match error {
                    Error::Network(fault) => fault,
                    _ => TcpFault::Down,
                };
                drop(listen.send_failed(fault));
                return Err(error);
            }
        };
        let mut awaited = Awaited::new(listener.into_channel()?)?;
        let mut client = Client::Listens(listen.send_listening());
        loop {
            client = match client {
                Client::Accepting(accepting, connection) => match self.next() {
                    Some(next) => {
                        let (ip, port) = (net::address(next.peer.ip()), next.peer.port());
                        let listens = accepting.send_accepted(ip, port);
                        self.hand_on(next, connection);
                        Client::Listens(listens)
                    }
                    None => Client::Accepting(accepting, connection),
                },
                listens => listens,
            };
            let (new, time) = match self.has_room() {
                true => (awaited.handle(), Timeout::FOREVER),
                false => (Handle::NONE, LOOK.into()),
            };
            match wait_any(&[client.handle(), self.changed.handle(), new], time) {
                Ok(0) => match client {
                    Client::Listens(listens) => match listens.recv() {
                        TcpConnectionContract::exp::Listens::Accept(connection, accepting) => {
                            client = Client::Accepting(accepting, connection);
                        }
                        TcpConnectionContract::exp::Listens::Closed => return Ok(()),
                    },
                    // Nothing can come but the close.
                    Client::Accepting(..) => return Ok(()),
                },
                Ok(2) => match awaited.accept() {
                    Ok((connection, peer)) => {
                        if let Err(error) = self.begin(connection, peer) {
                            sing_sdk::log!("no handshake for a connection: {error}");
                        }
                    }
                    Err(Error::Closed) => return Err(Error::Closed),
                    Err(_) => thread::sleep(LOOK),
                },
                _ => {}
            }
        }
    }
}

/// The place of a connection that was handed on, given back when this is dropped.
pub struct Joined {
    pub gate: Arc<Gate>,
    /// The server has left it.
    leave: Option<Arc<ManualEvent>>,
}

impl Joined {
    /// The server has left the connection: another one may be handed on. An event that is set when this is to make way.
    pub fn part(&mut self) -> Handle {
        if let Some(leave) = &self.leave {
            return leave.handle();
        }
        // Without an event for it, it keeps its place.
        let Ok(leave) = ManualEvent::new(false) else {
            return Handle::NONE;
        };
        let leave = self.leave.insert(Arc::new(leave));
        let mut parting = self.gate.parting.lock();
        if parting.len() >= PARTING
            && let Some(first) = parting.pop_front()
        {
            first.set();
        }
        parting.push_back(Arc::clone(leave));
        drop(parting);
        self.gate.give_back();
        leave.handle()
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        match &self.leave {
            Some(leave) => {
                let mut parting = self.gate.parting.lock();
                parting.retain(|other| !Arc::ptr_eq(other, leave));
            }
            None => self.gate.give_back(),
        }
    }
}

/// Serves who has bound the gate's port, and shuts it behind.
pub fn serve(gate: &Arc<Gate>, bound: Bound) {
    if let Err(error) = gate.serve(bound) {
        sing_sdk::log!("port {}: {error}", gate.config.port);
    }
    gate.shut();
}
