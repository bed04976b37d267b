//! One handshake, in a thread of its own: it computes for milliseconds, and waits for its client.

use crate::gate::Gate;
use crate::wire::Wire;
use core::net::SocketAddr;
use sing_sdk::net::Connection;
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{Timeout, uptime};
use tls::session::Session;

/// A connection whose handshake is over.
pub struct Established {
    pub session: Session,
    pub wire: Wire,
    /// What the client has sent behind its handshake.
    pub plain: Vec<u8>,
    pub peer: SocketAddr,
}

/// Has the handshake with a client; `None` if it has failed, has taken too long or makes way for
/// another, as `leave` says.
pub fn run(
    gate: &Gate,
    connection: Connection,
    peer: SocketAddr,
    leave: Handle,
) -> Option<Established> {
    let end = uptime() + gate.config.handshake;
    let mut wire = Wire::open(connection).ok()?;
    let mut session = Session::new(gate.server.clone()).ok()?;
    let mut plain = Vec::new();
    while !session.has_joined() {
        wire.pump(session.outgoing()).ok()?;
        let any = [leave, wire.input(), wire.output()];
        match Timeout::until(end).map(|time| wait_any(&any, time)) {
            Some(Ok(1)) => {
                let bytes = wire.take()?;
                if session.receive(&bytes, &mut plain).is_err() {
                    wire.finish(session.outgoing());
                    return None;
                }
            }
            Some(Ok(2)) => wire.settle().ok()?,
            _ => {
                wire.abort();
                return None;
            }
        }
    }
    Some(Established {
        session,
        wire,
        plain,
        peer,
    })
}
