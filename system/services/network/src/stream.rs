//! A connection: its socket, and the pipes of its data.
//!
//! Invariants:
//! - A block from a program is acknowledged when all of it is in the socket's buffer; until then it
//!   is here. Of what has come, one block at most is with the reader.
//! - What a connection keeps is bounded: its buffers, and a block of at most [`LARGEST`] bytes in each
//!   direction. Without that bound one program's block would leave no room for another's.
//! - A connection that nobody has any pipe or channel of is given [`LEFT`] to end, or less if the other side sends on, or its
//!   origin needs the socket (`orphans.rs`).

use crate::address::Address;
use crate::end::{At, Stage};
use crate::link::{Glance, PATIENCE};
use crate::network::{Client, Network};
use crate::place::Target;
use crate::ports::Port;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

/// The largest block that is taken from a pipe, as everywhere (`PipeContract`).
const LARGEST: usize = 64 << 10;
/// How long a connection without anybody may take to end.
const LEFT: Duration = Duration::from_secs(60);
/// How long one may, whose other side sends on and on what nobody reads.
const SENDING: Duration = Duration::from_secs(5);
/// How long a link may take to get an address.
pub const UP: Duration = Duration::from_secs(5);

/// What a program writes.
pub enum Output {
    Idle(PipeContract::Exp<PipeContract::Start>),
    /// A block, of which so many bytes are in the socket's buffer.
    Full(PipeContract::Exp<PipeContract::Written>, Block, usize),
    /// The same of a program that has closed its end, or has itself ended.
    Last(Block, usize),
}

/// What a program reads.
pub enum Input {
    Idle(PipeContract::Imp<PipeContract::Start>),
    /// It has a block.
    Sent(PipeContract::Imp<PipeContract::Written>),
}

/// How a connection has ended, and between whom it was.
#[derive(Clone, Copy)]
pub struct Ended {
    pub how: TcpFault,
    pub local: (Address, u16),
    pub remote: (Address, u16),
}

pub struct Stream {
    pub socket: At,
    pub origin: u32,
    /// The port that is its own; one that was accepted shares its listener's.
    pub port: Option<Port>,
    pub local: (Address, u16),
    pub remote: (Address, u16),
    /// What its channel may be used for, if it does not come about.
    pub target: Target,
    pub connected: bool,
    /// It has its pipes: one that was accepted and not yet opened has none.
    pub opened: bool,
    begun: Duration,
    /// Its link had no address when it was begun: the socket is still to be told.
    pub waits: bool,
    /// Its channels, by their slots.
    pub control: Option<u32>,
    pub output: Option<u32>,
    pub input: Option<u32>,
    /// The other side has ended its direction; this side has.
    heard: bool,
    said: bool,
    /// Since when nobody has it.
    pub left: Option<Duration>,
    /// Since when the other side has sent, at each look, what nobody reads.
    sends: Option<Duration>,
    /// What its socket was like after the last look; of the host's there is none.
    pub seen: Glance,
}

impl Stream {
    pub fn new(
        socket: At,
        origin: u32,
        port: Option<Port>,
        [local, remote]: [(Address, u16); 2],
        target: Target,
    ) -> Stream {
        Stream {
            socket,
            origin,
            port,
            local,
            remote,
            target,
            connected: false,
            opened: false,
            begun: uptime(),
            waits: false,
            control: None,
            output: None,
            input: None,
            heard: false,
            said: false,
            left: None,
            sends: None,
            seen: None,
        }
    }
}

impl Network {
    /// A program has written, or has closed its end.
    pub fn written(&mut self, slot: u32, output: Output, stream: u32) {
        use PipeContract::exp::Start as Written;
        match output {
            Output::Idle(pipe) => match pipe.recv() {
                // The rest is not sent either: the other side hears that it is not whole.
                Written::Write(data, _) if data.len() > LARGEST => {
                    self.slots.remove(slot);
                    if let Some(mut stream) = self.streams.remove(&stream) {
                        stream.output = None;
                        self.end_of(stream.socket).abort();
                        self.end(*stream, TcpFault::Reset);
                    }
                    return;
                }
                Written::Write(data, next) => {
                    let full = Output::Full(next, data.into_block(), 0);
                    self.slots.put(slot, Client::Output(full, stream));
                }
                Written::Closed => self.close_output(slot, stream),
            },
            // The writer has gone. What it wrote is sent, and nobody is told.
            Output::Full(_, block, at) | Output::Last(block, at) => {
                let last = Output::Last(block, at);
                self.slots.put(slot, Client::Output(last, stream));
            }
        }
        match self.streams.get(&stream).map(|s| s.socket) {
            // All share the block that goes to the host: whose turn it is, the look says.
            Some(At::Host(_)) => self.turns.note(stream),
            _ => self.pump(stream),
        }
    }

