//! The values, and the news of them.

use crate::Reason;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

/// The most keys: a client may put as many as it likes.
pub const KEYS: usize = 1000;

/// Values with their keys, in the order in which the keys came. None goes, so that a place stays a key's.
#[derive(Default)]
pub struct Table(Vec<(String, String)>);

impl Table {
    /// Stores a value, in the place of the one before; the key's place.
    ///
    /// # Errors
    /// If there are too many, or memory is short.
    pub fn put(&mut self, key: &str, value: &str) -> Result<u16, Reason> {
        let value = owned(value)?;
        let place = match self.place(key) {
            Some(place) => {
                self.0[place].1 = value;
                place
            }
            None if self.0.len() >= KEYS || self.0.try_reserve(1).is_err() => {
                return Err(Reason::Full);
            }
            None => {
                self.0.push((owned(key)?, value));
                self.0.len() - 1
            }
        };
        Ok(place as u16)
    }

    /// The value under a key.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, key: &str) -> Result<&str, Reason> {
        let place = self.place(key).ok_or(Reason::Missing)?;
        Ok(&self.0[place].1)
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|(its, _)| its == key)
    }
}

/// A copy of a text, if there is memory for it.
fn owned(text: &str) -> Result<String, Reason> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| Reason::Full)?;
    copy.push_str(text);
    Ok(copy)
}

/// The news that a subscriber is still to be told: the places of keys, whose last values the table has. However
/// slow the subscriber is, it costs no more than a few bytes a key.
pub struct News {
    prefix: String,
    left: BTreeSet<u16>,
}

impl News {
    /// For a subscriber to keys that begin so, with all that is there already.
    pub fn new(prefix: String, table: &Table) -> News {
        let places = (0..).zip(&table.0);
        let left = places.filter(|(_, (key, _))| key.starts_with(&prefix));
        News {
            left: left.map(|(place, _)| place).collect(),
            prefix,
        }
    }

    /// A value has been put.
    pub fn changed(&mut self, key: &str, place: u16) {
        if key.starts_with(&self.prefix) {
            self.left.insert(place);
        }
    }

    /// The next thing to tell: a key and its value. It stays until it is [told](News::told).
    pub fn next<'t>(&self, table: &'t Table) -> Option<(&'t str, &'t str)> {
        let (key, value) = table.0.get(usize::from(*self.left.first()?))?;
        Some((key, value))
    }

    /// The next thing has been told.
    pub fn told(&mut self) {
        self.left.pop_first();
    }
}
