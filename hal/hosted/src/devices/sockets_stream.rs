//! A connection of the host's, and what it has for the system.
//!
//! Invariants:
//! - Of what the system sends, at most [`SENT`] bytes wait here; a system that sends more ends its
//!   connection. Of what comes, nothing waits here: it goes from the host into a batch, and only
//!   as much as the system has said it has room for.
//! - `Closed` is the last that is said of a connection, and whoever says it forgets it.

use super::queue::Lying;
use super::sockets_host::{address, family, socket};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, Shutdown, SocketAddrAny, bind, connect, getsockname, recv, shutdown, sockopt,
};
use sing_sockets::{BLOCK, FIRST, Fault, HEAD, Head, Op, Place, SENT, TOLD, WINDOW};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// The other side of an idle connection is asked so often whether it is still there.
const ASK: Duration = Duration::from_secs(15);
/// Questions without an answer before it is taken for gone.
const QUESTIONS: u32 = 3;
/// Milliseconds after which the other side is taken for gone that does not acknowledge.
const PATIENCE: u32 = 60_000;

/// The host's reason in the words of the contract.
pub(super) fn fault(error: Errno) -> Fault {
    match error {
        Errno::CONNREFUSED => Fault::Refused,
        Errno::CONNRESET | Errno::CONNABORTED | Errno::PIPE | Errno::NOTCONN => Fault::Reset,
        Errno::TIMEDOUT => Fault::TimedOut,
        Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::AFNOSUPPORT => {
            Fault::Unreachable
        }
        Errno::ADDRNOTAVAIL => Fault::NotLocal,
        Errno::ADDRINUSE => Fault::InUse,
        Errno::ACCESS | Errno::PERM => Fault::NotPermitted,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC => {
            Fault::NoResources
        }
        _ => Fault::Down,
    }
}

/// Messages for the system, at most a block of them.
pub(super) struct Batch {
    bytes: Box<[u8]>,
    len: usize,
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            bytes: vec![0; BLOCK].into(),
            len: 0,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// Puts a head behind the others, for which there is room.
    pub(super) fn push(&mut self, head: &[u8; HEAD]) {
        self.bytes[self.len..self.len + HEAD].copy_from_slice(head);
        self.len += HEAD;
    }

    /// Puts a datagram behind the others, if `read` has one, and a head for it.
    pub(super) fn datagram(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<Option<Head>, Errno>,
    ) -> Result<bool, Errno> {
        let start = self.len + HEAD;
        let head = read(&mut self.bytes[start..])?;
        if let Some(head) = &head {
            self.push(&head.encode());
            self.len += head.count as usize;
        }
        Ok(head.is_some())
    }

    /// Puts data behind the others, at most `most` bytes, as `read` gives them; how many.
    fn data(
        &mut self,
        id: u32,
        most: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let most = most.min(self.room() - HEAD);
        let start = self.len + HEAD;
        let count = read(&mut self.bytes[start..start + most])?;
        if count > 0 {
            self.push(&Head::new(Op::Data, id, count as u32).encode());
            self.len += count;
        }
        Ok(count)
    }
}

/// A connection.
pub(super) struct Stream {
    socket: OwnedFd,
    connected: bool,
    /// What the system has sent and the socket has not taken, from `start` on.
    out: Vec<u8>,
    start: usize,
    /// Bytes that the socket has taken since the system was told.
    taken: usize,
    /// Bytes that the system has room for.
    credit: usize,
    /// What the host has said last.
    readable: bool,
    writable: bool,
    /// It is read until the host has nothing more, as the other side has ended, which the host says
    /// but once, or has sent urgent data, at which a read stops short.
    to_end: bool,
    /// The system has ended its direction, and the socket has been told.
    ending: bool,
    ended: bool,
    /// The other side has ended its direction, and the system has been told.
    heard: bool,
    fault: Option<Fault>,
    /// It is among those that have something for the system.
    pub(super) queued: bool,
}

/// An end of a connection as messages have it.
fn place(end: Result<SocketAddrAny, Errno>) -> Result<Place, Errno> {
    Ok(SocketAddr::try_from(end?)?.into())
}

/// Sets what every connection has; of a listener, those that it accepts have the same.
pub(super) fn set_options(socket: &OwnedFd) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, ASK)?;
    sockopt::set_tcp_keepintvl(socket, ASK)?;
    sockopt::set_tcp_keepcnt(socket, QUESTIONS)?;
    sockopt::set_tcp_user_timeout(socket, PATIENCE)
}

impl Stream {
    fn new(socket: OwnedFd) -> Stream {
        Stream {
            socket,
            connected: false,
            out: Vec::new(),
            start: 0,
            taken: 0,
            credit: FIRST,
            readable: false,
            writable: false,
            to_end: false,
            ending: false,
            ended: false,
            heard: false,
            fault: None,
            queued: false,
        }
    }

    /// Begins a connection, from a port if there is one.
    pub(super) fn connect(local: Place, remote: Place) -> Result<Stream, Errno> {
        let to = address(remote);
        let stream = Stream::new(socket(family(to.ip()))?);
        set_options(&stream.socket)?;
        if local.port != 0 {
            let mut from = address(local);
            if from.ip().is_unspecified() && to.is_ipv4() {
                from.set_ip(std::net::Ipv4Addr::UNSPECIFIED.into());
            }
            sockopt::set_socket_reuseaddr(&stream.socket, true)?;
            bind(&stream.socket, &from)?;
        }
        match connect(&stream.socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(stream),
            Err(error) => Err(error),
        }
    }

