//! Numbers that nobody outside can guess: those of questions, and the ports that they are sent from.
//!
//! They are random bytes of `/dev/random0`. A machine without such a device has those of its clocks,
//! which whoever runs on the same machine may guess.

use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{cycle_count, uptime, utc};

const PATH: &str = "/dev/random0";
/// Bytes that are taken at a time.
const BYTES: usize = 1024;
/// How long the device may take: clients wait meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Default)]
pub struct Chance {
    bytes: Vec<u8>,
    state: u64,
    /// When the device is asked again that did not answer.
    again: Option<Duration>,
}

/// Takes bytes from the device, if there is one.
fn draw(names: &mut Names) -> Result<Vec<u8>, Error> {
    let end = uptime() + PATIENCE;
    // A connection of its own: one on which a bind hangs is given up.
    let names = names.connect()?;
    let names = switch_receive! {
        case names.Success() as ready => ready,
        case names.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let (source, exp) = EntropyContract::new_channel()?;
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(PATH)?, 0, exp.into());
    switch_receive! {
        case binding.AckBind() as _ => {}
        case binding.NakBind(_reason, _exp) as _ => return Err(Error::NotFound),
        case binding.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    }
    let source = switch_receive! {
        case source.Success() as ready => ready,
        case source.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let asked = source.send_fill(Vector::new(BYTES)?);
    switch_receive! {
        case asked.Filled(block) as _ => Ok(block.to_vec()),
        case asked.NotFilled(_block) as _ => Err(Error::NoResources),
        case asked.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}

impl Chance {
    /// A number.
    pub fn word(&mut self, names: &mut Names) -> u16 {
        let due = self.again.is_none_or(|again| uptime() >= again);
        if self.bytes.len() < 2 && due {
            match draw(names) {
                Ok(bytes) => self.bytes = bytes,
                Err(_) => self.again = Some(uptime() + Duration::from_secs(60)),
            }
        }
        if let (Some(a), Some(b)) = (self.bytes.pop(), self.bytes.pop()) {
            return u16::from_le_bytes([a, b]);
        }
        self.state = (self.state ^ cycle_count() ^ utc().as_nanos() as u64)
            .wrapping_add(0x9e37_79b9_7f4a_7c15)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .rotate_left(23);
        (self.state >> 32) as u16
    }
}
