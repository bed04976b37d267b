//! A network in memory: what tests put there, and what a program has of it.

use super::fake::{Listener, Sink, Source};
use crate::net::{
    self, Answer, Code, Connection, Controlled, Datagrams, Network, Pending, Received,
};
use core::net::{IpAddr, SocketAddr};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::Vec;

/// An answer that is there, or yet to come.
pub type Slot<T> = Rc<RefCell<Option<Answer<T>>>>;

/// A connection or a lookup that waits for its answer.
#[derive(Clone, Default)]
pub struct Waits<T>(pub Slot<T>);

impl<T> Pending for Waits<T> {
    fn is_ready(&self) -> bool {
        self.0.borrow().is_some()
    }
}

/// What has become of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    #[default]
    Held,
    /// Left to the network.
    Left,
    /// Ended at once.
    Aborted,
}

/// A connection as the network sees it: what has become of it, and how it has ended, if the network knows.
pub struct Link {
    pub fate: Fate,
    pub how: Option<Answer>,
}

impl Default for Link {
    fn default() -> Link {
        Link {
            fate: Fate::Held,
            how: Some(Ok(())),
        }
    }
}

/// The control of a connection, and whether it was asked how that ends.
pub struct Control(Rc<RefCell<Link>>, bool);

impl Pending for Control {
    fn is_ready(&self) -> bool {
        self.1 && self.0.borrow().how.is_some()
    }
}

impl net::Control for Control {
    fn abort(self) {
        self.0.borrow_mut().fate = Fate::Aborted;
    }

    fn ask(&mut self) {
        self.1 = true;
    }

    fn ended(&mut self) -> Answer {
        assert!(self.is_ready(), "a test that would wait for ever");
        self.0.borrow_mut().how.take().unwrap()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let mut link = self.0.borrow_mut();
        if link.fate == Fate::Held {
            link.fate = Fate::Left;
        }
    }
}

/// A datagram and from where, or to where one has not arrived.
pub type Came = core::result::Result<(Vec<u8>, SocketAddr), (SocketAddr, Code)>;

/// The datagrams at a port.
#[derive(Default)]
pub struct State {
    pub come: VecDeque<Came>,
    pub sent: Vec<(Vec<u8>, SocketAddr)>,
    pub full: bool,
    pub fault: Option<Code>,
    pub gone: bool,
}

#[derive(Clone, Default)]
pub struct Port(pub Rc<RefCell<State>>);

impl Datagrams for Port {
    type Block = Vec<u8>;

    fn receive(&mut self) -> Received<Vec<u8>> {
        let mut state = self.0.borrow_mut();
        match state.come.pop_front() {
            Some(Ok((data, from))) => {
                let len = data.len();
                Ok(Some((data, len, from)))
            }
            Some(Err((to, code))) => Err((Some(to), code)),
            None if state.gone => Err((None, Code::RemoteUnreachable)),
            None => Ok(None),
        }
    }

    fn has_come(&self) -> bool {
        let state = self.0.borrow();
        state.gone || !state.come.is_empty()
    }

    fn room(&mut self) -> Answer<bool> {
        let mut state = self.0.borrow_mut();
        match state.fault.take() {
            Some(code) => Err(code),
            None => Ok(!state.full),
        }
    }

    fn has_room(&self) -> bool {
        let state = self.0.borrow();
        !state.full || state.fault.is_some()
    }

    fn send(&mut self, to: SocketAddr, block: Vec<u8>) -> Answer {
        if !self.room()? {
            return Err(Code::WouldBlock);
        }
        self.0.borrow_mut().sent.push((block, to));
        Ok(())
    }
}

/// What happens while somebody waits.
pub type Comes = std::boxed::Box<dyn FnOnce()>;

/// The network.
#[derive(Default)]
pub struct Net {
    /// Lives as long as a socket of it, which has a copy.
    pub sockets: Rc<()>,
    /// Ports that are taken.
    pub taken: Vec<u16>,
    /// Where connections were begun, from which port, and what becomes of each.
    pub begun: Vec<(Option<u16>, SocketAddr)>,
    pub connecting: Waits<(Source, Sink)>,
    /// What becomes of it.
    pub link: Rc<RefCell<Link>>,
    pub listener: Listener,
    pub backlog: u32,
    pub port: Port,
    pub asked: Vec<std::string::String>,
    pub lookup: Waits<Vec<IpAddr>>,
    pub comes: VecDeque<Comes>,
    /// Why nothing can be made.
    pub fault: Option<Code>,
}

/// A socket, and its port.
pub struct Socket {
    _of: Rc<()>,
    port: Option<u16>,
}

impl Net {
    fn make(&self) -> Answer<Socket> {
        match self.fault {
            Some(code) => Err(code),
            None => Ok(Socket {
                _of: self.sockets.clone(),
                port: None,
            }),
        }
    }

    fn take(&self, local: SocketAddr) -> Answer<u16> {
        match local.port() {
            0 => Ok(49200),
            port if self.taken.contains(&port) => Err(Code::AddressInUse),
            port => Ok(port),
        }
    }
}

impl Network for Net {
    type Block = Vec<u8>;
    type Source = Source;
    type Sink = Sink;
    type Tcp = Socket;
    type Connecting = Waits<(Source, Sink)>;
    type Control = Control;
    type Listener = Listener;
    type Udp = Socket;
    type Datagrams = Port;
    type Lookup = Waits<Vec<IpAddr>>;

    fn tcp(&mut self) -> Answer<Socket> {
        self.make()
    }

    fn bind(&mut self, socket: &mut Socket, local: SocketAddr) -> Answer<u16> {
        let port = self.take(local)?;
        socket.port = Some(port);
        Ok(port)
    }

    fn connect(&mut self, socket: Socket, remote: SocketAddr) -> Answer<Self::Connecting> {
        self.begun.push((socket.port, remote));
        Ok(self.connecting.clone())
    }

    fn connected(&mut self, connecting: Self::Connecting) -> Answer<Connection<Self>> {
        let answer = connecting.0.borrow_mut().take();
        let (source, sink) = answer.expect("it is ready")?;
        let (_, remote) = *self.begun.last().unwrap();
        // As the system's: any address is told as one of IPv6.
        let local = "[::]:49201".parse().unwrap();
        Ok((source, sink, [local, remote]))
    }

    fn joined(&mut self, connecting: Self::Connecting) -> Answer<Controlled<Self>> {
        let answer = connecting.0.borrow_mut().take();
        let (source, sink) = answer.expect("it is ready")?;
        Ok((source, sink, Control(self.link.clone(), false)))
    }

    fn listen(&mut self, socket: Socket, backlog: u32) -> Answer<Listener> {
        assert!(socket.port.is_some());
        self.backlog = backlog;
        Ok(self.listener.clone())
    }

    fn udp(&mut self) -> Answer<Socket> {
        self.make()
    }

    fn open(&mut self, _: &mut Socket, local: SocketAddr, chance: u64) -> Answer<(Port, u16)> {
        assert_ne!(chance, 0);
        let port = self.take(local)?;
        Ok((self.port.clone(), port))
    }

    fn look_up(&mut self, name: &str) -> Answer<Self::Lookup> {
        self.asked.push(name.into());
        Ok(self.lookup.clone())
    }

    fn found(&mut self, lookup: Self::Lookup) -> Answer<Vec<IpAddr>> {
        lookup.0.borrow_mut().take().expect("it is ready")
    }
}