    fn close_output(&mut self, slot: u32, stream: u32) {
        self.slots.remove(slot);
        if let Some(s) = self.streams.get_mut(&stream) {
            s.output = None;
        }
    }

    /// A program has taken a block, or reads no more.
    pub fn taken(&mut self, slot: u32, input: Input, stream: u32) {
        let next = match input {
            Input::Idle(_) => None,
            Input::Sent(pipe) => pipe.recv_ack().ok(),
        };
        match next {
            Some(next) => self
                .slots
                .put(slot, Client::Input(Input::Idle(next), stream)),
            None => {
                self.slots.remove(slot);
                if let Some(s) = self.streams.get_mut(&stream) {
                    s.input = None;
                }
            }
        }
        self.pump(stream);
    }

    /// Does for a connection what can be done.
    pub fn pump(&mut self, number: u32) {
        if self.streams.get(&number).is_none_or(|s| !s.opened) {
            return;
        }
        let Some(mut stream) = self.streams.remove(&number) else {
            return;
        };
        if stream.waits && !self.go(&mut stream) {
            if uptime() - stream.begun >= UP {
                return self.refuse(&mut stream, TcpFault::Unreachable);
            }
            self.streams.insert(number, stream);
            return;
        }
        if !stream.connected && !self.connected(&mut stream, number) {
            return;
        }
        if stream.connected {
            self.send(&mut stream, number);
            self.receive(&mut stream, number);
            if let Some(how) = self.ended(&mut stream) {
                return self.end(*stream, how);
            }
        }
        if let At::Stack(link, socket) = stream.socket {
            stream.seen = self.links[link].glance(socket);
        }
        self.streams.insert(number, stream);
    }

    /// Begins a connection that has waited for its link; whether that is up.
    fn go(&mut self, stream: &mut Stream) -> bool {
        if let At::Stack(link, socket) = stream.socket {
            let link = &mut self.links[link];
            if !link.is_up_for(stream.remote.0) {
                return false;
            }
            // One that cannot be begun is found closed.
            let _ = link.connect(socket, stream.remote, stream.local);
        }
        stream.waits = false;
        true
    }

    /// Looks whether a connection has come about; whether there still is one.
    fn connected(&mut self, stream: &mut Stream, number: u32) -> bool {
        let mut socket = self.end_of(stream.socket);
        match socket.stage() {
            Stage::Begun | Stage::HalfOpen | Stage::Listens => true,
            Stage::Closed => {
                let fault = match (stream.target, stream.socket) {
                    (Target::Accepted(_), _) => TcpFault::Reset,
                    (_, At::Host(_)) => socket.fault().unwrap_or(TcpFault::Down),
                    _ if uptime() - stream.begun >= PATIENCE => TcpFault::TimedOut,
                    _ => TcpFault::Refused,
                };
                self.refuse(stream, fault);
                false
            }
            _ => {
                stream.connected = true;
                // The link has chosen the address, or the host both address and port.
                [stream.local, _] = socket.ends();
                let control = stream
                    .control
                    .and_then(|slot| Some((slot, self.slots.take(slot)?)));
                if let Some((slot, Client::Connecting(client, _))) = control {
                    let joined = Client::Joined(client.send_connected(), number);
                    self.slots.put(slot, joined);
                }
                true
            }
        }
    }

    /// Moves what a program has written into the socket.
    fn send(&mut self, stream: &mut Stream, number: u32) {
        let Some(slot) = stream.output else { return };
        let Some(Client::Output(output, _)) = self.slots.take(slot) else {
            return;
        };
        // Nothing is taken of what is for a connection that the host has ended: whoever writes it may
        // wait for that, and not read what has come before.
        let gone = matches!(stream.socket, At::Host(_))
            && self.end_of(stream.socket).stage() == Stage::Closed;
        let output = match output {
            Output::Idle(pipe) => Some(Output::Idle(pipe)),
            Output::Full(..) | Output::Last(..) if gone => None,
            Output::Full(next, block, at) => {
                Some(match self.end_of(stream.socket).put(block, at) {
                    Some((block, at)) => {
                        self.turns.wait(number);
                        Output::Full(next, block, at)
                    }
                    None => Output::Idle(next.send_ack()),
                })
            }
            Output::Last(block, at) => {
                let left = self.end_of(stream.socket).put(block, at);
                left.map(|(block, at)| {
                    self.turns.wait(number);
                    Output::Last(block, at)
                })
            }
        };
        match output {
            Some(output) => self.slots.put(slot, Client::Output(output, number)),
            None => {
                self.slots.remove(slot);
                stream.output = None;
            }
        }
    }

