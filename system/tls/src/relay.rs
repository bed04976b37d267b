//! A connection that was handed on: encrypted bytes to and from the client, plain ones to and from
//! the server.
//!
//! Invariants:
//! - Of each direction, no more than a block of plain bytes and its records is kept: bytes are taken
//!   when those before them have gone.
//! - While the server holds its ends, it says how long it waits for the client; when it has ended
//!   its direction, this does.

use crate::gate;
use crate::handshake::Established;
use crate::wire::{LINGER, Wire, pump};
use core::net::SocketAddr;
use core::time::Duration;
use sing_sdk::io::{LARGEST, Reader, Writer};
use sing_sdk::net;
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::sync::{self, wait_any};
use sing_sdk::time::{Timeout, uptime};
use tls::session::Session;

/// How long the server may take to open what it has accepted.
const OPENING: Duration = Duration::from_secs(10);
/// How long the client may take for the last bytes when the server has ended.
const LAST: Duration = Duration::from_secs(10);

type Start = TcpConnectionContract::Exp<TcpConnectionContract::Start>;
type Joined = TcpConnectionContract::Exp<TcpConnectionContract::Joined>;
type Waiting = TcpConnectionContract::Exp<TcpConnectionContract::Joined_Wait>;

/// The server's channel of this connection.
enum Control {
    Joined(Joined),
    /// It waits for the end.
    Waiting(Waiting),
    Gone,
}

impl Control {
    fn handle(&self) -> Handle {
        match self {
            Control::Joined(channel) => channel.handle(),
            Control::Waiting(channel) => channel.handle(),
            Control::Gone => Handle::NONE,
        }
    }

    /// Answers what has come; `None` if the connection is to be ended at once.
    fn answer(self, local: u16, peer: SocketAddr) -> Option<Control> {
        use TcpConnectionContract::exp::Joined as Asked;
        Some(match self {
            Control::Joined(channel) => match channel.recv() {
                Asked::GetEndPoints(next) => {
                    let any = IpAddress { high: 0, low: 0 };
                    let of = net::address(peer.ip());
                    Control::Joined(next.send_end_points(any, local, of, peer.port()))
                }
                Asked::Wait(next) => Control::Waiting(next),
                Asked::Abort(_) => return None,
                Asked::Closed => Control::Gone,
            },
            // Nothing can come but the close.
            Control::Waiting(_) | Control::Gone => Control::Gone,
        })
    }

    fn end(self, how: TcpFault) {
        if let Control::Waiting(channel) = self {
            drop(channel.send_ended(how));
        }
    }
}

/// The server's ends, as soon as it has opened the connection.
fn open(connection: Start) -> Option<(Reader, Writer, Joined)> {
    use TcpConnectionContract::exp::Ready;
    let end = uptime() + OPENING;
    let mut ready = connection.send_success();
    loop {
        sync::wait(&ready, Timeout::until(end)?).ok()?;
        ready = match ready.recv() {
            Ready::Open(output, input, next) => {
                let joined = next.send_connected();
                return Some((Reader::new(output), Writer::new(input), joined));
            }
            Ready::Connect(.., next) => next.send_failed(TcpFault::NotPermitted),
            Ready::BindLocalEndPoint(.., next) => {
                next.send_invalid_end_point(TcpFault::NotPermitted)
            }
            Ready::Closed => return None,
        };
    }
}

/// Why a connection ends before its time.
enum Cut {
    /// One side has gone.
    Gone,
    /// What came is not TLS, or was changed on its way: the client is told.
    Broken,
}

impl From<Error> for Cut {
    fn from(_: Error) -> Cut {
        Cut::Gone
    }
}

struct Relay {
    session: Session,
    wire: Wire,
    /// For the server, and not taken yet.
    plain: Vec<u8>,
    from: Reader,
    /// `None` when the client has ended its direction, or the server reads no more.
    to: Option<Writer>,
    /// Whether the server has ended its direction; and until when all has to be over then.
    end: Option<Duration>,
}

impl Relay {
    /// Moves what can go, and ends what has ended; whether all has.
    fn push(&mut self) -> Result<bool, Cut> {
        if let Some(to) = &mut self.to {
            // The server need not read to its client's end.
            let gone = pump(to, &mut self.plain).is_err();
            let sent = self.plain.is_empty() && to.handle() == Handle::NONE;
            if gone || self.session.is_over() && sent {
                self.to = None;
            }
        }
        if self.to.is_none() {
            self.plain.clear();
        }
        if !self.wire.has_ended() {
            self.wire.pump(self.session.outgoing())?;
            let sent = self.session.outgoing().is_empty() && self.wire.output() == Handle::NONE;
            if self.end.is_some() && sent {
                self.wire.end();
                self.end = Some(uptime() + LINGER);
            }
        }
        Ok(self.wire.has_ended() && self.wire.is_over())
    }

