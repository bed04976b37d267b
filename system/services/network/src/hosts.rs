//! Sockets of the host among the network's channels: their driver is found, lost and found again.
//!
//! Invariant: connections of the host end with its driver. Listeners stay, and come back with it.

use crate::host;
use crate::network::{Client, Network};
use core::time::Duration;
use sing_sdk::prelude::Error;
use sing_sdk::share::SYSTEM;
use sing_sdk::time::uptime;

/// Where the driver is.
const PATH: &str = "/dev/sockets0";
/// The longest time between two looks for a driver that was not there, or does not answer: clients
/// wait during each look. There is no such device on most machines, and none comes later.
const LONG: Duration = Duration::from_secs(60);
/// The same where there is such a device: its driver comes back.
const RETURNS: Duration = Duration::from_secs(2);
/// Before the first look for one that has just gone: it is started again. After each that was in
/// vain it is twice as long.
pub const SOON: Duration = Duration::from_millis(20);

impl Network {
    /// Looks for the driver, if there is none, and it is time.
    pub fn seek_host(&mut self) {
        if self.look_for_host.is_none_or(|next| uptime() < next) {
            return;
        }
        self.look_for_host = match self.host.connect(&mut self.names, PATH) {
            Ok(()) => {
                self.hosted = true;
                self.host_pause = SOON;
                self.spread_to_host();
                self.bring_ports_back();
                None
            }
            Err(error) => {
                // One that is there and does not answer in time is being started again: it is sought
                // until it does, whether or not a client asks.
                self.hosted |= error != Error::NotFound;
                let longest = if self.hosted { RETURNS } else { LONG };
                let pause = self.host_pause.min(longest);
                self.host_pause = longest.min(pause * 2);
                Some(uptime() + pause)
            }
        };
    }

    /// The driver has gone, or is no longer trusted: both its channels are given up.
    fn lose_host(&mut self) {
        for slot in [self.host_receiving.take(), self.host_sending.take()] {
            slot.and_then(|slot| self.slots.remove(slot));
        }
        self.host.lose();
        // Before there is another session: no listener has a number that the host does not know.
        self.answered();
        self.look_for_host.get_or_insert(uptime() + SOON);
    }

    pub fn host_received(&mut self, slot: u32, receiving: host::Receiving) {
        self.slots.remove(slot);
        self.host_receiving = None;
        if !self.host.received(receiving) {
            self.lose_host();
        }
    }

    pub fn host_sent(&mut self, slot: u32, sending: host::Sending) {
        self.slots.remove(slot);
        self.host_sending = None;
        if !self.host.sent(sending) {
            self.lose_host();
        }
    }

    /// Hands over what is to be sent, and waits for what comes.
    pub fn exchange_host(&mut self) {
        let (receiving, sending) = (self.host.receive(), self.host.send());
        let mut short = self.host.is_stuck();
        if let Some(receiving) = receiving {
            let slot = self.slots.insert(SYSTEM, receiving, Client::HostReceiving);
            short |= slot.is_err();
            self.host_receiving = slot.ok();
        }
        if let Some(sending) = sending {
            let slot = self.slots.insert(SYSTEM, sending, Client::HostSending);
            short |= slot.is_err();
            self.host_sending = slot.ok();
        }
        if short {
            self.lose_host();
        }
    }
}