    /// Moves what has come to the program.
    fn receive(&mut self, stream: &mut Stream, number: u32) {
        let Some(slot) = stream.input else {
            // Nobody reads it: it is taken, so that the other side is not held up.
            let mut socket = self.end_of(stream.socket);
            match socket.waiting() {
                0 => stream.sends = None,
                _ => drop(stream.sends.get_or_insert_with(uptime)),
            }
            return socket.discard();
        };
        let ready = matches!(self.slots.get(slot), Some(Client::Input(Input::Idle(_), _)));
        if !ready {
            return;
        }
        let mut socket = self.end_of(stream.socket);
        let waiting = socket.waiting();
        if waiting == 0 {
            if !socket.may_come() {
                self.slots.remove(slot);
                stream.input = None;
            }
            return;
        }
        // Without memory for the block it stays where it is until the next look.
        let Ok(mut block) = Block::new(waiting) else {
            return;
        };
        socket.take(&mut block);
        if let Some(Client::Input(Input::Idle(pipe), _)) = self.slots.take(slot) {
            let sent = pipe.send_write(Vector::from_block(block));
            self.slots
                .put(slot, Client::Input(Input::Sent(sent), number));
        }
    }

    /// Ends this side's direction when the program has; how the connection has ended, if it has.
    fn ended(&mut self, stream: &mut Stream) -> Option<TcpFault> {
        let writer = stream.output.and_then(|slot| self.slots.get(slot));
        let writes = writer.is_some_and(|w| !matches!(w, Client::Output(Output::Last(..), _)));
        let alone = stream.control.is_none() && !writes && stream.input.is_none();
        let mut socket = self.end_of(stream.socket);
        stream.heard |= socket.has_heard();
        if stream.output.is_none() && !stream.said {
            stream.said = true;
            socket.close();
        }
        if alone {
            let since = *stream.left.get_or_insert_with(uptime);
            let sends = stream
                .sends
                .is_some_and(|begun| uptime() - begun >= SENDING);
            if sends || uptime() - since >= LEFT {
                socket.abort();
                return Some(TcpFault::TimedOut);
            }
        }
        match socket.stage() {
            // What has come is read first.
            Stage::Over | Stage::Closed if stream.input.is_some() && socket.waiting() > 0 => None,
            Stage::Over => Some(TcpFault::None),
            Stage::Closed if stream.heard && stream.said => {
                // The host knows whether all that was said was heard.
                let host = matches!(stream.socket, At::Host(_));
                let known = socket.fault().filter(|_| host);
                Some(known.unwrap_or(TcpFault::None))
            }
            Stage::Closed => Some(socket.fault().unwrap_or(TcpFault::Reset)),
            _ => None,
        }
    }

    /// A connection has ended: gives up all that it has, and says so.
    pub fn end(&mut self, mut stream: Stream, how: TcpFault) {
        for slot in [stream.output.take(), stream.input.take()]
            .into_iter()
            .flatten()
        {
            self.slots.remove(slot);
        }
        let ended = Ended {
            how,
            local: stream.local,
            remote: stream.remote,
        };
        if let Some(slot) = stream.control.take() {
            match self.slots.take(slot) {
                Some(Client::Joined(client, _)) => {
                    self.slots.put(slot, Client::Done(client, ended))
                }
                Some(Client::Waiting(client, _)) => {
                    drop(client.send_ended(how));
                    self.slots.remove(slot);
                }
                _ => drop(self.slots.remove(slot)),
            }
        }
        self.give_up(stream.socket, stream.origin, stream.port.take());
    }

    /// A connection has not come about.
    pub fn refuse(&mut self, stream: &mut Stream, fault: TcpFault) {
        for slot in [stream.output.take(), stream.input.take()]
            .into_iter()
            .flatten()
        {
            self.slots.remove(slot);
        }
        if let Some(slot) = stream.control.take()
            && let Some(Client::Connecting(client, _)) = self.slots.take(slot)
        {
            let ready = Client::Ready(client.send_failed(fault), stream.target);
            self.slots.put(slot, ready);
        }
        self.give_up(stream.socket, stream.origin, stream.port.take());
    }
}
