//! The values, and the news of them.

use crate::Reason;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// The most keys: a client may put as many as it likes.
pub const KEYS: usize = 1000;

/// Values by key.
#[derive(Default)]
pub struct Table(BTreeMap<String, String>);

impl Table {
    /// Stores a value, in the place of the one before.
    ///
    /// # Errors
    /// If there are too many.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), Reason> {
        if self.0.len() >= KEYS && !self.0.contains_key(key) {
            return Err(Reason::Full);
        }
        self.0.insert(key.into(), value.into());
        Ok(())
    }

    /// The value under a key.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, key: &str) -> Result<&str, Reason> {
        self.0.get(key).map(String::as_str).ok_or(Reason::Missing)
    }
}

/// What a subscriber is still to be told: of each key the last value. So it has at most as much in it
/// as the table, however slow the subscriber is.
pub struct News {
    prefix: String,
    left: BTreeMap<String, String>,
}

impl News {
    /// For a subscriber to keys that begin so, with all that is there already.
    pub fn new(prefix: String, table: &Table) -> News {
        let left = table.0.iter().filter(|(key, _)| key.starts_with(&prefix));
        let left = left.map(|(key, value)| (key.clone(), value.clone()));
        News {
            left: left.collect(),
            prefix,
        }
    }

    /// A value has been put.
    pub fn changed(&mut self, key: &str, value: &str) {
        if key.starts_with(&self.prefix) {
            self.left.insert(key.into(), value.into());
        }
    }

    /// The next thing to tell.
    pub fn next(&mut self) -> Option<(String, String)> {
        self.left.pop_first()
    }
}
