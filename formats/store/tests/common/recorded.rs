//! A disk that remembers what was written to it in which order, so that the power can be cut at
//! every write afterwards.

use super::Ram;
use sing_store::{Disk, DiskFault};
use std::sync::{Arc, Mutex};

#[derive(Clone)]
pub enum Event {
    Write(u64, Arc<[u8]>),
    Flush,
}

/// The disk; clones are the same one.
#[derive(Clone)]
pub struct Recorded(Arc<Mutex<(Ram, Vec<Event>)>>);

impl Recorded {
    pub fn new(image: Vec<u8>) -> Recorded {
        Recorded(Arc::new(Mutex::new((Ram(image), Vec::new()))))
    }

    pub fn image(&self) -> Vec<u8> {
        self.0.lock().expect("lock").0.0.clone()
    }

    pub fn count(&self) -> usize {
        self.0.lock().expect("lock").1.len()
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().expect("lock").1.clone()
    }
}

impl Disk for Recorded {
    fn bytes(&self) -> u64 {
        self.0.lock().expect("lock").0.bytes()
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        self.0.lock().expect("lock").0.read(offset, buffer)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault> {
        let mut inner = self.0.lock().expect("lock");
        inner.1.push(Event::Write(offset, data.into()));
        inner.0.write(offset, data)
    }

    fn flush(&mut self) -> Result<(), DiskFault> {
        self.0.lock().expect("lock").1.push(Event::Flush);
        Ok(())
    }
}

/// Goes through the events; can tell at each what a power cut would leave.
pub struct Replay {
    /// What is on the medium for certain.
    durable: Vec<u8>,
    /// Sectors written since the last flush, in order.
    pending: Vec<(u64, [u8; 512])>,
}

impl Replay {
    pub fn new(image: Vec<u8>) -> Replay {
        Replay {
            durable: image,
            pending: Vec::new(),
        }
    }

    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Write(offset, data) => {
                for (index, sector) in data.chunks_exact(512).enumerate() {
                    let bytes = sector.try_into().expect("sector");
                    self.pending.push((offset + index as u64 * 512, bytes));
                }
            }
            Event::Flush => {
                for (offset, bytes) in self.pending.drain(..) {
                    self.durable[offset as usize..][..512].copy_from_slice(&bytes);
                }
            }
        }
    }

    /// A power cut: of what was not flushed, some sectors are on the medium. A sector may have any
    /// of the versions that were written to it.
    pub fn cut(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        let mut image = self.durable.clone();
        let mut put = |at: &(u64, [u8; 512])| {
            image[at.0 as usize..][..512].copy_from_slice(&at.1);
        };
        let count = self.pending.len();
        match random.u8(..6) {
            0 => {}
            1 => self.pending.iter().for_each(put),
            // In the order they were written, up to some sector.
            2 => self.pending[..random.usize(..=count)].iter().for_each(put),
            // The other way around: the last ones without those before.
            3 => self.pending[random.usize(..=count)..].iter().for_each(put),
            // All but one.
            4 if count > 0 => {
                let lost = random.usize(..count);
                let kept = self
                    .pending
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != lost);
                kept.for_each(|(_, sector)| put(sector));
            }
            _ => {
                let mut kept: Vec<_> = self.pending.iter().filter(|_| random.bool()).collect();
                random.shuffle(&mut kept);
                kept.into_iter().for_each(&mut put);
            }
        }
        image
    }
}
