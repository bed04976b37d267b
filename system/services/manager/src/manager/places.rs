//! The names of services after the name server was started again: it knows none of them, and each
//! registration's channel is closed. All are registered again, at once, and what cannot be is tried
//! again without end, with growing waits.

use super::{Manager, PLACE, Source};
use ::manager::hardware::ROOT;
use core::time::Duration;
use sing_sdk::prelude::*;

/// The first wait after a name could not be registered, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl Manager {
    /// A name's channel is closed: it is registered again when all that has come is heard, also if
    /// there is one that somebody else has, which is tried again later.
    pub(super) fn lost_a_name(&mut self, now: Duration) {
        self.again = Some((now, FIRST_WAIT));
    }

    /// Registers all names again that are lost, if it is time; returns when it is, if any are still
    /// lost.
    pub(super) fn register_again(&mut self, now: Duration) -> Option<Duration> {
        let (at, wait) = self.again?;
        if now < at {
            return Some(at);
        }
        self.again = match self.register_all() {
            Ok(()) => None,
            Err(_) => Some((now + wait, (wait * 2).min(LONGEST_WAIT))),
        };
        self.again.map(|(at, _)| at)
    }

    /// Tries each, also if another failed: a name that somebody else has taken meanwhile keeps no
    /// other from coming back.
    fn register_all(&mut self) -> Result<(), Error> {
        let mut all = Ok(());
        if self.own.is_none() {
            let own = self.names.register(PLACE).and_then(|own| {
                self.set.add(&own, Source::Own.number())?;
                Ok(own)
            });
            match own {
                Ok(own) => self.own = Some(own),
                Err(e) => all = Err(e),
            }
        }
        // Above the places of drivers, so before them.
        if self.reflected.is_none() {
            let reflected = self.names.register(ROOT).and_then(|reflected| {
                self.set.add(&reflected, Source::Hardware.number())?;
                Ok(reflected)
            });
            match reflected {
                Ok(reflected) => self.reflected = Some(reflected),
                Err(e) => all = Err(e),
            }
        }
        for at in 0..self.fronts.len() {
            let front = &mut self.fronts[at];
            if !front.is_gone() {
                continue;
            }
            let (path, contract) = (&front.place.path, &front.place.contract);
            let registered = self.names.register_as(path, contract);
            let number = Source::Front(at).number();
            if let Err(e) = registered.and_then(|names| front.come_back(names, &self.set, number)) {
                all = Err(e);
            }
        }
        // Nothing is looked for: the name server might pass that on to a stranger, and wait.
        for (path, target) in &self.hardware.links {
            let made = match self.names.link(path, target) {
                // Perhaps it is this one's own, which was not lost.
                Err(Error::Held) if self.names.deregister(path).is_ok() => {
                    self.names.link(path, target)
                }
                made => made,
            };
            if let Err(e) = made {
                all = Err(e);
            }
        }
        all
    }
}
