//! A session with the host, by the driver of its sockets: how it is begun.
//!
//! Invariant: nothing here waits longer than until a deadline, and a driver that answers with
//! something else is an error.

use crate::address::Address;
use crate::messages::end as place;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_sockets::{BLOCK, HEAD, Head, Op};

/// A channel to the driver, with nothing under way.
pub type Ready = HostSocketsContract::Imp<HostSocketsContract::Ready>;

/// Binds the driver, until then.
pub fn bind(names: &mut Names, path: &str, end: Duration) -> Result<Ready, Error> {
    // A connection of its own: one on which a bind hangs is given up.
    let names = names.connect()?;
    let names = switch_receive! {
        case names.Success() as ready => ready,
        case names.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let (sockets, exp) = HostSocketsContract::new_channel()?;
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(path)?, 0, exp.into());
    switch_receive! {
        case binding.AckBind() as _ => {}
        case binding.NakBind(_reason, _exp) as _ => return Err(Error::NotFound),
        case binding.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    }
    switch_receive! {
        case sockets.Success() as ready => Ok(ready),
        case sockets.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}

/// The most servers of names that the host may name.
pub const SERVERS: usize = 3;

/// What a session begins with.
pub struct Begun {
    /// What the policy of the host permits, and the servers of names that it named already.
    pub flags: u32,
    pub servers: Vec<(Address, u16)>,
    /// For what comes, and for what is sent.
    pub blocks: [Block; 2],
    /// The one that sends, and the one that receives.
    pub channels: [Ready; 2],
}

/// Begins a session.
pub fn begin(
    sender: Ready,
    mut receiver: Ready,
    nonce: u32,
    end: Duration,
) -> Result<Begun, Error> {
    let mut hello = Block::new(BLOCK)?;
    hello.write(0, &Head::new(Op::Hello, nonce, 0).encode());
    let asked = sender.send_send(Vector::from_block(hello), HEAD as u32, None);
    let (out, sender) = switch_receive! {
        case asked.Sent(block) as sender => (block.into_block(), sender),
        case asked.Refused(_block) as _ => return Err(Error::BadState),
        case asked.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let mut come = Block::new(BLOCK)?;
    loop {
        // A wait without time still succeeds when something is ready.
        if uptime() >= end {
            return Err(Error::Timeout);
        }
        let asked = receiver.send_receive(Vector::from_block(come));
        let (block, length, next) = switch_receive! {
            case asked.Received(block, length) as next => (block.into_block(), length, next),
            case asked.Refused(_block) as _ => return Err(Error::BadState),
            case asked.ChannelClosed() => return Err(Error::Closed),
            deadline end => return Err(Error::Timeout),
        };
        (come, receiver) = (block, next);
        let mut bytes = alloc::vec![0; come.len().min(length as usize)];
        come.read(0, &mut bytes);
        let mut left = &bytes[..];
        let (mut flags, mut servers) = (None, Vec::new());
        while let Ok((head, _, rest)) = Head::split(left) {
            match head.op {
                Op::Hello if head.id == nonce => flags = Some(head.count),
                Op::Server if flags.is_some() && servers.len() < SERVERS => {
                    servers.push(place(head.remote));
                }
                _ => {}
            }
            left = rest;
        }
        if let Some(flags) = flags {
            return Ok(Begun {
                flags,
                servers,
                blocks: [come, out],
                channels: [sender, receiver],
            });
        }
    }
}
