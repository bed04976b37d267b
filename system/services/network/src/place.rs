//! What a channel of connections may be used for, as its path says ([`crate::root`]).

use crate::address::Address;
use sing_sdk::prelude::*;

pub type Start = TcpConnectionContract::Exp<TcpConnectionContract::Start>;

/// What a channel may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Connections to everywhere, and every port to listen at.
    Any,
    /// A connection to here.
    To(Address, u16),
    /// This port, to listen at.
    Port(u16),
    /// A connection that was accepted.
    Accepted(u32),
}
