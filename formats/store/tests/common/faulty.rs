//! A disk that fails when it is told to.

use super::Ram;
use sing_store::{Disk, DiskFault};
use std::ops::Range;
use std::sync::{Arc, Mutex};

struct Inner {
    ram: Ram,
    requests: u64,
    failing: Range<u64>,
}

/// The disk; clones are the same one.
#[derive(Clone)]
pub struct Faulty(Arc<Mutex<Inner>>);

impl Faulty {
    pub fn new(ram: Ram) -> Faulty {
        Faulty(Arc::new(Mutex::new(Inner {
            ram,
            requests: 0,
            failing: 0..0,
        })))
    }

    pub fn requests(&self) -> u64 {
        self.0.lock().expect("lock").requests
    }

    /// These requests fail, by number.
    pub fn fail(&self, requests: Range<u64>) {
        self.0.lock().expect("lock").failing = requests;
    }

    pub fn image(&self) -> Vec<u8> {
        self.0.lock().expect("lock").ram.0.clone()
    }

    fn request<R>(&self, work: impl FnOnce(&mut Ram) -> R) -> Result<R, DiskFault> {
        let mut inner = self.0.lock().expect("lock");
        inner.requests += 1;
        let number = inner.requests;
        if inner.failing.contains(&number) {
            // A write that fails may have been done.
            if number.is_multiple_of(2) {
                work(&mut inner.ram);
            }
            return Err(DiskFault::Medium);
        }
        Ok(work(&mut inner.ram))
    }
}

impl Disk for Faulty {
    fn bytes(&self) -> u64 {
        self.0.lock().expect("lock").ram.bytes()
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        self.request(|ram| ram.read(offset, buffer))?
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault> {
        self.request(|ram| ram.write(offset, data))?
    }

    fn flush(&mut self) -> Result<(), DiskFault> {
        self.request(|_| ())
    }
}
