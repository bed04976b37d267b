//! Datagrams of the system's network.
//!
//! One datagram is under way in each direction. What has become of one that was sent is known when the network has
//! said so, which it does at once as long as the link has an address.

use super::system::{code, has_come, short};
use super::{Answer, Code, Received};
use core::net::SocketAddr;
use core::time::Duration;
use sing_sdk::contracts::{DatagramContract, UdpContract};
use sing_sdk::net::{address, ip};
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::sync;
use sing_sdk::time::Timeout;

/// How long `send` waits to learn what has become of a datagram; later it is told by the next call.
const GLANCE: Duration = Duration::from_millis(10);

/// A socket without a port; without a channel, the network has gone.
#[derive(Debug)]
pub struct Udp(Option<UdpContract::Imp<UdpContract::Ready>>);

impl Udp {
    pub(super) const fn new(ready: UdpContract::Imp<UdpContract::Ready>) -> Udp {
        Udp(Some(ready))
    }

    /// Takes a port; for 0, one of the network's own.
    pub(super) fn open(&mut self, local: SocketAddr) -> Answer<(Datagrams, u16)> {
        use UdpContract::imp::Opening;
        let (output, from) = DatagramContract::new_channel().map_err(short)?;
        let (to, input) = DatagramContract::new_channel().map_err(short)?;
        let ready = self.0.take().ok_or(Code::InvalidState)?;
        match ready.call_bind(address(local.ip()), local.port(), from, to) {
            Opening::Bound(port, _) => {
                let datagrams = Datagrams {
                    output: Output::Idle(output),
                    input: Some(input),
                };
                Ok((datagrams, port))
            }
            Opening::Failed(fault, ready) => {
                self.0 = Some(ready);
                Err(code(fault))
            }
            Opening::Closed => Err(Code::AddressNotBindable),
        }
    }
}

#[derive(Debug)]
enum Output {
    Idle(DatagramContract::Imp<DatagramContract::Start>),
    /// The network has one.
    Sent(DatagramContract::Imp<DatagramContract::Written>),
    /// The network has gone.
    Gone,
}

/// The datagrams at a port.
#[derive(Debug)]
pub struct Datagrams {
    output: Output,
    input: Option<DatagramContract::Exp<DatagramContract::Start>>,
}

impl Datagrams {
    /// What to wait for until something comes.
    pub(super) fn coming(&self) -> Handle {
        self.input.as_ref().map_or(Handle::NONE, Waitable::handle)
    }

    /// What to wait for until there is room.
    pub(super) fn leaving(&self) -> Handle {
        match &self.output {
            Output::Sent(written) => written.handle(),
            Output::Idle(_) | Output::Gone => Handle::NONE,
        }
    }
}

impl super::Datagrams for Datagrams {
    type Block = Vector<u8>;

    fn receive(&mut self) -> Received<Vector<u8>> {
        use DatagramContract::exp::Start as Message;
        const GONE: (Option<SocketAddr>, Code) = (None, Code::RemoteUnreachable);
        if !self.has_come() {
            return Ok(None);
        }
        let input = self.input.take().ok_or(GONE)?;
        match input.recv() {
            Message::Datagram(from, port, data, next) => {
                self.input = Some(next.send_ack());
                let len = data.len();
                Ok(Some((data, len, (ip(from), port).into())))
            }
            Message::Lost(to, port, fault, next) => {
                self.input = Some(next.send_ack());
                Err((Some((ip(to), port).into()), code(fault)))
            }
            Message::Closed => Err(GONE),
        }
    }

    fn has_come(&self) -> bool {
        has_come(self.coming())
    }

    fn room(&mut self) -> Answer<bool> {
        use DatagramContract::imp::Written;
        if !self.has_room() {
            return Ok(false);
        }
        let (output, answer) = match core::mem::replace(&mut self.output, Output::Gone) {
            Output::Idle(idle) => (Output::Idle(idle), Ok(true)),
            Output::Sent(written) => match written.recv() {
                Written::Ack(idle) => (Output::Idle(idle), Ok(true)),
                Written::NotSent(fault, idle) => (Output::Idle(idle), Err(code(fault))),
                Written::Closed => (Output::Gone, Err(Code::RemoteUnreachable)),
            },
            Output::Gone => (Output::Gone, Err(Code::RemoteUnreachable)),
        };
        self.output = output;
        answer
    }

    fn has_room(&self) -> bool {
        has_come(self.leaving())
    }

    fn send(&mut self, to: SocketAddr, block: Vector<u8>) -> Answer {
        if !self.room()? {
            return Err(Code::WouldBlock);
        }
        let Output::Idle(idle) = core::mem::replace(&mut self.output, Output::Gone) else {
            return Err(Code::RemoteUnreachable);
        };
        let written = idle.send_datagram(address(to.ip()), to.port(), block);
        let _ = sync::wait(&written, Timeout::from(GLANCE));
        self.output = Output::Sent(written);
        self.room().map(drop)
    }
}
