//! Messages about sockets of the host, between the hosted machine's device for them and the network
//! of the system. Both share this crate, so that neither has a reader of its own.
//!
//! A message is a [`Head`], and for [`Op::Data`] the bytes behind it. Many messages lie one behind
//! the other in a block of at most [`BLOCK`] bytes, in both directions.
//!
//! The system gives each socket a number when it asks for it, and uses no number twice in a
//! session. [`Op::Hello`] begins a session: the host closes all that was before, and answers with
//! the same; what comes before that answer is of an earlier session. A `Hello` for which the system
//! has not asked says that it has said what it may not, and that the session is over.
//!
//! | from the system | the host answers |
//! |---|---|
//! | `Listen`: at `local`, with a backlog of `count` | `Listening`, or `Closed` |
//! | `Accept`: the next connection of `id` is number `count` | `Accepted` of that number, when there is one |
//! | `Connect`: to `remote`, from `local` if that is a port | `Connected`, or `Closed` |
//! | `Data` | `Taken`, when they are with the socket |
//! | `End`: no more data go this way | |
//! | `Close`: ends the socket at once; behind an `End`, the host still sends what it has taken | |
//! | `Bind`: datagrams at `local`, or from any port; with `remote` alone, if that is a port | `Bound` with the port, or `Closed` |
//! | `Datagram`: to `remote` | `Sent`, with the reason if it was not; then the next may come |
//!
//! After its `Hello` the host names the `Server`s of the names of hosts that it knows and permits.
//!
//! What comes goes to the system as `Data`, which it answers with `Taken` when a program has read
//! them; then comes `End`. `Closed` is the last of a socket: both directions have ended, or it has
//! failed for the reason that `fault` says.
//!
//! The system has no more than [`SENT`] bytes of a socket on their way that were not `Taken`, the host no
//! more than [`WINDOW`]; so neither can fill the other's memory. What was taken is said when it is
//! [`TOLD`]: so a block of [`WINDOW`] bytes has room when nothing is on its way. To the system there are [`FIRST`] at first, and more only as it says. A `Datagram` to the system counts
//! as its bytes and [`HEAD`], and comes as long as anything is left of [`FIRST`], so that one may be
//! longer. `Lost` says that a datagram to `remote` has not arrived.
//!
//! Invariant: any bytes become messages or [`Malformed`]; nothing is read beyond them.
#![no_std]
#![forbid(unsafe_code)]

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The number of the kind of device. Virtio's own end far below.
pub const DEVICE: u32 = 0x5e7;
/// Its queues: blocks that the device fills, and blocks for it to read.
pub const RECEIVE: u32 = 0;
/// See [`RECEIVE`].
pub const SEND: u32 = 1;
/// The most bytes of a block, and the least of one that the device is to fill.
pub const BLOCK: usize = 128 << 10;
/// The bytes of a socket that may be on their way to the system.
pub const WINDOW: usize = 64 << 10;
/// The bytes that a side has taken when it says so: fewer may be unsaid.
pub const TOLD: usize = WINDOW / 4;
/// The bytes of a socket that may be on their way to the host.
pub const SENT: usize = WINDOW + TOLD;
/// The bytes of a connection that may be on their way to the system until that says `Taken`, by
/// which it may give more room than was taken, up to [`WINDOW`].
pub const FIRST: usize = 8 << 10;
/// The most bytes of a datagram's data, over IPv4.
pub const DATAGRAM: usize = 65_507;
/// The bytes of a head.
pub const HEAD: usize = 48;

/// A flag of the host's `Hello`, in `count`: connections to the host's own servers and beyond are
/// permitted, to some addresses at least.
pub const OUTWARD: u32 = 1;
/// Another: listeners may be at any address of the host, not only at its loopback.
pub const OPEN: u32 = 2;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above says it")]
pub enum Op {
    Hello,
    Listen,
    Listening,
    Accept,
    Accepted,
    Connect,
    Connected,
    Data,
    Taken,
    End,
    Close,
    Closed,
    Bind,
    Bound,
    Datagram,
    Sent,
    Lost,
    Server,
}

const OPS: [Op; 18] = [
    Op::Hello,
    Op::Listen,
    Op::Listening,
    Op::Accept,
    Op::Accepted,
    Op::Connect,
    Op::Connected,
    Op::Data,
    Op::Taken,
    Op::End,
    Op::Close,
    Op::Closed,
    Op::Bind,
    Op::Bound,
    Op::Datagram,
    Op::Sent,
    Op::Lost,
    Op::Server,
];

/// Why there is no socket, or how it has ended: as `TcpFault` of `tcp.contract`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the contract says it")]
pub enum Fault {
    #[default]
    None,
    Refused,
    Reset,
    TimedOut,
    Unreachable,
    NotLocal,
    InUse,
    NotPermitted,
    NoResources,
    Down,
    TooLong,
}

const FAULTS: [Fault; 11] = [
    Fault::None,
    Fault::Refused,
    Fault::Reset,
    Fault::TimedOut,
    Fault::Unreachable,
    Fault::NotLocal,
    Fault::InUse,
    Fault::NotPermitted,
    Fault::NoResources,
    Fault::Down,
    Fault::TooLong,
];

