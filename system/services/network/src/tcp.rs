//! What comes over channels of `TcpConnectionContract`.

use crate::address::Address;
use crate::end::At;
use crate::network::{Client, Network};
use crate::place::Target;
use crate::ports::Port;
use crate::stream::{Input, Output, Stream};
use TcpConnectionContract::exp;
use sing_sdk::prelude::*;

type Out = PipeContract::Exp<PipeContract::Start>;
type In = PipeContract::Imp<PipeContract::Start>;
type Connecting = TcpConnectionContract::Exp<TcpConnectionContract::Connecting>;

/// Where a connection goes, and from which port if the program has one.
struct Way {
    to: (Address, u16),
    from: Option<Port>,
    target: Target,
}

/// What a connection goes over.
enum Route {
    Link(usize),
    Host,
}

impl Network {
    /// Serves one channel of the contract: it has a message, or is closed.
    pub fn control(&mut self, slot: u32, client: Client) {
        match client {
            Client::Ready(client, target) => self.ready(slot, client.recv(), target),
            Client::Bound(client, target, port) => self.bound(slot, client.recv(), target, port),
            Client::Listens(client, listener) => match client.recv() {
                exp::Listens::Accept(connection, next) => {
                    self.accepts(slot, listener, next, connection);
                }
                exp::Listens::Closed => {
                    self.slots.remove(slot);
                    self.unlisten(listener);
                }
            },
            Client::Joined(client, stream) => match client.recv() {
                exp::Joined::GetEndPoints(next) => {
                    let ends = self.streams.get(&stream).map(|s| (s.local, s.remote));
                    let (local, remote) = ends.unwrap_or(((Address::ANY, 0), (Address::ANY, 0)));
                    let next =
                        next.send_end_points(local.0.into(), local.1, remote.0.into(), remote.1);
                    self.slots.put(slot, Client::Joined(next, stream));
                }
                exp::Joined::Wait(next) => self.slots.put(slot, Client::Waiting(next, stream)),
                exp::Joined::Abort(next) => {
                    drop(next);
                    self.slots.remove(slot);
                    self.abort(stream);
                }
                exp::Joined::Closed => self.leave(slot, stream),
            },
            Client::Done(client, ended) => match client.recv() {
                exp::Joined::GetEndPoints(next) => {
                    let (local, remote) = (ended.local, ended.remote);
                    let next =
                        next.send_end_points(local.0.into(), local.1, remote.0.into(), remote.1);
                    self.slots.put(slot, Client::Done(next, ended));
                }
                exp::Joined::Wait(next) => {
                    drop(next.send_ended(ended.how));
                    self.slots.remove(slot);
                }
                exp::Joined::Abort(_) | exp::Joined::Closed => drop(self.slots.remove(slot)),
            },
            // Nothing can come here but the close.
            Client::Accepting(_, listener, _) => {
                self.slots.remove(slot);
                self.unlisten(listener);
            }
            Client::Listening(_, listener, _) => {
                self.slots.remove(slot);
                self.unlisten(listener);
            }
            Client::Connecting(_, stream) => {
                self.slots.remove(slot);
                self.abort(stream);
            }
            Client::Waiting(_, stream) => self.leave(slot, stream),
            Client::Door(..)
            | Client::More(_)
            | Client::Output(..)
            | Client::Input(..)
            | Client::Receiving(_)
            | Client::Sending(_)
            | Client::HostReceiving(_)
            | Client::HostSending(_) => {}
        }
    }

    fn ready(&mut self, slot: u32, request: exp::Ready, target: Target) {
        match request {
            exp::Ready::Connect(address, port, output, input, next) => {
                let to = (Address::from(address), port);
                if target != Target::Any {
                    let ready = next.send_failed(TcpFault::NotPermitted);
                    return self.slots.put(slot, Client::Ready(ready, target));
                }
                self.connect(
                    slot,
                    next,
                    (output, input),
                    Way {
                        to,
                        from: None,
                        target,
                    },
                );
            }
            exp::Ready::Open(output, input, next) => match target {
                Target::To(address, port) => {
                    let to = (address, port);
                    self.connect(
                        slot,
                        next,
                        (output, input),
                        Way {
                            to,
                            from: None,
                            target,
                        },
                    );
                }
                Target::Accepted(stream) => self.open(slot, next, (output, input), stream),
                Target::Any | Target::Port(_) => {
                    let ready = next.send_failed(TcpFault::NotPermitted);
                    self.slots.put(slot, Client::Ready(ready, target));
                }
            },
            exp::Ready::BindLocalEndPoint(address, port, next) => {
                match self.bind(Address::from(address), port, target) {
                    Ok(port) => {
                        let bound = next.send_ok(port.number);
                        self.slots.put(slot, Client::Bound(bound, target, port));
                    }
                    Err(fault) => {
                        let ready = next.send_invalid_end_point(fault);
                        self.slots.put(slot, Client::Ready(ready, target));
                    }
                }
            }
            exp::Ready::Closed => {
                self.slots.remove(slot);
                if let Target::Accepted(stream) = target {
                    self.abort(stream);
                }
            }
        }
    }

