//! The connections that there are, each in a [place](web::places): they say what they do, and those that make way are
//! told.

use core::net::IpAddr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::{AutoEvent, ManualEvent, Mutex};
use sing_sdk::time::{Timeout, uptime};
use web::places::{Places, Use, Verdict};

/// Between two looks whether one can make way.
const LOOK: Duration = Duration::from_millis(100);

pub struct Slots {
    places: Mutex<Places>,
    /// Set for a connection that is to make way.
    leave: Vec<ManualEvent>,
    freed: AutoEvent,
    /// Connections without a place whose last bytes go.
    parting: AtomicUsize,
}

/// A connection's place, which is given back when this is dropped.
pub struct Held<'a> {
    slots: &'a Slots,
    pub slot: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.slots.free(self.slot);
    }
}

impl Held<'_> {
    /// Gives it back, and has the connection end without it.
    pub fn part(self, last: impl FnOnce()) {
        let slots = self.slots;
        slots.parting.fetch_add(1, Relaxed);
        drop(self);
        last();
        slots.parting.fetch_sub(1, Relaxed);
    }
}

impl Slots {
    pub fn new(count: usize) -> Result<Slots, Error> {
        let events = (0..count).map(|_| ManualEvent::new(false));
        Ok(Slots {
            places: Mutex::new(Places::new(count)),
            leave: events.collect::<Result<_, _>>()?,
            freed: AutoEvent::new(false)?,
            parting: AtomicUsize::new(0),
        })
    }

    /// A place for a connection from an address, once somebody has made way; `None` if it is to have none.
    pub fn admit(&self, from: IpAddr) -> Option<usize> {
        let came = uptime();
        loop {
            let mut places = self.places.lock();
            let (verdict, leaves) = places.enter(from, came, uptime());
            if let Some(at) = leaves {
                self.leave[at].set();
            }
            match verdict {
                Verdict::Takes(at) => {
                    self.leave[at].reset();
                    return Some(at);
                }
                Verdict::Refused => {
                    // It may have been woken in the place of another that waits.
                    self.freed.set();
                    return None;
                }
                Verdict::Waits => {}
            }
            drop(places);
            // A time-out: it is looked again.
            let _ = sing_sdk::sync::wait(&self.freed, Timeout::from(LOOK));
        }
    }

    /// The place of a connection that has been [admitted](Slots::admit).
    pub fn hold(&self, slot: usize) -> Held<'_> {
        Held { slots: self, slot }
    }

    pub fn free(&self, slot: usize) {
        self.places.lock().free(slot);
        self.freed.set();
    }

    /// A request is served, or is to be; false if the connection has to make way instead.
    pub fn busy(&self, slot: usize) -> bool {
        self.turn(slot, Use::Busy)
    }

    /// The next request is waited for, behind an answer.
    pub fn quiet(&self, slot: usize) {
        self.turn(slot, Use::Quiet(uptime()));
    }

    /// The client is waited for, in a request.
    pub fn waits(&self, slot: usize) {
        self.turn(slot, Use::Waits(uptime()));
    }

    /// The answer is given, and goes to the client.
    pub fn sends(&self, slot: usize) {
        self.turn(slot, Use::Sends(uptime()));
    }

    fn turn(&self, slot: usize, to: Use) -> bool {
        self.places.lock().turn(slot, to)
    }

    /// Is set when the connection in this place should end.
    pub fn leave(&self, slot: usize) -> &ManualEvent {
        &self.leave[slot]
    }

    /// Has all end that wait for a request.
    pub fn leave_all(&self) {
        let places = self.places.lock();
        for (leave, of) in self.leave.iter().zip(places.uses()) {
            if matches!(of, Use::Begins(_) | Use::Quiet(_)) {
                leave.set();
            }
        }
    }

    /// How many there are, and how many of them serve a request.
    pub fn count(&self) -> (usize, usize) {
        let places = self.places.lock();
        let busy = places.uses().filter(|of| *of == Use::Busy).count();
        let taken = places.uses().filter(|of| *of != Use::Free).count();
        (taken + self.parting.load(Relaxed), busy)
    }
}
