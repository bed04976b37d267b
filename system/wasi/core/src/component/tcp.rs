//! `wasi:sockets/tcp`.
//!
//! What is started is done at once, but for connections: binding and listening are answered by the network service
//! itself. The finishing call tells how it went, so a program sees the states that the interface has.

use super::io::To;
use super::poll::Pollable;
use super::resources::Resource;
use super::sockets::{Family, Flat, Made, address};
use super::tcp_options::Options;
use super::{Component, Outcome, Room};
use crate::errno::Errno;
use crate::host::{Host, Listener as _};
use crate::net::{Answer, Code, Network, Pending};
use crate::table::{OpenSocket, OpenSource};
use core::net::SocketAddr;

/// Connections that are taken before they are asked for, if the program says nothing.
const BACKLOG: u32 = 128;
/// What was started and is not finished.
enum Started {
    Bind(Answer<SocketAddr>),
    Connect,
    Listen(Answer),
}

enum Stage<H: Host> {
    Made(<H::Net as Network>::Tcp),
    Connecting(<H::Net as Network>::Connecting),
    Connected(OpenSocket<H>),
    Listens(H::Listener),
    /// It can do nothing more, for this reason.
    Failed(Code),
}

/// A socket of TCP.
pub(crate) struct Socket<H: Host> {
    family: Family,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    started: Option<Started>,
    backlog: u32,
    pub options: Options,
    stage: Stage<H>,
}

impl<H: Host> Socket<H> {
    fn new(family: Family, stage: Stage<H>, options: Options) -> Self {
        Socket {
            family,
            local: None,
            remote: None,
            started: None,
            backlog: BACKLOG,
            options,
            stage,
        }
    }

    pub fn connection(&self) -> Option<&OpenSocket<H>> {
        match &self.stage {
            Stage::Connected(open) => Some(open),
            _ => None,
        }
    }

    pub fn connection_mut(&mut self) -> Option<&mut OpenSocket<H>> {
        match &mut self.stage {
            Stage::Connected(open) => Some(open),
            _ => None,
        }
    }

    /// What it listens with, once the program has been told that it does.
    pub fn listener(&self) -> Option<&H::Listener> {
        match (&self.stage, &self.started) {
            (Stage::Listens(listener), None) => Some(listener),
            _ => None,
        }
    }

    pub fn connecting(&self) -> Option<&<H::Net as Network>::Connecting> {
        match &self.stage {
            Stage::Connecting(connecting) => Some(connecting),
            _ => None,
        }
    }

    /// That something can be started, with what has been made.
    fn can_start(&self) -> Answer {
        match (&self.started, &self.stage) {
            (Some(_), _) => Err(Code::ConcurrencyConflict),
            (None, Stage::Made(_)) => Ok(()),
            _ => Err(Code::InvalidState),
        }
    }

    fn fail(&mut self, code: Code) -> Stage<H> {
        core::mem::replace(&mut self.stage, Stage::Failed(code))
    }

    fn bind(&mut self, net: &mut H::Net, local: SocketAddr) -> Answer {
        self.can_start()?;
        if self.local.is_some() {
            return Err(Code::InvalidState);
        }
        if !self.family.can_bind(local.ip()) {
            return Err(Code::InvalidArgument);
        }
        let Stage::Made(made) = &mut self.stage else {
            return Err(Code::InvalidState);
        };
        let bound = net.bind(made, local);
        let bound = bound.map(|port| SocketAddr::new(local.ip(), port));
        self.started = Some(Started::Bind(bound));
        Ok(())
    }

    fn connect(&mut self, net: &mut H::Net, remote: SocketAddr) -> Answer {
        self.can_start()?;
        if !self.family.can_reach(remote) {
            return Err(Code::InvalidArgument);
        }
        if let Stage::Made(made) = self.fail(Code::InvalidState) {
            self.stage = match net.connect(made, remote) {
                Ok(connecting) => Stage::Connecting(connecting),
                Err(code) => Stage::Failed(code),
            };
        }
        self.started = Some(Started::Connect);
        Ok(())
    }

    fn listen(&mut self, net: &mut H::Net) -> Answer {
        self.can_start()?;
        if self.local.is_none() {
            return Err(Code::InvalidState);
        }
        let Stage::Made(made) = self.fail(Code::InvalidState) else {
            return Err(Code::InvalidState);
        };
        let done = match net.listen(made, self.backlog) {
            Ok(listener) => {
                self.stage = Stage::Listens(listener);
                Ok(())
            }
            Err(code) => {
                self.fail(code);
                Err(code)
            }
        };
        self.started = Some(Started::Listen(done));
        Ok(())
    }

