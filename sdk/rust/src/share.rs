//! Shares of what a service has: no program takes so much that nothing is left for others.
//!
//! An *origin* is all that comes from one start of a program: the name server gives it a number,
//! which it tells services with each Bind. An origin may have an eighth of what is free, so the
//! more is taken, the less the next one gets, and it takes dozens of greedy programs to leave
//! nothing: the *dynamic threshold* of shared buffers. Origin 0, the system itself, may have all
//! that is free.

use alloc::collections::BTreeMap;

/// The part of what is free that an origin may have.
const PART: usize = 8;

/// The system itself.
pub const SYSTEM: u32 = 0;

/// Whether an origin that has `used` may have so much more of what is free. Up to `least`, its
/// share is not looked at: an eighth of little is nothing.
#[must_use]
pub fn allows(origin: u32, used: usize, more: usize, free: usize, least: usize) -> bool {
    more <= free && (origin == SYSTEM || used + more <= (free / PART).max(least))
}

/// What each origin has of a total.
#[derive(Debug)]
pub struct Shares {
    free: usize,
    least: usize,
    used: BTreeMap<u32, usize>,
}

impl Shares {
    /// Nobody has anything of this total yet. Up to `least` everybody gets, while it lasts.
    #[must_use]
    pub const fn new(total: usize, least: usize) -> Shares {
        Shares {
            free: total,
            least,
            used: BTreeMap::new(),
        }
    }

    /// Gives an origin so much, or nothing; whether it did.
    #[must_use]
    pub fn take(&mut self, origin: u32, amount: usize) -> bool {
        let granted = allows(origin, self.of(origin), amount, self.free, self.least);
        if granted {
            self.free -= amount;
            *self.used.entry(origin).or_default() += amount;
        }
        granted
    }

    /// Whether an origin could have so much if it had given so much back before.
    #[must_use]
    pub fn allows_behind(&self, origin: u32, amount: usize, back: usize) -> bool {
        let used = self.of(origin);
        let back = back.min(used);
        allows(origin, used - back, amount, self.free + back, self.least)
    }

    /// Takes back what was given to an origin.
    pub fn give_back(&mut self, origin: u32, amount: usize) {
        if let Some(used) = self.used.get_mut(&origin) {
            let amount = amount.min(*used);
            *used -= amount;
            self.free += amount;
            if *used == 0 {
                self.used.remove(&origin);
            }
        }
    }

    /// What an origin has.
    #[must_use]
    pub fn of(&self, origin: u32) -> usize {
        self.used.get(&origin).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes one at a time until refused; how many it got.
    fn all(shares: &mut Shares, origin: u32) -> usize {
        (0..).take_while(|_| shares.take(origin, 1)).count()
    }

    #[test]
    fn however_many_take_all_they_get_something_is_left() {
        let mut shares = Shares::new(4096, 8);
        assert_eq!(all(&mut shares, 1), 4096 / 9);
        for origin in 2..=20 {
            assert!(all(&mut shares, origin) >= 8);
        }
        assert!(all(&mut shares, 21) >= 8);
        assert!(all(&mut shares, SYSTEM) > 200);
        assert!(!shares.take(22, 1) && !shares.take(SYSTEM, 1));
        // What one gives back, another can have, and nothing gets lost.
        let first = shares.of(1);
        shares.give_back(1, first);
        assert_eq!((shares.of(1), shares.free), (0, first));
        assert!(shares.take(22, 8));
    }

    #[test]
    fn what_would_be_given_back_makes_room() {
        let mut shares = Shares::new(100, 8);
        assert!(shares.take(1, 12) && !shares.take(1, 1));
        // The eighth of what is free grows by what comes back: one is too few.
        assert_eq!(
            [0, 1, 2].map(|back| shares.allows_behind(1, 1, back)),
            [false, false, true]
        );
        shares.give_back(1, 2);
        assert!(shares.take(1, 1));
        assert!(!shares.allows_behind(2, 100, 100));
    }

    #[test]
    fn nothing_is_taken_in_part() {
        let mut shares = Shares::new(100, 8);
        assert!(!shares.take(1, 13) && shares.take(1, 12));
        assert!(!shares.take(SYSTEM, 89) && shares.take(SYSTEM, 88));
        shares.give_back(3, 5);
        assert_eq!(shares.free, 0);
    }
}
