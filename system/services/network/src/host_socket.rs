//! A connection by a socket of the host, as the network has it: how far it is, and what has come.

use crate::address::Address;
use crate::end::Stage;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sing_sdk::prelude::*;
use sing_sockets::{FIRST, SENT};

/// A socket of the host.
pub struct HostSocket {
    pub stage: Stage,
    pub fault: TcpFault,
    pub local: (Address, u16),
    pub remote: (Address, u16),
    /// The other side has ended its direction.
    pub heard: bool,
    /// What has come and was not taken; of the first so many bytes are taken.
    pub come: VecDeque<Vec<u8>>,
    pub start: usize,
    /// How many bytes that are, and how many are taken that the host was not told of.
    pub waiting: usize,
    pub taken: usize,
    /// How many bytes may wait and be on their way.
    pub window: usize,
    /// How many bytes may be sent.
    pub credit: usize,
    /// What is to be sent had too little room beside what others send, once.
    pub held: bool,
    /// The connection whose it is; none of one that waits for a listener.
    pub owner: Option<u32>,
}

impl HostSocket {
    pub fn new(stage: Stage) -> HostSocket {
        HostSocket {
            stage,
            fault: TcpFault::None,
            local: (Address::ANY, 0),
            remote: (Address::ANY, 0),
            heard: false,
            come: VecDeque::new(),
            start: 0,
            waiting: 0,
            taken: 0,
            window: FIRST,
            credit: SENT,
            held: false,
            owner: None,
        }
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn may_come(&self) -> bool {
        self.waiting > 0 || !self.heard && self.stage == Stage::Open
    }
}
