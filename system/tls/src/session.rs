//! One connection's bytes: those of TLS on the client's side, plain ones on the other.
//!
//! Invariants:
//! - What a client has sent and is not understood yet is at most [`MOST_KEPT`]; plain bytes are no
//!   more than came, and what is to be sent is no more than the caller gave and some handshake
//!   messages.
//! - After a fault nothing is decrypted or encrypted any more; what is left to send says why.

use alloc::sync::Arc;
use alloc::vec::Vec;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{Error, ServerConfig};

/// The most bytes that are kept until the rest of their record or message has come: `rustls` takes
/// messages of the handshake of 64 KiB, and the caller gives blocks of as much.
pub const MOST_KEPT: usize = 192 << 10;
/// Plain bytes that are encrypted at a time, a record.
const RECORD: usize = 16 << 10;
/// What a record is longer by, and a message beside it may take.
const BESIDE: usize = 512;

/// A server's side of a connection.
pub struct Session {
    connection: UnbufferedServerConnection,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    joined: bool,
    over: bool,
    closed: bool,
    fault: Option<Error>,
}

/// What the caller wants where data can be sent.
enum Want<'a> {
    Nothing,
    Send(&'a [u8]),
    Close,
}

/// Appends what `write` writes, given as much room as it needs.
fn append(
    to: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<(), Error> {
    let at = to.len();
    to.resize(at + room, 0);
    let mut written = write(&mut to[at..]);
    if let Err(Some(required)) = written {
        to.resize(at + required, 0);
        written = write(&mut to[at..]);
    }
    to.truncate(at + written.unwrap_or(0));
    written.map(drop).map_err(|_| Error::EncryptError)
}

impl Session {
    /// A connection that has just begun.
    ///
    /// # Errors
    /// Those of `rustls`, of a configuration that cannot be used.
    pub fn new(config: Arc<ServerConfig>) -> Result<Session, Error> {
        Ok(Session {
            connection: UnbufferedServerConnection::new(config)?,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            joined: false,
            over: false,
            closed: false,
            fault: None,
        })
    }

    /// Takes bytes of the client; the plain ones in them are appended to `plain`.
    ///
    /// # Errors
    /// Why the connection cannot go on. What is to be sent still says so to the client.
    pub fn receive(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Error> {
        if self.incoming.len() + bytes.len() > MOST_KEPT {
            let why = Error::General("a message of the handshake is too long".into());
            return Err(self.fault.get_or_insert(why).clone());
        }
        self.incoming.extend_from_slice(bytes);
        self.step(Want::Nothing, plain)
    }

    /// Encrypts bytes for the client, when both sides [have joined](Session::has_joined).
    ///
    /// # Errors
    /// Why the connection cannot go on.
    pub fn send(&mut self, plain: &[u8]) -> Result<(), Error> {
        for record in plain.chunks(RECORD) {
            self.step(Want::Send(record), &mut Vec::new())?;
        }
        Ok(())
    }

    /// Says to the client that nothing more comes.
    ///
    /// # Errors
    /// Why the connection cannot go on.
    pub fn close(&mut self) -> Result<(), Error> {
        match core::mem::replace(&mut self.closed, true) {
            true => Ok(()),
            false => self.step(Want::Close, &mut Vec::new()),
        }
    }

    /// What is to be sent to the client.
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// Whether the handshake is over, and bytes can go both ways.
    #[must_use]
    pub fn has_joined(&self) -> bool {
        self.joined
    }

    /// Whether the client has said that nothing more comes.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn step(&mut self, mut want: Want<'_>, plain: &mut Vec<u8>) -> Result<(), Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        loop {
            let UnbufferedStatus { discard, state } =
                self.connection.process_tls_records(&mut self.incoming);
            let goes_on = match state {
                Ok(ConnectionState::ReadTraffic(mut read)) => {
                    while let Some(record) = read.next_record() {
                        if let Ok(record) = record {
                            plain.extend_from_slice(record.payload);
                        }
                    }
                    true
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(&mut self.outgoing, RECORD, |room| {
                        data.encode(room).map_err(|e| match e {
                            EncodeError::InsufficientSize(of) => Some(of.required_size),
                            EncodeError::AlreadyEncoded => None,
                        })
                    })?;
                    true
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    true
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.over = true;
                    true
                }
                Ok(ConnectionState::WriteTraffic(mut write)) => {
                    self.joined = true;
                    let required = |e| match e {
                        EncryptError::InsufficientSize(of) => Some(of.required_size),
                        EncryptError::EncryptExhausted => None,
                    };
                    match core::mem::replace(&mut want, Want::Nothing) {
                        Want::Nothing => false,
                        Want::Send(record) => {
                            append(&mut self.outgoing, record.len() + BESIDE, |room| {
                                write.encrypt(record, room).map_err(required)
                            })?;
                            true
                        }
                        Want::Close => {
                            append(&mut self.outgoing, BESIDE, |room| {
                                write.queue_close_notify(room).map_err(required)
                            })?;
                            true
                        }
                    }
                }
                Err(error) => {
                    self.incoming.drain(..discard);
                    return Err(self.fail(error));
                }
                // Data before the handshake is over is not offered.
                Ok(_) => false,
            };
            self.incoming.drain(..discard);
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Ends it with a fault, and takes the alert that says so to the client, if `rustls` has one: it
    /// is the first of the next look, after which there must be no other. (A further one would read
    /// the same bytes again, and panic.)
    fn fail(&mut self, error: Error) -> Error {
        let looked = self.connection.process_tls_records(&mut self.incoming);
        if let Ok(ConnectionState::EncodeTlsData(mut alert)) = looked.state {
            // An alert has a few bytes; without it, the connection ends all the same.
            let _ = append(&mut self.outgoing, BESIDE, |room| {
                alert.encode(room).map_err(|_| None)
            });
        }
        self.incoming = Vec::new();
        self.fault.insert(error).clone()
    }
}
