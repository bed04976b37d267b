//! Random bytes of the machine's device, for `rustls`.
//!
//! Invariant: no byte is given out twice, and none is made up.

use core::fmt;
use core::time::Duration;
use sing_sdk::entropy;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;
use sing_sdk::time::uptime;
use tls::rustls::crypto::{GetRandomFailed, SecureRandom};

/// Bytes that are taken of the device at a time; a handshake needs less than a hundred.
const BYTES: usize = 1024;
/// How long the device may take.
const PATIENCE: Duration = Duration::from_millis(1500);

struct Drawn {
    names: Names,
    bytes: Vec<u8>,
}

pub struct Device(Mutex<Drawn>);

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Device")
    }
}

impl Drawn {
    fn fill(&mut self, to: &mut [u8]) -> Result<(), Error> {
        for byte in to {
            if self.bytes.is_empty() {
                self.bytes = entropy::draw(&mut self.names, BYTES, uptime() + PATIENCE)?;
            }
            *byte = self.bytes.pop().ok_or(Error::NoResources)?;
        }
        Ok(())
    }
}

impl Device {
    /// The device, if there is one.
    pub fn new(names: &mut Names) -> Result<Device, Error> {
        let mut drawn = Drawn {
            names: Names::new(names.connect()?)?,
            bytes: Vec::new(),
        };
        drawn.fill(&mut [0])?;
        Ok(Device(Mutex::new(drawn)))
    }
}

impl SecureRandom for Device {
    fn fill(&self, to: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.0.lock().fill(to).map_err(|_| GetRandomFailed)
    }
}