    /// What to wait for: the client's bytes, its taking them, and the same of the server.
    fn waits(&mut self) -> [Handle; 4] {
        let takes = self.plain.is_empty() && self.session.outgoing().len() < LARGEST;
        let gives = self.session.outgoing().is_empty();
        [
            if takes {
                self.wire.input()
            } else {
                Handle::NONE
            },
            self.wire.output(),
            if gives {
                self.from.handle()
            } else {
                Handle::NONE
            },
            self.to.as_ref().map_or(Handle::NONE, Waitable::handle),
        ]
    }

    /// One of these has come.
    fn came(&mut self, which: usize) -> Result<(), Cut> {
        match which {
            0 => match self.wire.take() {
                // Behind its end a client has nothing to say.
                Some(_) if self.session.is_over() => {}
                Some(bytes) => {
                    let read = self.session.receive(&bytes, &mut self.plain);
                    read.map_err(|_| Cut::Broken)?;
                }
                None if self.session.is_over() => {}
                // Whoever cuts the connection must not be taken for the client that ends it. Behind
                // the server's last words many clients end so, and nothing is lost.
                None if self.wire.has_ended() => {}
                None => return Err(Cut::Gone),
            },
            1 => self.wire.settle()?,
            2 => match self.from.receive() {
                Some(block) => {
                    let sent = self.session.send(&block.to_vec());
                    sent.map_err(|_| Cut::Gone)?;
                }
                None => {
                    self.session.close().map_err(|_| Cut::Gone)?;
                    self.end = Some(uptime() + LAST);
                }
            },
            _ => {
                if let Some(to) = &mut self.to
                    && to.settle().is_err()
                {
                    self.to = None;
                }
            }
        }
        Ok(())
    }

    /// Whether the server neither reads nor asks any more.
    fn is_left(&self, control: &Control) -> bool {
        let reads = self.to.as_ref().is_some_and(Writer::is_read);
        matches!(control, Control::Gone) && !reads
    }

    fn run(
        &mut self,
        control: &mut Control,
        place: &mut gate::Joined,
        peer: SocketAddr,
    ) -> Result<(), Cut> {
        while !self.push()? {
            // The server holds no end any more: the network does the rest.
            if self.wire.has_ended() && self.is_left(control) {
                break;
            }
            let left = self.is_left(control);
            // The server's last block may not have been taken yet, as the client does not read.
            if left && self.end.is_none() {
                self.end = Some(uptime() + LAST);
            }
            let leave = if left { place.part() } else { Handle::NONE };
            let [a, b, c, d] = self.waits();
            let time = self.end.map_or(Timeout::FOREVER, |end| {
                Timeout::until(end).unwrap_or(Timeout::NONE)
            });
            let came = wait_any(&[control.handle(), a, b, c, d, leave], time);
            if self.end.is_some_and(|end| uptime() >= end) {
                // A part of what a client sends must not be taken for the whole.
                let is_whole = self.session.is_over() || self.is_left(control);
                return match self.wire.has_ended() && is_whole {
                    true => Ok(()),
                    false => Err(Cut::Gone),
                };
            }
            match came {
                Ok(0) => {
                    let asked = core::mem::replace(control, Control::Gone);
                    let local = place.gate.config.port;
                    *control = asked.answer(local, peer).ok_or(Cut::Gone)?;
                }
                Ok(5) => return Err(Cut::Gone),
                Ok(which) => self.came(which - 1)?,
                Err(_) => return Err(Cut::Gone),
            }
        }
        Ok(())
    }
}

/// Carries bytes both ways, until both directions have ended.
pub fn run(established: Established, connection: Start, place: &mut gate::Joined) {
    let Established {
        session,
        wire,
        plain,
        peer,
    } = established;
    let Some((from, to, joined)) = open(connection) else {
        return wire.abort();
    };
    let mut control = Control::Joined(joined);
    let mut relay = Relay {
        session,
        wire,
        plain,
        from,
        to: Some(to),
        end: None,
    };
    let ended = relay.run(&mut control, place, peer);
    let Relay {
        mut session, wire, ..
    } = relay;
    match ended {
        Ok(()) => control.end(TcpFault::None),
        Err(cut) => {
            // The server learns of it before the client is waited for.
            control.end(TcpFault::Reset);
            match cut {
                Cut::Gone => wire.abort(),
                Cut::Broken => wire.finish(session.outgoing()),
            }
        }
    }
}