    fn bound(&mut self, slot: u32, request: exp::BoundLocally, target: Target, port: Port) {
        match request {
            exp::BoundLocally::Connect(address, number, output, input, next) => {
                let to = (Address::from(address), number);
                let from = Some(port);
                self.connect(slot, next, (output, input), Way { to, from, target });
            }
            exp::BoundLocally::Listen(backlog, next) => {
                let origin = self.slots.origin(slot).unwrap_or_default();
                match self.listen(origin, port, backlog) {
                    Ok(listener) => self.opens(slot, listener, next, target),
                    Err(fault) => {
                        let ready = next.send_failed(fault);
                        self.slots.put(slot, Client::Ready(ready, target));
                    }
                }
            }
            exp::BoundLocally::Closed => {
                self.slots.remove(slot);
                self.ports.give_back(port);
            }
        }
    }

    /// Takes a local port for a channel.
    fn bind(&mut self, address: Address, port: u16, target: Target) -> Result<Port, TcpFault> {
        let port = match target {
            Target::Any => port,
            Target::Port(own) if port == own || port == 0 => own,
            _ => return Err(TcpFault::NotPermitted),
        };
        let own = self.links.iter().any(|link| link.has(address));
        if !own && !self.host.is_open() {
            return Err(TcpFault::NotLocal);
        }
        self.ports.take(address, port)
    }

    /// Begins a connection to a host whose name was found.
    pub fn connect_named(
        &mut self,
        slot: u32,
        next: Connecting,
        pipes: (Out, In),
        to: (Address, u16),
    ) {
        let target = Target::To(to.0, to.1);
        let from = None;
        self.connect(slot, next, pipes, Way { to, from, target });
    }

    /// Begins a connection for a channel.
    fn connect(&mut self, slot: u32, next: Connecting, pipes: (Out, In), way: Way) {
        let origin = self.slots.origin(slot).unwrap_or_default();
        let target = way.target;
        let begun = self.begin(origin, way);
        match begun.and_then(|stream| self.join(origin, pipes, stream)) {
            Ok(mut stream) => {
                let number = self.number();
                stream.control = Some(slot);
                self.know(number, &stream);
                self.add(number, stream);
                self.slots.put(slot, Client::Connecting(next, number));
            }
            Err(fault) => {
                let ready = Client::Ready(next.send_failed(fault), target);
                self.slots.put(slot, ready);
            }
        }
    }

    /// A connection that is begun. What it has goes back if it cannot be.
    fn begin(&mut self, origin: u32, way: Way) -> Result<Stream, TcpFault> {
        let Way { to, from, target } = way;
        let way = |from| Way { to, from, target };
        match (self.route(to, target), from) {
            (Ok(Route::Host), from) => self.begin_at_host(origin, way(from)),
            (Ok(Route::Link(link)), from) => {
                let port = match from {
                    Some(port) => port,
                    None => self.ports.take(Address::ANY, 0)?,
                };
                self.begin_on(origin, link, way(None), port)
            }
            (Err(fault), Some(port)) => {
                self.ports.give_back(port);
                Err(fault)
            }
            (Err(fault), None) => Err(fault),
        }
    }

    /// One by the host, which chooses the port if the program has none.
    fn begin_at_host(&mut self, origin: u32, way: Way) -> Result<Stream, TcpFault> {
        let Way { to, from, target } = way;
        if self.host.is_busy() || !self.take_share(origin, true) {
            if let Some(port) = from {
                self.ports.give_back(port);
            }
            return Err(TcpFault::NoResources);
        }
        let local = from.as_ref().map(|port| (port.address, port.number));
        let local = local.unwrap_or((Address::ANY, 0));
        let at = At::Host(self.host.begin(to, local));
        Ok(Stream::new(at, origin, from, [local, to], target))
    }

