//! A client's side of a connection: its two pipes.
//!
//! Invariant: nothing here waits without end.

use core::time::Duration;
use sing_sdk::io::{LARGEST, Reader, Writer};
use sing_sdk::net::{Connection, Joined};
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::time::{Timeout, uptime};

/// How long the client may take to end its direction when this side has ended its own, and to take
/// the last bytes.
pub const LINGER: Duration = Duration::from_secs(2);

pub struct Wire {
    input: Reader,
    output: Option<Writer>,
    joined: Joined,
    over: bool,
}

/// Moves the first of these bytes to a pipe whose reader has taken what came before.
pub fn pump(pipe: &mut Writer, bytes: &mut Vec<u8>) -> Result<(), Error> {
    if pipe.handle() == Handle::NONE && !bytes.is_empty() {
        let count = bytes.len().min(LARGEST);
        pipe.write(&bytes[..count])?;
        bytes.drain(..count);
    }
    Ok(())
}

impl Wire {
    pub fn open(connection: Connection) -> Result<Wire, Error> {
        let (output, input, joined) = connection.into_pipes()?;
        Ok(Wire {
            input,
            output: Some(output),
            joined,
            over: false,
        })
    }

    /// To wait for bytes of the client, or its end.
    pub fn input(&self) -> Handle {
        self.input.handle()
    }

    /// To wait until the last bytes have been taken; nothing if they have.
    pub fn output(&self) -> Handle {
        self.output.as_ref().map_or(Handle::NONE, Waitable::handle)
    }

    /// Whether this side has ended its direction.
    pub fn has_ended(&self) -> bool {
        self.output.is_none()
    }

    /// Whether the client has ended its direction.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The bytes that have come; `None` at the end.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let block = self.input.receive();
        self.over = block.is_none();
        block.map(|block| block.to_vec())
    }

    /// Sends as many of these as can go now.
    pub fn pump(&mut self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        pump(self.output.as_mut().ok_or(Error::Closed)?, bytes)
    }

    /// The last bytes have been taken, as [`Wire::output`] said.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.output.as_mut().ok_or(Error::Closed)?.settle()
    }

    /// Ends this side's direction.
    pub fn end(&mut self) {
        self.output = None;
    }

    /// Sends the last bytes, and leaves the connection to the network: were it cut, the client might not get them.
    pub fn finish(mut self, bytes: &mut Vec<u8>) {
        let end = uptime() + LINGER;
        while let Some(output) = &mut self.output {
            let sent = Timeout::until(end).map(|time| output.settle_within(time));
            if sent.is_none_or(|sent| sent.and_then(|()| pump(output, bytes)).is_err()) {
                return self.abort();
            }
            if bytes.is_empty() && output.handle() == Handle::NONE {
                self.output = None;
            }
        }
    }

    /// Ends it at once.
    pub fn abort(self) {
        drop(self.joined.send_abort());
    }
}
