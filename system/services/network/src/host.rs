//! Sockets of the host, by the driver of the device for them: messages on their way from and to the
//! host (`sing-sockets` says what they are), and what has come of each socket.
//!
//! Over one channel to the driver a buffer always waits for messages, over the other go those that
//! are to be sent, as many in a block as have come together.
//!
//! Invariants:
//! - A block is at the driver or here, and never at both. Every block is of [`BLOCK`] bytes.
//! - Of each socket at most its window of bytes is kept that came: [`FIRST`], and as programs read it
//!   more, up to [`WINDOW`], as long as all together have no more than [`POOL`] beyond the first. At
//!   most [`SENT`] are under way to the host.
//! - A message about a socket that is not known is about one that was given up, and is ignored; but a
//!   connection that was accepted for it is ended.

use crate::address::Address;
use crate::host_ports::HostPort;
use crate::host_socket::HostSocket;
use crate::messages::{end, fault, place};
use crate::network::HOST_SOCKETS;
use crate::session::{Begun, Ready, SERVERS, begin, bind};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_sockets::{BLOCK, FIRST, HEAD, Head, OPEN, OUTWARD, Op, SENT, WINDOW};

pub use crate::end::Stage;

/// How long the name server and the driver may take to connect, all in all: clients wait meanwhile.
const CONNECT: Duration = Duration::from_millis(200);
/// Messages without data that may wait for the driver. One that lets more wait does not work.
const QUEUE: usize = BUSY + 4 * HOST_SOCKETS;
/// Of these, as many as may wait when something begins: a connection, a listener, an offer. So
/// whoever begins and ends without a pause waits for the driver, and does not end it for all: the
/// rest is for what every socket may say until it has ended.
const BUSY: usize = 1024;
/// Bytes of windows beyond the least that all sockets may have together.
pub const POOL: usize = 32 << 20;
/// Bytes that are copied from block to block at a time: what lies between stays in the first cache.
const COPIED: usize = 8 << 10;
/// Bytes that come are kept in pieces of at least so many, unless there are fewer.
const PIECE: usize = 8 << 10;

pub type Receiving = HostSocketsContract::Imp<HostSocketsContract::Ready_Receive>;
pub type Sending = HostSocketsContract::Imp<HostSocketsContract::Ready_Send>;

/// What the host has said of a listener.
pub enum Said {
    Listening(u32),
    NotListening(u32, TcpFault),
}

/// Messages that are to be sent.
struct Out {
    block: Block,
    len: usize,
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

/// The first bytes of room that is kept, and is cleared only when it grows.
fn first(bytes: &mut Vec<u8>, count: usize) -> &mut [u8] {
    if bytes.len() < count {
        bytes.resize(count, 0);
    }
    &mut bytes[..count]
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
        self.out = Some(Out { block: out, len: 0 });
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

    /// Sends a message without data.
    pub fn say(&mut self, head: Head) {
        if self.is_up() {
            self.queue.push_back(head);
            self.flush();
        }
    }

    /// Whether so much waits for the driver that nothing further is to begin. What there is can
    /// still end: that is bounded by everybody's share of sockets.
    pub fn is_busy(&self) -> bool {
        self.queue.len() > BUSY
    }

    /// Whether the driver lets too much wait.
    pub fn is_stuck(&self) -> bool {
        self.queue.len() > QUEUE
    }

    /// Moves messages that wait into the block.
    fn flush(&mut self) {
        let Some(out) = &mut self.out else { return };
        while out.len + HEAD <= BLOCK
            && let Some(head) = self.queue.pop_front()
        {
            out.block.write(out.len, &head.encode());
            out.len += HEAD;
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

    /// Sends a message with so many bytes of data, if there is room for all of it now; whether there
    /// was.
    pub fn put_whole(&mut self, head: &Head, bytes: usize, data: impl FnOnce() -> Vec<u8>) -> bool {
        let (Some(out), true) = (&mut self.out, self.queue.is_empty()) else {
            return false;
        };
        let fits = out.len + HEAD + bytes <= BLOCK;
        if fits {
            out.block.write(out.len, &head.encode());
            out.block.write(out.len + HEAD, &data());
            out.len += HEAD + bytes;
        }
        fits
    }

    /// Takes bytes of a block for a connection, from a place on; the first that is left.
    pub fn put(&mut self, number: u32, block: &Block, at: usize) -> usize {
        let Some(socket) = self.sockets.get_mut(&number) else {
            return at;
        };
        let (Some(out), true) = (&mut self.out, self.queue.is_empty()) else {
            return at;
        };
        let (left, room) = (block.len() - at, BLOCK.saturating_sub(out.len + HEAD));
        let count = left.min(room);
        // Each piece costs the host a call, and wakes the other side. There is credit for all of a block when
        // the host has taken what is under way.
        if count == 0 || socket.credit < left || socket.stage != Stage::Open {
            return at;
        }
        // What does not fit behind others goes in one piece with the next block, but does not wait twice.
        if room < left && !core::mem::replace(&mut socket.held, true) {
            return at;
        }
        socket.held = false;
        let head = Head::new(Op::Data, number, count as u32);
        let mut head = &head.encode()[..];
        let (mut from, end) = (at, at + count);
        while from < end {
            let part = (end - from).min(COPIED);
            let bytes = first(&mut self.bytes, head.len() + part);
            bytes[..head.len()].copy_from_slice(head);
            block.read(from, &mut bytes[head.len()..]);
            out.block.write(out.len, bytes);
            out.len += bytes.len();
            (from, head) = (from + part, &[]);
        }
        socket.credit -= count;
        at + count
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

    /// Hands over what is to be sent, if nothing is under way.
    pub fn send(&mut self) -> Option<Sending> {
        if self.out.as_ref().is_none_or(|out| out.len == 0) {
            return None;
        }
        let sender = self.sender.take()?;
        let Some(out) = self.out.take() else {
            self.sender = Some(sender);
            return None;
        };
        self.out = self.spare.take().map(|block| Out { block, len: 0 });
        self.flush();
        Some(sender.send_send(Vector::from_block(out.block), out.len as u32))
    }

    /// The driver has answered; whether it is still there, and has given back what it was given.
    pub fn sent(&mut self, sending: Sending) -> bool {
        use HostSocketsContract::imp::Ready_Send as Answer;
        let Answer::Sent(block, next) = sending.recv() else {
            return false;
        };
        let mut block = block.into_block();
        // One that is shared cannot be written.
        if block.len() != BLOCK || block.unshare().is_err() {
            return false;
        }
        match self.out {
            Some(_) => self.spare = Some(block),
            None => self.out = Some(Out { block, len: 0 }),
        }
        self.sender = Some(next);
        // Listeners that asked for nothing as too much waited.
        self.changed |= self.is_busy();
        self.flush();
        self.has_room = true;
        true
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
                socket.credit = SENT.min(socket.credit + head.count as usize);
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
