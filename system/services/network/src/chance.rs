//! Numbers that nobody outside can guess: those of questions, and the ports that they are sent from.
//!
//! They are random bytes of `/dev/random0`. A machine without such a device has those of its clocks,
//! which whoever runs on the same machine may guess.

use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::entropy;
use sing_sdk::names::Names;
use sing_sdk::time::{cycle_count, uptime, utc};

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

impl Chance {
    /// A number.
    pub fn word(&mut self, names: &mut Names) -> u16 {
        let due = self.again.is_none_or(|again| uptime() >= again);
        if self.bytes.len() < 2 && due {
            match entropy::draw(names, BYTES, uptime() + PATIENCE) {
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
