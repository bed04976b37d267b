//! The name server's logic without its channels: which provider serves a path. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::path;

/// Registered paths and their providers.
#[derive(Debug)]
pub struct Tree<T> {
    entries: BTreeMap<String, T>,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree {
            entries: BTreeMap::new(),
        }
    }
}

/// The place that answers for a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Place<'a, T> {
    /// The name server itself: a directory above registered paths, or the root.
    Here,
    /// A provider, and the path as it sees it.
    Provider(&'a T, &'a str),
    /// No provider.
    Nowhere,
}

impl<T> Tree<T> {
    /// Whether a normalized path can be registered: nobody has it, and no path above or below it is another's than `mine`, so that
    /// nobody stands in another's place, before or behind it. The root is the name server's own.
    pub fn is_free(&self, path: &str, mine: impl Fn(&T) -> bool) -> bool {
        path != "/" && !self.entries.contains_key(path) && !self.meets(path, mine)
    }

    /// Gives a path that is free to a provider.
    pub fn register(&mut self, path: &str, provider: T) {
        self.entries.insert(path.into(), provider);
    }

    /// Whether a path above or below this one belongs to another.
    fn meets(&self, path: &str, mine: impl Fn(&T) -> bool) -> bool {
        let others = |provider: Option<&T>| provider.is_some_and(|p| !mine(p));
        let slashes = path.match_indices('/').map(|(at, _)| &path[..at]);
        let mut above = slashes.filter(|prefix| !prefix.is_empty());
        if above.any(|prefix| others(self.entries.get(prefix))) {
            return true;
        }
        let below = format!("{path}/");
        self.entries
            .range::<String, _>(&below..)
            .take_while(|(at, _)| at.starts_with(&below))
            .any(|(_, provider)| others(Some(provider)))
    }

    /// Takes a path back.
    pub fn deregister(&mut self, path: &str) -> Option<T> {
        self.entries.remove(path)
    }

    /// The place that answers for a normalized path: the provider with the longest registered prefix.
    #[must_use]
    pub fn resolve<'a>(&'a self, path: &'a str) -> Place<'a, T> {
        let mut prefix = path;
        while prefix.len() > 1 {
            if let Some(provider) = self.entries.get(prefix) {
                let rest = path::below(path, prefix).unwrap_or("/");
                return Place::Provider(provider, rest);
            }
            prefix = &prefix[..prefix.rfind('/').unwrap_or(0)];
        }
        if path == "/" || self.list(path).is_some() {
            Place::Here
        } else {
            Place::Nowhere
        }
    }

    /// The names directly below a directory of the name server's own.
    #[must_use]
    pub fn list(&self, directory: &str) -> Option<Vec<String>> {
        path::list(self.entries.keys().map(String::as_str), directory)
    }
}

/// Numbers that clients, providers and watchers have: so many, that the number of each in the wait set is one of the kernel's.
const NUMBERS: u32 = 1 << 29;

/// The number after the last one that nobody has. There are far more than the server keeps things.
pub fn next_number(last: u32, taken: impl Fn(u32) -> bool) -> u32 {
    let mut number = last;
    loop {
        number = (number + 1) % NUMBERS;
        if number != 0 && !taken(number) {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_answers() {
        let mut tree = Tree::default();
        tree.register("/boot", 1);
        tree.register("/svc/clock", 2);
        tree.register("/boot/deep/er", 3);
        assert!(!tree.is_free("/boot", |_| true) && !tree.is_free("/", |_| true));
        assert_eq!(tree.resolve("/boot"), Place::Provider(&1, "/"));
        assert_eq!(tree.resolve("/boot/deep/e"), Place::Provider(&1, "/deep/e"));
        assert_eq!(tree.resolve("/boot/deep/er/x"), Place::Provider(&3, "/x"));
        assert_eq!(tree.resolve("/bootleg"), Place::Nowhere);
        assert_eq!(tree.resolve("/svc"), Place::Here);
        assert_eq!(tree.resolve("/"), Place::Here);
        assert_eq!(tree.list("/").unwrap(), ["boot/", "svc/"]);
        assert_eq!(tree.deregister("/svc/clock"), Some(2));
        assert_eq!(tree.resolve("/svc"), Place::Nowhere);
        assert_eq!(Tree::<()>::default().resolve("/"), Place::Here);
    }
    #[test]
    fn nobody_registers_above_or_below_another() {
        let mut tree = Tree::default();
        let mut register = |path: &str, owner| {
            let free = tree.is_free(path, |p| *p == owner);
            if free {
                tree.register(path, owner);
            }
            free
        };
        assert!(register("/boot", 1) && register("/svc/clock", 2));
        for path in ["/boot/notes.txt", "/boot/bin/ls", "/svc", "/svc/clock/utc"] {
            assert!(!register(path, 3), "{path}");
        }
        assert!(register("/bootleg", 3) && register("/svc/clock2", 3) && register("/svc/a", 3));
        assert!(register("/boot/notes.txt", 1) && register("/svc/clock/utc", 2));
        assert!(!register("/svc/clock/utc/x", 3) && !register("/svc", 2));
    }

    #[test]
    fn numbers_begin_anew_and_pass_over_those_that_are_taken() {
        assert_eq!(next_number(0, |_| false), 1);
        assert_eq!(next_number(NUMBERS - 1, |n| n < 5), 5);
    }
}
