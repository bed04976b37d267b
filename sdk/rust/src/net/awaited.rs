//! A port whose next connection is waited for beside other things.
//!
//! The listener outlives a short moment without room: the next connection is asked for again when
//! one is taken.

use super::{Connection, ip};
use crate::Error;
use crate::contracts::{TcpConnectionContract, TcpFault};
use crate::rt::{Handle, Waitable};
use core::fmt;
use core::net::SocketAddr;

type Accepting = TcpConnectionContract::Imp<TcpConnectionContract::Accepting>;
type Listens = TcpConnectionContract::Imp<TcpConnectionContract::Listens>;
type Start = TcpConnectionContract::Imp<TcpConnectionContract::Start>;

/// A port whose next connection has been asked for: it can be waited for as any channel.
#[derive(Debug)]
pub struct Awaited(State);

enum State {
    /// The next connection is asked for.
    Asked(Accepting, Start),
    /// It is yet to be, as there was no room for it.
    Listens(Listens),
    /// The network has gone.
    Gone,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Asked(..) => "Asked",
            State::Listens(_) => "Listens",
            State::Gone => "Gone",
        })
    }
}

impl State {
    /// Asks for the next connection, if it is not asked for and there is room.
    fn ask(self) -> Result<State, (Error, State)> {
        match self {
            State::Listens(listens) => match TcpConnectionContract::new_channel() {
                Ok((imp, exp)) => Ok(State::Asked(listens.send_accept(exp), imp)),
                Err(error) => Err((error, State::Listens(listens))),
            },
            other => Ok(other),
        }
    }
}

impl Awaited {
    /// Asks for the next connection at a port that listens.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new(listens: Listens) -> Result<Awaited, Error> {
        let asked = State::Listens(listens).ask();
        asked.map(Awaited).map_err(|(error, _)| error)
    }

    fn ask(&mut self) -> Result<(), Error> {
        let (state, outcome) = match core::mem::replace(&mut self.0, State::Gone).ask() {
            Ok(state) => (state, Ok(())),
            Err((error, state)) => (state, Err(error)),
        };
        self.0 = state;
        outcome
    }

    /// Waits for the connection, and asks for the next one.
    ///
    /// # Errors
    /// [`Error::Network`] if it cannot be taken, [`Error::NoResources`] if it could not be asked for
    /// before now, as handles were short: the port listens on. [`Error::Closed`] if the network has gone.
    pub fn accept(&mut self) -> Result<(Connection, SocketAddr), Error> {
        use TcpConnectionContract::imp::Accepting as Answer;
        if let State::Listens(_) = self.0 {
            // Who was told that there is nothing to wait for does not wait here.
            self.ask()?;
            return Err(Error::NoResources);
        }
        let State::Asked(accepting, connection) = core::mem::replace(&mut self.0, State::Gone)
        else {
            return Err(Error::Closed);
        };
        let (accepted, listens) = match accepting.recv() {
            Answer::Accepted(address, port, listens) => {
                let connection = connection.recv_success();
                let connection = connection.map_err(|_| Error::Network(TcpFault::Reset));
                let from = (ip(address), port).into();
                (connection.map(|c| (Connection(c), from)), listens)
            }
            Answer::NotAccepted(reason, _, listens) => (Err(Error::Network(reason)), listens),
            Answer::Closed => return Err(Error::Closed),
        };
        self.0 = State::Listens(listens);
        // Without room now, it is asked for when the next one is taken.
        let _ = self.ask();
        accepted
    }
}

/// There is nothing to wait for once the network has gone, or if there was no room to ask.
impl Waitable for Awaited {
    fn handle(&self) -> Handle {
        match &self.0 {
            State::Asked(accepting, _) => accepting.handle(),
            State::Listens(_) | State::Gone => Handle::NONE,
        }
    }
}