    /// The connection that was begun, if it has been made.
    fn finish_connect(&mut self, net: &mut H::Net) -> Answer {
        let Some(Started::Connect) = self.started else {
            return Err(Code::NotInProgress);
        };
        if self.connecting().is_some_and(|pending| !pending.is_ready()) {
            return Err(Code::WouldBlock);
        }
        self.started = None;
        let connecting = match self.fail(Code::InvalidState) {
            Stage::Connecting(connecting) => connecting,
            other => {
                self.stage = other;
                return match self.stage {
                    Stage::Failed(code) => Err(code),
                    _ => Err(Code::InvalidState),
                };
            }
        };
        match net.connected(connecting) {
            Ok((source, sink, ends)) => {
                self.connected((source, sink), ends);
                Ok(())
            }
            Err(code) => {
                self.fail(code);
                Err(code)
            }
        }
    }

    fn connected(&mut self, (source, sink): (H::Source, H::Sink), ends: [SocketAddr; 2]) {
        let [local, remote] = ends.map(|end| self.family.told(end));
        (self.local, self.remote) = (Some(local), Some(remote));
        self.stage = Stage::Connected(OpenSocket {
            input: Some(OpenSource { source, rest: None }),
            output: Some(sink),
        });
    }

    /// The next connection that has come.
    fn accept(&mut self) -> Answer<Socket<H>> {
        let Stage::Listens(listener) = &mut self.stage else {
            return Err(Code::InvalidState);
        };
        if self.started.is_some() {
            return Err(Code::InvalidState);
        }
        if !listener.is_ready() {
            return Err(Code::WouldBlock);
        }
        let accepted = listener.accept_with_ends().map_err(|errno| match errno {
            Errno::Nobufs => Code::NewSocketLimit,
            Errno::Netdown => Code::RemoteUnreachable,
            _ => Code::ConnectionAborted,
        });
        let (source, sink, ends) = accepted?;
        // A port at all addresses is one of both families here. Who comes by the other one is not meant.
        if !self.family.has(ends[1].ip()) {
            return Err(Code::WouldBlock);
        }
        let made = Stage::Failed(Code::InvalidState);
        let mut socket = Socket::new(self.family, made, self.options);
        socket.connected((source, sink), ends);
        Ok(socket)
    }

    fn shut_down(&mut self, how: u32) -> Answer {
        let open = self.connection_mut().ok_or(Code::InvalidState)?;
        if how != 1 {
            open.input = None;
        }
        if how != 0 {
            open.output = None;
        }
        Ok(())
    }

    pub fn set_backlog(&mut self, value: u64) -> Answer {
        match self.stage {
            _ if value == 0 => Err(Code::InvalidArgument),
            Stage::Listens(_) => Err(Code::NotSupported),
            Stage::Connecting(_) | Stage::Connected(_) => Err(Code::InvalidState),
            _ => {
                self.backlog = u32::try_from(value).unwrap_or(u32::MAX);
                Ok(())
            }
        }
    }
}

impl<H: Room> Component<H> {
    pub(super) fn tcp(&mut self, socket: u32) -> Outcome<(u32, &mut Socket<H>)> {
        let fd = *self.table.tcp(socket)?;
        match self.made(fd)? {
            Made::Tcp(socket) => Ok((fd, socket)),
            _ => Err("passes a tcp-socket that is none".into()),
        }
    }

    /// Works with a socket and the network.
    fn with_tcp(
        &mut self,
        socket: u32,
        work: impl FnOnce(&mut Socket<H>, &mut H::Net) -> Answer,
    ) -> Outcome<Answer> {
        let fd = *self.table.tcp(socket)?;
        let (host, table) = (&mut self.wasi.host, &mut self.wasi.table);
        let object = table.get(fd).map(|d| &mut d.object);
        Ok(match (object, host.net()) {
            (Ok(crate::table::Object::Made(made)), Some(net)) => match &mut **made {
                Made::Tcp(socket) => work(socket, net),
                _ => Err(Code::InvalidState),
            },
            _ => Err(Code::InvalidState),
        })
    }

