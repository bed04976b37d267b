//! Local ports that are held.

use crate::address::Address;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sing_sdk::contracts::TcpFault;

/// Ports that connections get which ask for none (RFC 6335).
const FREE: core::ops::RangeInclusive<u16> = 49152..=65535;

/// Ports, with the addresses for which each is held.
#[derive(Default)]
pub struct Ports {
    held: BTreeMap<u16, Vec<Address>>,
    next: u16,
}

/// A port that is held: it goes back to [`Ports::give_back`].
#[derive(Debug)]
#[must_use]
pub struct Port {
    pub address: Address,
    pub number: u16,
}

impl Ports {
    /// The first port that is given is drawn.
    pub fn new(seed: u64) -> Ports {
        Ports {
            held: BTreeMap::new(),
            next: (seed % 0x4000) as u16,
        }
    }

    fn is_free(&self, address: Address, number: u16) -> bool {
        let held = self.held.get(&number);
        held.is_none_or(|all| !address.is_any() && all.iter().all(|a| !a.is_any() && *a != address))
    }

    /// Whether somebody has a port at an address, or at any.
    pub fn is_held(&self, address: Address, number: u16) -> bool {
        let held = self.held.get(&number);
        held.is_some_and(|all| all.iter().any(|a| a.is_any() || *a == address))
    }

    /// Takes a port of an address; 0 is any that is free.
    ///
    /// # Errors
    /// [`TcpFault::InUse`] if it is held for this address or for any, or none is free.
    pub fn take(&mut self, address: Address, number: u16) -> Result<Port, TcpFault> {
        let number = match number {
            0 => self.any(address)?,
            number if self.is_free(address, number) => number,
            _ => return Err(TcpFault::InUse),
        };
        self.held.entry(number).or_default().push(address);
        Ok(Port { address, number })
    }

    fn any(&mut self, address: Address) -> Result<u16, TcpFault> {
        let count = FREE.end() - FREE.start() + 1;
        for _ in 0..count {
            self.next = (self.next + 1) % count;
            let number = FREE.start() + self.next;
            if self.is_free(address, number) {
                return Ok(number);
            }
        }
        Err(TcpFault::InUse)
    }

    pub fn give_back(&mut self, port: Port) {
        if let Some(all) = self.held.get_mut(&port.number) {
            if let Some(at) = all.iter().position(|a| *a == port.address) {
                all.swap_remove(at);
            }
            if all.is_empty() {
                self.held.remove(&port.number);
            }
        }
    }
}
