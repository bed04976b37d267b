//! Datagrams of UDP.

use super::{address, ip};
use crate::Error;
use crate::contracts::{DatagramContract, IpAddress, UdpContract};
use crate::names::Names;
use crate::rt::{Block, Closed, Vector};
use crate::switch_receive;
use crate::time::uptime;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

/// The end of a channel from which the network takes datagrams.
pub type Outgoing = DatagramContract::Exp<DatagramContract::Start>;
/// The end of a channel into which the network gives them.
pub type Incoming = DatagramContract::Imp<DatagramContract::Start>;

/// Nobody in particular: where the bound name says.
const THERE: (IpAddress, u16) = (IpAddress { high: 0, low: 0 }, 0);

fn open(
    names: &mut Names,
    path: &str,
    local: Option<SocketAddr>,
    output: Outgoing,
    input: Incoming,
) -> Result<u16, Error> {
    use UdpContract::imp::Opening;
    let (imp, exp) = UdpContract::new_channel()?;
    names.bind(path, exp)?;
    let ready = imp.recv_success()?;
    let opened = match local {
        Some(local) => ready.call_bind(address(local.ip()), local.port(), output, input),
        None => ready.call_open(output, input),
    };
    match opened {
        Opening::Bound(port, _) => Ok(port),
        Opening::Failed(reason, _) => Err(Error::Network(reason)),
        Opening::Closed => Err(Error::Closed),
    }
}

/// A port at which datagrams come and from which they go.
///
/// For a program that waits for more than one thing, its two ends are channels as any other:
/// [`Datagrams::into_ends`].
pub struct Datagrams {
    output: Option<DatagramContract::Imp<DatagramContract::Start>>,
    input: Option<DatagramContract::Exp<DatagramContract::Start>>,
    port: u16,
}

impl fmt::Debug for Datagrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Datagrams({})", self.port)
    }
}

/// What has come.
#[derive(Debug)]
pub enum Came {
    /// A datagram, and from where.
    Datagram(Block, SocketAddr),
    /// What was sent to there has not arrived.
    Lost(SocketAddr, Error),
}

impl Datagrams {
    /// Those that a path allows: `/udp/10.0.2.3/53`, with there alone; `/udp/listen/53`, at this
    /// port; `/udp`, from any port that is free.
    ///
    /// # Errors
    /// Those of [`Names::bind`], and [`Error::Network`].
    pub fn open(names: &mut Names, path: &str) -> Result<Datagrams, Error> {
        Datagrams::with(names, path, None)
    }

    /// Those at a local address and port; port 0 is any that is free.
    ///
    /// # Errors
    /// As [`Datagrams::open`].
    pub fn bind(names: &mut Names, path: &str, local: SocketAddr) -> Result<Datagrams, Error> {
        Datagrams::with(names, path, Some(local))
    }

    fn with(names: &mut Names, path: &str, at: Option<SocketAddr>) -> Result<Datagrams, Error> {
        let (output, from) = DatagramContract::new_channel()?;
        let (to, input) = DatagramContract::new_channel()?;
        let port = open(names, path, at, from, to)?;
        Ok(Datagrams {
            output: Some(output),
            input: Some(input),
            port,
        })
    }

    /// The local port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The channels: what is sent into the one goes out, and what comes is received from the other.
    #[must_use]
    pub fn into_ends(
        self,
    ) -> Option<(
        DatagramContract::Imp<DatagramContract::Start>,
        DatagramContract::Exp<DatagramContract::Start>,
    )> {
        self.output.zip(self.input)
    }

    /// Sends a datagram: to there, or to where the bound path says.
    ///
    /// # Errors
    /// [`Error::Network`] if it was not sent. One that was may be lost on the way.
    pub fn send(&mut self, to: Option<SocketAddr>, data: &[u8]) -> Result<(), Error> {
        use DatagramContract::imp::Written;
        let (to, port) = to.map_or(THERE, |to| (address(to.ip()), to.port()));
        let block = Vector::from_block(Block::from_bytes(data)?);
        let output = self.output.take().ok_or(Error::Closed)?;
        match output.call_datagram(to, port, block) {
            Written::Ack(next) => {
                self.output = Some(next);
                Ok(())
            }
            Written::NotSent(reason, next) => {
                self.output = Some(next);
                Err(Error::Network(reason))
            }
            Written::Closed => Err(Error::Closed),
        }
    }

    /// Waits so long for what comes.
    ///
    /// # Errors
    /// [`Error::Timeout`] if nothing has come, [`Error::Closed`] if the network has gone.
    pub fn receive(&mut self, patience: Duration) -> Result<Came, Error> {
        use DatagramContract::exp::Start as Message;
        let end = uptime() + patience;
        let input = self.input.take().ok_or(Error::Closed)?;
        let ready = switch_receive! {
            case &input => true,
            deadline end => false,
        };
        if !ready {
            self.input = Some(input);
            return Err(Error::Timeout);
        }
        let (came, next) = match input.recv() {
            Message::Datagram(from, port, data, next) => {
                let from = (ip(from), port).into();
                (Came::Datagram(data.into_block(), from), next)
            }
            Message::Lost(to, port, reason, next) => {
                let to = (ip(to), port).into();
                (Came::Lost(to, Error::Network(reason)), next)
            }
            Message::Closed => return Err(Error::from(Closed)),
        };
        self.input = Some(next.send_ack());
        Ok(came)
    }
}