    /// `create-tcp-socket`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn create_tcp(&mut self, family: u32, out: u32) -> Outcome {
        let family = Family::of(family)?;
        let room = self.net().map(drop).and_then(|()| self.has_room());
        let made = room.and_then(|()| self.net()?.tcp());
        let socket = made.map(|made| Socket::new(family, Stage::Made(made), Options::new()));
        match socket.and_then(|socket| self.add_made(Made::Tcp(socket))) {
            Ok(fd) => {
                self.hold(fd);
                let handle = self.table.add(Resource::Tcp(fd))?;
                self.answer_handles(out, Ok(&[handle]))
            }
            Err(code) => self.answer_handles(out, Err(code)),
        }
    }

    /// `start-bind`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_start_bind(&mut self, socket: u32, network: u32, at: Flat, out: u32) -> Outcome {
        self.is_network(network)?;
        let local = address(&at)?;
        let done = self.with_tcp(socket, |socket, net| socket.bind(net, local))?;
        self.answer_done(out, done)
    }

    /// `finish-bind`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_finish_bind(&mut self, socket: u32, out: u32) -> Outcome {
        let (_, socket) = self.tcp(socket)?;
        let done = match socket.started.take() {
            Some(Started::Bind(bound)) => bound.map(|local| socket.local = Some(local)),
            other => {
                socket.started = other;
                Err(Code::NotInProgress)
            }
        };
        self.answer_done(out, done)
    }

    /// `start-connect`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_start_connect(&mut self, socket: u32, network: u32, to: Flat, out: u32) -> Outcome {
        self.is_network(network)?;
        let remote = address(&to)?;
        let done = self.with_tcp(socket, |socket, net| socket.connect(net, remote))?;
        self.answer_done(out, done)
    }

    /// `finish-connect`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_finish_connect(&mut self, socket: u32, out: u32) -> Outcome {
        match self.with_tcp(socket, Socket::finish_connect)? {
            Ok(()) => {
                let fd = *self.table.tcp(socket)?;
                let streams = [self.add_input(fd, None)?, self.add_output(fd, To::Pipe)?];
                self.answer_handles(out, Ok(&streams))
            }
            Err(code) => self.answer_handles(out, Err(code)),
        }
    }

    /// `start-listen`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_start_listen(&mut self, socket: u32, out: u32) -> Outcome {
        let done = self.with_tcp(socket, Socket::listen)?;
        self.answer_done(out, done)
    }

    /// `finish-listen`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_finish_listen(&mut self, socket: u32, out: u32) -> Outcome {
        let (_, socket) = self.tcp(socket)?;
        let done = match socket.started.take() {
            Some(Started::Listen(done)) => done,
            other => {
                socket.started = other;
                Err(Code::NotInProgress)
            }
        };
        self.answer_done(out, done)
    }

    /// `accept`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_accept(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp(socket)?;
        // A connection that would have no number stays where it is.
        let accepted = match self.has_room() {
            Ok(()) => self.tcp(socket)?.1.accept(),
            Err(code) => Err(code),
        };
        match accepted.and_then(|socket| self.add_made(Made::Tcp(socket))) {
            Ok(fd) => {
                self.hold(fd);
                let socket = self.table.add(Resource::Tcp(fd))?;
                let all = [
                    socket,
                    self.add_input(fd, None)?,
                    self.add_output(fd, To::Pipe)?,
                ];
                self.answer_handles(out, Ok(&all))
            }
            Err(code) => self.answer_handles(out, Err(code)),
        }
    }

    /// `local-address`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_local(&mut self, socket: u32, out: u32) -> Outcome {
        let local = self.tcp(socket)?.1.local.ok_or(Code::InvalidState);
        self.answer_address(out, local)
    }

    /// `remote-address`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_remote(&mut self, socket: u32, out: u32) -> Outcome {
        let remote = self.tcp(socket)?.1.remote.ok_or(Code::InvalidState);
        self.answer_address(out, remote)
    }

    /// `is-listening`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_listens(&mut self, socket: u32) -> Outcome<u32> {
        Ok(self.tcp(socket)?.1.listener().is_some().into())
    }

    /// `address-family`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_family(&mut self, socket: u32) -> Outcome<u32> {
        Ok(self.tcp(socket)?.1.family as u32)
    }

    /// `subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_subscribe(&mut self, socket: u32) -> Outcome<u32> {
        let (fd, _) = self.tcp(socket)?;
        self.hold(fd);
        self.pollable(Pollable::Socket(fd))
    }

    /// `shutdown`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_shut_down(&mut self, socket: u32, how: u32, out: u32) -> Outcome {
        if how > 2 {
            return Err("passes a way to shut down that is none".into());
        }
        let done = self.tcp(socket)?.1.shut_down(how);
        self.answer_done(out, done)
    }
}
