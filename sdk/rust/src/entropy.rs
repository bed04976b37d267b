//! Random bytes of the machine's device, for services that cannot wait for it without end.
//!
//! Programs that may wait bind [`PATH`] themselves, by a [`crate::client::Client`].

use crate::client::{bind_until, until};
use crate::contracts::EntropyContract;
use crate::names::Names;
use crate::prelude::*;
use alloc::vec::Vec;
use core::time::Duration;

/// Where the first such device of a machine is bound.
pub const PATH: &str = "/dev/random0";

/// So many random bytes, if the device gives them before `end`, a time of [`crate::time::uptime`]. It is
/// asked again if its driver or the name server ends meanwhile.
///
/// # Errors
/// [`Error::NotFound`] on a machine without such a device; [`Error::Timeout`] at `end`;
/// [`Error::NoResources`] if the device refuses or gives fewer; [`Error::Closed`] if it or the name
/// server ended at `end`.
pub fn draw(names: &mut Names, bytes: usize, end: Duration) -> Result<Vec<u8>, Error> {
    until(end, || draw_once(names, bytes, end))
}

fn draw_once(names: &mut Names, bytes: usize, end: Duration) -> Result<Vec<u8>, Error> {
    let (source, exp) = EntropyContract::new_channel()?;
    bind_until(names, PATH, exp.into(), end)?;
    let source = switch_receive! {
        case source.Success() as ready => ready,
        case source.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let asked = source.send_fill(Vector::new(bytes)?);
    let drawn = switch_receive! {
        case asked.Filled(block) as _ => block.to_vec(),
        case asked.NotFilled(_block) as _ => return Err(Error::NoResources),
        case asked.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    match drawn.len() == bytes {
        true => Ok(drawn),
        false => Err(Error::NoResources),
    }
}
