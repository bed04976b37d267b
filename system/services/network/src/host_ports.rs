//! Ports of the host for datagrams, by the driver of its sockets.
//!
//! Invariants:
//! - One datagram is under way to the host for each port, and the next goes when the host has said
//!   what became of it. A driver that does not answer holds up this port alone.
//! - Of what comes, less than [`FIRST`] bytes and one datagram wait here, and [`LOST`] reports.

use crate::address::Address;
use crate::host::Host;
use crate::messages::{end, fault, place};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sing_sdk::prelude::*;
use sing_sockets::{DATAGRAM, FIRST, HEAD, Head, Op};

/// Reports of datagrams that have not arrived.
const LOST: usize = 16;

type To = (Address, u16);

/// How far a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortStage {
    Opening,
    Open,
    Closed(TcpFault),
}

/// A port of the host's.
pub struct HostPort {
    stage: PortStage,
    /// A datagram is with the host, or what has become of it.
    sending: bool,
    sent: Option<TcpFault>,
    come: VecDeque<(To, Vec<u8>)>,
    /// Bytes of them, and those that were taken and the host was not told of.
    waiting: usize,
    taken: usize,
    lost: VecDeque<(To, TcpFault)>,
}

impl HostPort {
    fn new(stage: PortStage) -> HostPort {
        HostPort {
            stage,
            sending: false,
            sent: None,
            come: VecDeque::new(),
            waiting: 0,
            taken: 0,
            lost: VecDeque::new(),
        }
    }

    /// Takes a message; whether the host says what it may.
    pub fn hear(&mut self, head: &Head, data: &[u8]) -> bool {
        match (head.op, self.stage) {
            (Op::Bound, PortStage::Opening) => self.stage = PortStage::Open,
            (Op::Closed, PortStage::Opening | PortStage::Open) => self.close(fault(head.fault)),
            (Op::Datagram, PortStage::Open) => {
                if self.waiting + self.taken >= FIRST {
                    return false;
                }
                self.waiting += data.len() + HEAD;
                self.come.push_back((end(head.remote), data.into()));
            }
            (Op::Sent, PortStage::Open) => {
                if !core::mem::take(&mut self.sending) {
                    return false;
                }
                self.sent = Some(fault(head.fault));
            }
            (Op::Lost, PortStage::Open) => {
                if self.lost.len() < LOST {
                    self.lost.push_back((end(head.remote), fault(head.fault)));
                }
            }
            // Of one that was closed at this moment.
            (_, PortStage::Closed(_)) => {}
            _ => return false,
        }
        true
    }

    /// It is no longer there.
    pub fn close(&mut self, fault: TcpFault) {
        self.stage = PortStage::Closed(fault);
    }
}

impl Host {
    /// Asks for a port at a place, or for any; for a peer alone, if that has a port. Its number.
    pub fn bind_port(&mut self, local: To, peer: To) -> u32 {
        let number = self.number();
        let up = self.is_up();
        let stage = match up {
            true => PortStage::Opening,
            false => PortStage::Closed(TcpFault::Down),
        };
        self.ports.insert(number, HostPort::new(stage));
        self.say(Head {
            local: place(local),
            remote: place(peer),
            ..Head::new(Op::Bind, number, 0)
        });
        number
    }

    /// Gives up a port.
    pub fn release_port(&mut self, number: u32) {
        let port = self.ports.remove(&number);
        if port.is_some_and(|port| !matches!(port.stage, PortStage::Closed(_))) {
            self.say(Head::new(Op::Close, number, 0));
        }
    }

    pub fn port_stage(&self, number: u32) -> PortStage {
        let port = self.ports.get(&number);
        port.map_or(PortStage::Closed(TcpFault::Down), |port| port.stage)
    }

    /// Has a datagram of so many bytes sent, and says what became of it; `None` as long as that is not
    /// known: the same is to be asked again. The bytes are asked for when there is room for them.
    pub fn carry(
        &mut self,
        number: u32,
        to: To,
        bytes: usize,
        data: impl FnOnce() -> Vec<u8>,
    ) -> Option<TcpFault> {
        if bytes > DATAGRAM {
            // No block to the driver has room for any length.
            return Some(TcpFault::TooLong);
        }
        let Some(port) = self.ports.get_mut(&number) else {
            return Some(TcpFault::Down);
        };
        match port.stage {
            PortStage::Opening => return None,
            PortStage::Closed(fault) => return Some(fault),
            PortStage::Open => {}
        }
        if port.sent.is_some() || port.sending {
            return port.sent.take();
        }
        let head = Head {
            remote: place(to),
            ..Head::new(Op::Datagram, number, bytes as u32)
        };
        let handed = self.put_whole(&head, bytes, data);
        if let Some(port) = self.ports.get_mut(&number) {
            port.sending = handed;
        }
        None
    }

    /// The next datagram that has come to a port, and from whom.
    pub fn next_come(&mut self, number: u32) -> Option<(To, Vec<u8>)> {
        let port = self.ports.get_mut(&number)?;
        let (from, data) = port.come.pop_front()?;
        port.waiting -= data.len() + HEAD;
        port.taken += data.len() + HEAD;
        if port.taken >= FIRST / 4 {
            let taken = core::mem::take(&mut port.taken);
            self.say(Head::new(Op::Taken, number, taken as u32));
        }
        Some((from, data))
    }

    /// The next datagram of a port that has not arrived, and why.
    pub fn next_lost(&mut self, number: u32) -> Option<(To, TcpFault)> {
        self.ports.get_mut(&number)?.lost.pop_front()
    }
}
