//! A port whose next connection is waited for beside other things.

use super::{Connection, ip};
use crate::Error;
use crate::contracts::TcpConnectionContract;
use crate::rt::{Handle, Waitable};
use core::fmt;
use core::net::SocketAddr;

type Accepting = TcpConnectionContract::Imp<TcpConnectionContract::Accepting>;
type Start = TcpConnectionContract::Imp<TcpConnectionContract::Start>;

/// A port whose next connection has been asked for: it can be waited for as any channel.
pub struct Awaited(Option<(Accepting, Start)>);

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Awaited")
    }
}

impl Awaited {
    /// Asks for the next connection at a port that listens.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new(
        listens: TcpConnectionContract::Imp<TcpConnectionContract::Listens>,
    ) -> Result<Awaited, Error> {
        let (imp, exp) = TcpConnectionContract::new_channel()?;
        Ok(Awaited(Some((listens.send_accept(exp), imp))))
    }

    /// Waits for the connection, and asks for the next one.
    ///
    /// # Errors
    /// [`Error::Network`] if it cannot be taken, [`Error::Closed`] if the network has gone.
    pub fn accept(&mut self) -> Result<(Connection, SocketAddr), Error> {
        use TcpConnectionContract::imp::Accepting as Answer;
        let (accepting, connection) = self.0.take().ok_or(Error::Closed)?;
        match accepting.recv() {
            Answer::Accepted(address, port, listens) => {
                self.0 = Awaited::new(listens)?.0;
                let connection = Connection(connection.recv_success()?);
                Ok((connection, (ip(address), port).into()))
            }
            Answer::NotAccepted(reason, _, listens) => {
                self.0 = Awaited::new(listens)?.0;
                Err(Error::Network(reason))
            }
            Answer::Closed => Err(Error::Closed),
        }
    }
}

/// There is nothing to wait for once the network has gone.
impl Waitable for Awaited {
    fn handle(&self) -> Handle {
        let accepting = self.0.as_ref().map(|(accepting, _)| accepting);
        accepting.map_or(Handle::NONE, Waitable::handle)
    }
}
