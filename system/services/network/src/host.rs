//! Sockets of the host, by the driver of the device for them: messages on their way from and to the
//! host (`sing-sockets` says what they are), and what has come of each socket.
//!
//! Over one channel to the driver a buffer always waits for messages, over the other go those that
//! are to be sent, as many in a block as have come together (`host/sending.rs`).
//!
//! Invariants:
//! - A block is at the driver or here, and never at both. Every block of messages is of [`BLOCK`] bytes.
//! - A large block of a program's goes to the driver uncopied, one with each block of messages at most: so
//!   beside the data that are with the driver, those of one program's block wait here.
//! - Of each socket at most its window of bytes is kept that came: [`FIRST`], and as programs read it
//!   more, up to [`WINDOW`], as long as all together have no more than [`POOL`] beyond the first. At
//!   most [`SENT`] are under way to the host.
//! - A message about a socket that is not known is about one that was given up, and is ignored; but a
//!   connection that was accepted for it is ended.

mod sending;

use crate::address::Address;
use crate::host_ports::HostPort;
use crate::host_socket::HostSocket;
use crate::messages::{end, fault, place};
use crate::session::{Begun, Ready, SERVERS, begin, bind};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;
use sending::{Out, first};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_sockets::{BLOCK, FIRST, Head, OPEN, OUTWARD, Op, SENT, WINDOW};

pub use crate::end::Stage;

/// How long the name server and the driver may take to connect, all in all: clients wait meanwhile.
const CONNECT: Duration = Duration::from_millis(200);
/// Bytes of windows beyond the least that all sockets may have together.
pub const POOL: usize = 32 << 20;
/// Bytes that come are kept in pieces of at least so many, unless there are fewer.
const PIECE: usize = 8 << 10;

pub type Receiving = HostSocketsContract::Imp<HostSocketsContract::Ready_Receive>;
pub type Sending = HostSocketsContract::Imp<HostSocketsContract::Ready_Send>;

/// What the host has said of a listener.
pub enum Said {
    Listening(u32),
    NotListening(u32, TcpFault),
}

/// The sockets, and the way to the host; the driver may be starting again, or not be there at all.
#[derive(Default)]
pub struct Host {
    sockets: BTreeMap<u32, HostSocket>,
    /// Numbers of listeners that the host knows, or will.
    listeners: BTreeSet<u32>,
    /// Ports for datagrams, and the servers of names that the host has named.
    pub ports: BTreeMap<u32, HostPort>,
    pub servers: Vec<(Address, u16)>,
    /// The number of the last socket.
    last: u32,
    /// What the policy of the host permits; `None` while there is no session.
    flags: Option<u32>,
    come: Option<Block>,
    receiver: Option<Ready>,
    out: Option<Out>,
    spare: Option<Block>,
    sender: Option<Ready>,
    /// Messages without data for which there was no room in the block.
    queue: VecDeque<Head>,
    /// A copy of what has come, or goes, kept for its room.
    bytes: Vec<u8>,
    pub said: Vec<Said>,
    /// How much of [`POOL`] is in use.
    pool: usize,
    /// Whether there is something that all connections are to be looked at for.
    pub changed: bool,
    /// Whether something was heard of sockets that are no connection's yet.
    pub come_about: bool,
    /// Connections of which something was heard.
    pub heard: Vec<u32>,
    /// Whether there is room again for what connections send.
    pub has_room: bool,
}

impl Host {
    /// Connects to the driver, and begins a session.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such device, [`Error::Timeout`] if its driver does not
    /// answer.
    pub fn connect(&mut self, names: &mut Names, path: &str) -> Result<(), Error> {
        let until = uptime() + CONNECT;
        let sender = bind(names, path, until)?;
        let receiver = bind(names, path, until)?;
        self.last = self.last.wrapping_add(1);
        let begun = begin(sender, receiver, self.last, until)?;
        let Begun {
            flags,
            servers,
            blocks: [mut come, mut out],
            channels: [sender, receiver],
        } = begun;
        for block in [&mut come, &mut out] {
            // One that the driver still shares cannot be written.
            block.unshare()?;
            if block.len() != BLOCK {
                return Err(Error::BadState);
            }
        }
        self.flags = Some(flags);
        self.servers = servers;
        self.out = Some(Out::new(out));
        self.spare = Some(Block::new(BLOCK)?);
        (self.come, self.sender, self.receiver) = (Some(come), Some(sender), Some(receiver));
        Ok(())
    }