    /// One on a link of the stack.
    fn begin_on(
        &mut self,
        origin: u32,
        link: usize,
        way: Way,
        port: Port,
    ) -> Result<Stream, TcpFault> {
        let Some(at) = self.socket(origin, link) else {
            self.ports.give_back(port);
            return Err(TcpFault::NoResources);
        };
        let local = (port.address, port.number);
        let ends = [local, way.to];
        let mut stream = Stream::new(at, origin, Some(port), ends, way.target);
        stream.waits = true;
        if self.links[link].is_up_for(way.to.0) {
            stream.waits = false;
            if let At::Stack(_, socket) = at
                && self.links[link].connect(socket, way.to, local).is_err()
            {
                self.give_up(at, origin, stream.port.take());
                return Err(TcpFault::Unreachable);
            }
        }
        Ok(stream)
    }

    /// What connections to an address go over.
    fn route(&self, to: (Address, u16), target: Target) -> Result<Route, TcpFault> {
        if matches!(target, Target::Port(_) | Target::Accepted(_)) {
            return Err(TcpFault::NotPermitted);
        }
        if to.1 == 0 || !to.0.is_unicast() {
            return Err(TcpFault::Unreachable);
        }
        let outward = self.host.is_outward();
        // The loopback is the system's and the host's: what listens here is asked first.
        let own = self.listens_at(to) || !outward;
        let found = self.links.iter().position(|link| link.reaches(to.0));
        match found.filter(|_| own || !to.0.is_loopback()) {
            Some(link) => Ok(Route::Link(link)),
            None if outward => Ok(Route::Host),
            None if self.host.is_up() => Err(TcpFault::NotPermitted),
            None => Err(TcpFault::Unreachable),
        }
    }

    /// Gives a connection its pipes.
    fn join(
        &mut self,
        origin: u32,
        pipes: (Out, In),
        mut stream: Stream,
    ) -> Result<Stream, TcpFault> {
        let (output, input) = pipes;
        // Their connection's number is not known yet.
        let output = self
            .slots
            .insert(origin, output, |p| Client::Output(Output::Idle(p), 0));
        let input = self
            .slots
            .insert(origin, input, |p| Client::Input(Input::Idle(p), 0));
        match (output, input) {
            (Ok(output), Ok(input)) => {
                (stream.output, stream.input) = (Some(output), Some(input));
                stream.opened = true;
                Ok(stream)
            }
            (output, input) => {
                for slot in [output.ok(), input.ok()].into_iter().flatten() {
                    self.slots.remove(slot);
                }
                self.end_of(stream.socket).abort();
                self.give_up(stream.socket, stream.origin, stream.port.take());
                Err(TcpFault::NoResources)
            }
        }
    }

    /// Tells the pipes of a connection its number.
    fn know(&mut self, number: u32, stream: &Stream) {
        for slot in [stream.output, stream.input].into_iter().flatten() {
            if let Some(Client::Output(_, of) | Client::Input(_, of)) = self.slots.get_mut(slot) {
                *of = number;
            }
        }
    }

    /// A program opens a connection that it has accepted.
    fn open(&mut self, slot: u32, next: Connecting, pipes: (Out, In), number: u32) {
        let Some(stream) = self.streams.remove(&number) else {
            // It has ended before it was opened.
            let ready = next.send_failed(TcpFault::Reset);
            return self
                .slots
                .put(slot, Client::Ready(ready, Target::Accepted(number)));
        };
        match self.join(stream.origin, pipes, *stream) {
            Ok(stream) => {
                self.know(number, &stream);
                self.streams.insert(number, Box::new(stream));
                self.slots.put(slot, Client::Connecting(next, number));
                self.pump(number);
            }
            Err(fault) => {
                let ready = next.send_failed(fault);
                self.slots
                    .put(slot, Client::Ready(ready, Target::Accepted(number)));
            }
        }
    }

    /// The channel of a connection has been closed; its pipes go on.
    fn leave(&mut self, slot: u32, stream: u32) {
        self.slots.remove(slot);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.control = None;
        }
        self.pump(stream);
    }

    /// Ends a connection at once.
    pub fn abort(&mut self, number: u32) {
        if let Some(mut stream) = self.streams.remove(&number) {
            stream.control = None;
            self.end_of(stream.socket).abort();
            self.end(*stream, TcpFault::Reset);
        }
    }
}