    /// One that was accepted, with its listener's options, and its ends: the near and the far one.
    pub(super) fn accepted(
        socket: OwnedFd,
        from: Option<SocketAddrAny>,
    ) -> Result<(Stream, Place, Place), Errno> {
        let (local, remote) = (
            place(getsockname(&socket))?,
            place(from.ok_or(Errno::NOTCONN))?,
        );
        let mut stream = Stream::new(socket);
        stream.connected = true;
        Ok((stream, local, remote))
    }

    pub(super) fn socket(&self) -> impl AsFd + '_ {
        self.socket.as_fd()
    }

    /// Ends it at once: the other side is told so. Where this one had ended its direction, the host goes on to send
    /// what it has taken before that, as long as nothing else comes, which it answers with a reset.
    pub(super) fn abort(self) {
        if !self.ended {
            let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// Takes what the host has said. If the connection has just come about, its near end.
    pub(super) fn ready(&mut self, flags: EventFlags) -> Option<Place> {
        let gone = EventFlags::HUP | EventFlags::ERR;
        self.to_end |= flags.intersects(EventFlags::RDHUP | EventFlags::PRI | gone);
        self.readable |= self.to_end || flags.contains(EventFlags::IN);
        self.writable |= flags.intersects(EventFlags::OUT | gone);
        let mut near = None;
        if !self.connected && self.writable {
            match sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => match place(getsockname(&self.socket)) {
                    Ok(local) => {
                        self.connected = true;
                        near = Some(local);
                    }
                    Err(error) => self.fail(fault(error)),
                },
                Ok(Err(error)) | Err(error) => self.fail(fault(error)),
            }
        } else if flags.contains(EventFlags::ERR)
            && self.credit == 0
            && let Ok(Err(error)) = sockopt::socket_error(&self.socket)
        {
            // Nothing is read now, which would tell.
            self.fail(fault(error));
        }
        self.flush();
        near
    }

    /// Sends what the system has sent.
    pub(super) fn write(&mut self, data: Lying<'_>) {
        let waiting = self.out.len() - self.start;
        if waiting + self.taken + data.len() > SENT || self.ending {
            return self.fail(Fault::Reset);
        }
        let sent = if waiting == 0 { self.send(data) } else { 0 };
        if let Some((_, rest)) = data.split_at(sent)
            && !rest.is_empty()
        {
            if self.start > 0 {
                self.out.drain(..self.start);
                self.start = 0;
            }
            rest.append_to(&mut self.out);
        }
    }

    /// Sends bytes, as many as the socket takes now; how many.
    fn send(&mut self, data: Lying<'_>) -> usize {
        let mut sent = 0;
        while self.connected
            && self.writable
            && let Some((_, rest)) = data.split_at(sent)
            && !rest.is_empty()
        {
            match rest.send(&self.socket) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.writable = false,
                Err(error) => {
                    self.fail(fault(error));
                    break;
                }
            }
        }
        self.taken += sent;
        sent
    }

    /// Sends what waits, and then the end.
    fn flush(&mut self) {
        if self.start < self.out.len() {
            let out = std::mem::take(&mut self.out);
            self.start += self.send(out[self.start..].into());
            self.out = out;
        }
        if self.start == self.out.len() {
            self.out = Vec::new();
            self.start = 0;
            if self.ending && !self.ended && self.connected && self.fault.is_none() {
                self.ended = true;
                if let Err(error) = shutdown(&self.socket, Shutdown::Write) {
                    self.fail(fault(error));
                }
            }
        }
    }

    /// The system has room for so many bytes more.
    pub(super) fn taken(&mut self, count: u32) {
        self.credit = self.credit.saturating_add(count as usize).min(WINDOW);
    }

    /// The system has no more to send.
    pub(super) fn end(&mut self) {
        self.ending = true;
        self.flush();
    }

    fn tells(&self) -> bool {
        self.taken >= TOLD
    }

    /// Whether there may be something to read, and room for it.
    fn reads(&self) -> bool {
        self.connected && self.readable && !self.heard && self.credit > 0
    }

    /// Whether there is nothing more of it. What came before it failed is read first.
    fn is_over(&self) -> bool {
        self.fault.is_some() && !self.reads() || self.heard && self.ended
    }

    /// Whether it has something for the system.
    pub(super) fn has_something(&self) -> bool {
        self.is_over() || self.tells() || self.reads()
    }

    /// Puts what there is for the system into a batch, which has room for some. Whether it was the
    /// last: the connection is to be forgotten.
    pub(super) fn fill(&mut self, id: u32, batch: &mut Batch) -> bool {
        if self.tells() {
            batch.push(&Head::new(Op::Taken, id, self.taken as u32).encode());
            self.taken = 0;
        }
        if self.reads() {
            let socket = &self.socket;
            let mut short = false;
            let read = |room: &mut [u8]| {
                let most = room.len();
                let (count, _) = recv(socket, room, RecvFlags::empty())?;
                short = count < most;
                Ok(count)
            };
            match batch.data(id, self.credit.min(WINDOW), read) {
                Ok(0) => {
                    self.heard = true;
                    batch.push(&Head::new(Op::End, id, 0).encode());
                }
                Ok(count) => {
                    self.credit -= count;
                    // Less than there was room for: all that there was. The host says when there is
                    // more, so that it need not be asked in vain (epoll(7), question 9).
                    self.readable &= !short || self.to_end;
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.readable = false;
                    self.fail(fault(error));
                }
            }
        }
        if !self.is_over() || batch.room() < HEAD {
            return false;
        }
        let fault = self.fault.unwrap_or_default();
        batch.push(&Head::closed(id, fault).encode());
        true
    }
}