    /// The driver has gone, or is no longer trusted: every connection has ended.
    pub fn lose(&mut self) {
        for socket in self.sockets.values_mut() {
            if socket.stage != Stage::Closed {
                (socket.stage, socket.fault) = (Stage::Closed, TcpFault::Down);
            }
        }
        for port in self.ports.values_mut() {
            port.close(TcpFault::Down);
        }
        self.servers.clear();
        for number in core::mem::take(&mut self.listeners) {
            self.said.push(Said::NotListening(number, TcpFault::Down));
        }
        self.flags = None;
        (self.come, self.sender, self.receiver) = (None, None, None);
        (self.out, self.spare) = (None, None);
        self.queue.clear();
        self.changed = true;
    }

    /// Whether there is a session.
    pub fn is_up(&self) -> bool {
        self.flags.is_some()
    }

    /// Whether connections to other addresses than the system's own are permitted.
    pub fn is_outward(&self) -> bool {
        self.flags.is_some_and(|flags| flags & OUTWARD != 0)
    }

    /// Whether listeners may be at any address of the host.
    pub fn is_open(&self) -> bool {
        self.flags.is_some_and(|flags| flags & OPEN != 0)
    }

    /// Whether the host can listen at this address.
    pub fn listens(&self, address: Address) -> bool {
        self.is_open() || self.is_up() && (address.is_any() || address.is_loopback())
    }

    /// A socket is a connection's from now on.
    pub fn give(&mut self, number: u32, owner: u32) {
        if let Some(socket) = self.sockets.get_mut(&number) {
            socket.owner = Some(owner);
        }
    }

    pub fn get(&self, number: u32) -> Option<&HostSocket> {
        self.sockets.get(&number)
    }