/// An address and a port; IPv4 is ::ffff:a.b.c.d, and all zeros is any address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address.
    pub address: Ipv6Addr,
    /// The port.
    pub port: u16,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            address: Ipv6Addr::UNSPECIFIED,
            port: 0,
        }
    }
}

impl From<SocketAddr> for Place {
    fn from(at: SocketAddr) -> Place {
        let address = match at.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        Place {
            address,
            port: at.port(),
        }
    }
}

/// The bytes are no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is about.
    pub op: Op,
    /// Of a `Closed`: why.
    pub fault: Fault,
    /// The number of the socket.
    pub id: u32,
    /// Bytes of data or bytes taken; else as the table says.
    pub count: u32,
    /// The near end of a connection, or where to listen.
    pub local: Place,
    /// The far end.
    pub remote: Place,
}

impl Head {
    /// A head without places.
    #[must_use]
    pub fn new(op: Op, id: u32, count: u32) -> Head {
        Head {
            op,
            fault: Fault::None,
            id,
            count,
            local: Place::default(),
            remote: Place::default(),
        }
    }

    /// The last message of a socket.
    #[must_use]
    pub fn closed(id: u32, fault: Fault) -> Head {
        Head {
            fault,
            ..Head::new(Op::Closed, id, 0)
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[0] = self.op as u8;
        bytes[1] = self.fault as u8;
        bytes[4..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.count.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.local.port.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.remote.port.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.local.address.octets());
        bytes[32..48].copy_from_slice(&self.remote.address.octets());
        bytes
    }

    /// Reads a head.
    ///
    /// # Errors
    /// [`Malformed`] if these bytes are none.
    pub fn decode(head: &[u8; HEAD]) -> Result<Head, Malformed> {
        let word = |at: usize| {
            let four = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            u32::from_le_bytes(four)
        };
        let place = |port: usize, address: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&head[address..address + 16]);
            Place {
                address: Ipv6Addr::from(octets),
                port: u16::from_le_bytes([head[port], head[port + 1]]),
            }
        };
        Ok(Head {
            op: *OPS.get(usize::from(head[0])).ok_or(Malformed)?,
            fault: *FAULTS.get(usize::from(head[1])).ok_or(Malformed)?,
            id: word(4),
            count: word(8),
            local: place(12, 16),
            remote: place(14, 32),
        })
    }

    /// How many bytes of data lie behind it.
    #[must_use]
    pub fn behind(&self) -> usize {
        match self.op {
            Op::Data | Op::Datagram => self.count as usize,
            _ => 0,
        }
    }

    /// Reads the first message: its head, its data, and what is behind it.
    ///
    /// # Errors
    /// [`Malformed`] if there is none, or its data are not all there.
    pub fn split(bytes: &[u8]) -> Result<(Head, &[u8], &[u8]), Malformed> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(Malformed)?;
        let head = Head::decode(head)?;
        let (data, rest) = rest.split_at_checked(head.behind()).ok_or(Malformed)?;
        Ok((head, data, rest))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn what_is_encoded_is_read_again() {
        for (number, op) in OPS.into_iter().enumerate() {
            assert_eq!(op as usize, number);
            let head = Head {
                fault: FAULTS[number % FAULTS.len()],
                local: Place {
                    address: Ipv6Addr::LOCALHOST,
                    port: 80,
                },
                remote: Place {
                    address: "::ffff:10.1.2.3".parse().unwrap(),
                    port: 65535,
                },
                ..Head::new(op, 0xdead_beef, 3)
            };
            let mut bytes = head.encode().to_vec();
            bytes.extend_from_slice(b"abcd");
            let (again, data, rest) = Head::split(&bytes).unwrap();
            assert_eq!(again, head);
            let (own, behind): (&[u8], &[u8]) = match op {
                Op::Data | Op::Datagram => (b"abc", b"d"),
                _ => (b"", b"abcd"),
            };
            assert_eq!((data, rest), (own, behind));
        }
        for (number, fault) in FAULTS.into_iter().enumerate() {
            assert_eq!(fault as usize, number);
        }
    }

    #[test]
    fn data_that_are_not_all_there_are_refused() {
        let mut bytes = Head::new(Op::Data, 1, 4).encode().to_vec();
        bytes.extend_from_slice(b"abc");
        assert_eq!(Head::split(&bytes), Err(Malformed));
        let longest = Head::new(Op::Data, 1, u32::MAX).encode();
        assert_eq!(Head::split(&longest), Err(Malformed));
        assert_eq!(Head::split(&bytes[..HEAD - 1]), Err(Malformed));
    }

    #[test]
    fn any_bytes_are_messages_or_malformed() {
        let mut draw = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..draw.usize(0..120)).map(|_| draw.u8(0..16)).collect();
            bytes.iter_mut().for_each(|b| *b %= draw.u8(1..=16));
            let mut left = &bytes[..];
            while let Ok((head, data, rest)) = Head::split(left) {
                assert_eq!(left.len(), HEAD + data.len() + rest.len());
                assert!(data.is_empty() || matches!(head.op, Op::Data | Op::Datagram));
                left = rest;
            }
        }
    }
}
