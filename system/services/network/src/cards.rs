//! The card among the network's channels: found, served, lost and found again.
//!
//! Invariant: connections outlive the card's driver. When it comes back the link goes on, and what
//! was on its way is sent again by those who miss it.

use crate::card::Card;
use crate::link::Link;
use crate::network::{Client, Network};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::share::SYSTEM;
use sing_sdk::time::uptime;

/// Where cards are, the one that is preferred first: the first virtio card, and an e1000.
pub const PATHS: [&str; 2] = ["/dev/nic0", "/dev/nic2"];
/// Between two looks for a card that was not there, or has gone. While the driver does not answer
/// the pause doubles, up to [`LONG`]: clients wait during each look.
pub const LOOK: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(60);
/// Between two looks for one that has just gone: its driver is started again.
const SOON: Duration = Duration::from_millis(20);

/// The pause after a look that has ended so.
fn pause(before: Duration, error: Option<&Error>) -> Duration {
    match error {
        Some(Error::Timeout) => (before * 2).min(LONG),
        _ => LOOK,
    }
}

impl Network {
    /// Looks for a card, if there is none yet, and it is time. The first that there is remains the one: also
    /// one whose driver does not answer now is waited for.
    pub fn seek(&mut self) {
        let recently = self.sought.is_some_and(|then| uptime() - then < self.pause);
        if self.card.is_some() || recently {
            return;
        }
        let mut card = Card::default();
        let mut found = Err(Error::NotFound);
        for path in PATHS {
            self.at = path;
            found = card.connect(&mut self.names, path);
            if !matches!(found, Err(Error::NotFound)) {
                break;
            }
        }
        self.sought = Some(uptime());
        self.pause = pause(self.pause, found.as_ref().err());
        if let Ok(mac) = found {
            let seed = self.links[0].draw();
            self.card = Some(self.links.len());
            self.links.push(Link::carded(card, mac, seed));
            self.spread();
            self.spread_datagrams();
        }
    }

    /// Connects to a card's driver that was started again, if it is time.
    pub fn recover(&mut self) {
        let Some(link) = self
            .card
            .filter(|_| self.again.is_some_and(|next| uptime() >= next))
        else {
            return;
        };
        let found = match self.links[link].card() {
            Some(card) => card.connect(&mut self.names, self.at),
            None => return,
        };
        self.links[link].ask_routers();
        self.pause = pause(self.pause, found.as_ref().err());
        self.again = found.err().map(|_| uptime() + self.pause);
    }

    /// The driver has gone, or is no longer trusted: both its channels are given up.
    fn lose(&mut self) {
        for slot in [self.receiving.take(), self.sending.take()] {
            slot.and_then(|slot| self.slots.remove(slot));
        }
        if let Some(card) = self.card.and_then(|link| self.links[link].card()) {
            *card = Card::default();
        }
        self.again.get_or_insert(uptime() + SOON);
    }

    pub fn received(&mut self, slot: u32, receiving: NicContract::Imp<NicContract::Ready_Receive>) {
        self.slots.remove(slot);
        self.receiving = None;
        let card = self.card.and_then(|link| self.links[link].card());
        if card.is_some_and(|card| !card.received(receiving)) {
            self.lose();
        }
    }

    pub fn sent(&mut self, slot: u32, sending: NicContract::Imp<NicContract::Ready_Send>) {
        self.slots.remove(slot);
        self.sending = None;
        let card = self.card.and_then(|link| self.links[link].card());
        if card.is_some_and(|card| !card.sent(sending)) {
            self.lose();
        }
    }

    /// Hands over what is to be sent, and waits for what comes.
    pub fn exchange(&mut self) {
        let Some(link) = self.card else { return };
        let Some(card) = self.links[link].card() else {
            return;
        };
        let (receiving, sending) = (card.receive(), card.send());
        let mut short = false;
        if let Some(receiving) = receiving {
            let slot = self.slots.insert(SYSTEM, receiving, Client::Receiving);
            short |= slot.is_err();
            self.receiving = slot.ok();
        }
        if let Some(sending) = sending {
            let slot = self.slots.insert(SYSTEM, sending, Client::Sending);
            short |= slot.is_err();
            self.sending = slot.ok();
        }
        if short {
            self.lose();
        }
    }

    /// Takes over addresses that the card's link has got or lost; whether there was anything.
    pub fn configure(&mut self) -> bool {
        let Some(link) = self.card else { return false };
        if !self.links[link].configure() {
            return false;
        }
        let own = self.links[link].own();
        self.links[0].adopt(&own);
        true
    }
}