    /// A number that no socket has had for long.
    pub fn number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            let taken =
                self.sockets.contains_key(&self.last) || self.ports.contains_key(&self.last);
            if !taken && !self.listeners.contains(&self.last) {
                return self.last;
            }
        }
    }

    /// Begins a connection; its number.
    pub fn begin(&mut self, to: (Address, u16), from: (Address, u16)) -> u32 {
        let number = self.number();
        let mut socket = HostSocket::new(Stage::Begun);
        (socket.local, socket.remote) = (from, to);
        self.sockets.insert(number, socket);
        self.say(Head {
            local: place(from),
            remote: place(to),
            ..Head::new(Op::Connect, number, 0)
        });
        number
    }

    /// Has the host listen; the listener's number. [`Host::said`] has the answer.
    pub fn listen(&mut self, at: (Address, u16), backlog: u32) -> u32 {
        let number = self.number();
        self.listeners.insert(number);
        self.say(Head {
            local: place(at),
            ..Head::new(Op::Listen, number, backlog)
        });
        number
    }

    /// Gives up a listener.
    pub fn unlisten(&mut self, number: u32) {
        if self.listeners.remove(&number) {
            self.say(Head::new(Op::Close, number, 0));
        }
    }

    /// Whether connections of a listener can be asked for: the host knows it, or will, and the
    /// driver keeps up.
    pub fn offers(&self, listener: u32) -> bool {
        self.is_up() && !self.is_busy() && self.listeners.contains(&listener)
    }

    /// Asks for the next connection of a listener that [offers](Host::offers) them; its number. It
    /// is of a closed socket if it does not.
    pub fn offer(&mut self, listener: u32) -> u32 {
        let number = self.number();
        let known = self.offers(listener);
        let stage = if known { Stage::Listens } else { Stage::Closed };
        self.sockets.insert(number, HostSocket::new(stage));
        if known {
            self.say(Head::new(Op::Accept, listener, number));
        }
        number
    }

    /// Gives up a socket.
    pub fn forget(&mut self, number: u32) {
        self.abort(number);
        if let Some(socket) = self.sockets.remove(&number) {
            self.pool -= socket.window - FIRST;
        }
    }

    /// Ends a connection at once.
    pub fn abort(&mut self, number: u32) {
        if let Some(socket) = self.sockets.get_mut(&number)
            && socket.stage != Stage::Closed
        {
            (socket.stage, socket.fault) = (Stage::Closed, TcpFault::Reset);
            self.say(Head::new(Op::Close, number, 0));
        }
    }

    /// Ends this side's direction.
    pub fn close(&mut self, number: u32) {
        if self.get(number).is_some_and(|s| s.stage == Stage::Open) {
            self.say(Head::new(Op::End, number, 0));
        }
    }

    /// Takes what has come of a connection, at most so much, piece by piece.
    pub fn take(&mut self, number: u32, most: usize, mut piece: impl FnMut(&[u8])) {
        let Some(socket) = self.sockets.get_mut(&number) else {
            return;
        };
        let mut left = most.min(socket.waiting);
        socket.waiting -= left;
        socket.taken += left;
        while left > 0
            && let Some(first) = socket.come.front()
        {
            let bytes = &first[socket.start..];
            let count = bytes.len().min(left);
            piece(&bytes[..count]);
            left -= count;
            socket.start += count;
            if socket.start == first.len() {
                socket.start = 0;
                socket.come.pop_front();
            }
        }
        // Each message has its price, and the rest of the window is room enough meanwhile.
        if socket.taken >= socket.window / 4 && socket.stage == Stage::Open {
            let taken = core::mem::take(&mut socket.taken);
            // Whoever reads what comes gets more at a time.
            let more = socket.window.min(WINDOW - socket.window);
            let more = more.min(POOL - self.pool);
            socket.window += more;
            self.pool += more;
            self.say(Head::new(Op::Taken, number, (taken + more) as u32));
        }
    }

    /// Waits for messages again.
    pub fn receive(&mut self) -> Option<Receiving> {
        let block = self.come.take()?;
        let Some(receiver) = self.receiver.take() else {
            self.come = Some(block);
            return None;
        };
        Some(receiver.send_receive(Vector::from_block(block)))
    }

    /// The driver has answered; whether it is still there, and has given what it should.
    pub fn received(&mut self, receiving: Receiving) -> bool {
        use HostSocketsContract::imp::Ready_Receive as Answer;
        let Answer::Received(block, length, next) = receiving.recv() else {
            return false;
        };
        let mut block = block.into_block();
        if block.len() != BLOCK || block.unshare().is_err() {
            return false;
        }
        let mut bytes = core::mem::take(&mut self.bytes);
        let come = first(&mut bytes, BLOCK.min(length as usize));
        block.read(0, come);
        (self.come, self.receiver) = (Some(block), Some(next));
        let mut left = &*come;
        let mut good = true;
        while good && !left.is_empty() {
            good = match Head::split(left) {
                Ok((head, data, rest)) => {
                    left = rest;
                    self.hear(&head, data)
                }
                Err(_) => false,
            };
        }
        self.bytes = bytes;
        good
    }

    /// Takes a message; whether the host says what it may.
    fn hear(&mut self, head: &Head, data: &[u8]) -> bool {
        let number = head.id;
        if self.listeners.contains(&number) {
            match head.op {
                Op::Listening => self.said.push(Said::Listening(number)),
                Op::Closed => {
                    self.listeners.remove(&number);
                    self.said
                        .push(Said::NotListening(number, fault(head.fault)));
                }
                _ => return false,
            }
            return true;
        }
        if let Some(port) = self.ports.get_mut(&number) {
            return port.hear(head, data);
        }
        let Some(socket) = self.sockets.get_mut(&number) else {
            if head.op == Op::Server && self.servers.len() < SERVERS {
                self.servers.push(end(head.remote));
            }
            if head.op == Op::Accepted {
                self.say(Head::new(Op::Close, number, 0));
            }
            return head.op != Op::Hello;
        };
        match socket.owner {
            Some(owner) => self.heard.push(owner),
            None => self.come_about = true,
        }
        match (head.op, socket.stage) {
            (Op::Connected, Stage::Begun) => {
                (socket.stage, socket.local) = (Stage::Open, end(head.local));
            }
            (Op::Accepted, Stage::Listens) => {
                socket.stage = Stage::Open;
                (socket.local, socket.remote) = (end(head.local), end(head.remote));
            }
            (Op::Data, Stage::Open) => {
                if socket.heard || socket.waiting + socket.taken + data.len() > socket.window {
                    return false;
                }
                socket.waiting += data.len();
                match socket.come.back_mut() {
                    // A list of single bytes would be many times as long as they are.
                    Some(last) if last.len() + data.len() <= PIECE => last.extend_from_slice(data),
                    _ if data.is_empty() => {}
                    _ => socket.come.push_back(data.into()),
                }
            }
            (Op::Taken, Stage::Open) => {
                socket.credit = SENT.min(socket.credit.saturating_add(head.count as usize));
            }
            (Op::End, Stage::Open) => socket.heard = true,
            (Op::Closed, _) => {
                if socket.stage != Stage::Closed {
                    (socket.stage, socket.fault) = (Stage::Closed, fault(head.fault));
                }
            }
            // Of one that was given up at this moment.
            (_, Stage::Closed) => {}
            _ => return false,
        }
        true
    }
}
