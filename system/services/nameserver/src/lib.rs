//! The name server's logic without its channels: the provider of each path. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;
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

/// The server of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Place<'a, T> {
    /// The name server itself: a directory above registered paths, or the root.
    Here,
    /// A provider, and the path relative to it.
    Provider(&'a T, &'a str),
    /// No provider.
    Nowhere,
}

impl<T> Tree<T> {
    /// Whether a normalized path can be registered: it is free, and every path above or below it
    /// belongs to `mine`, so that no provider can take another's place, before or behind it. The
    /// root is the name server's own.
    pub fn is_free(&self, path: &str, mine: impl Fn(&T) -> bool) -> bool {
        path != "/" && !self.entries.contains_key(path) && !self.meets(path, mine)
    }

    /// Registers a provider at a free path.
    pub fn register(&mut self, path: &str, provider: T) {
        self.entries.insert(path.into(), provider);
    }

    /// Whether a path above or below this one belongs to another.
    fn meets(&self, path: &str, mine: impl Fn(&T) -> bool) -> bool {
        let mut above = self.above(path);
        while let Some((at, provider)) = above {
            if !mine(provider) {
                return true;
            }
            above = at.rfind('/').and_then(|end| self.above(&at[..end]));
        }
        self.below(path).any(|(_, provider)| !mine(provider))
    }

    /// The longest registered prefix of a path, itself included. The cost of a look-up in the tree
    /// grows with the path's length, so there is not one for each part: a path of thousands of
    /// parts would delay all others.
    fn above(&self, path: &str) -> Option<(&str, &T)> {
        let mut path = path;
        loop {
            let to = (Bound::Unbounded, Bound::Included(path));
            let (at, provider) = self.entries.range::<str, _>(to).next_back()?;
            if path::below(path, at).is_some() {
                return Some((at, provider));
            }
            // No prefix of the path sorts after this one, so it is a prefix of this one, too.
            let same = path.bytes().zip(at.bytes()).take_while(|(a, b)| a == b);
            let same = same.count();
            let end = match path.as_bytes().get(same) {
                Some(b'/') => same,
                _ => path.as_bytes()[..same].iter().rposition(|b| *b == b'/')?,
            };
            path = &path[..end];
        }
    }

    /// The registrations below a path.
    fn below(&self, path: &str) -> impl Iterator<Item = (&str, &T)> {
        let below = format!("{}/", path.trim_end_matches('/'));
        let from = (Bound::Included(below.as_str()), Bound::Unbounded);
        let behind = self.entries.range::<str, _>(from);
        behind
            .map(|(at, provider)| (at.as_str(), provider))
            .take_while(move |(at, _)| at.starts_with(&below))
    }

    /// Removes a path.
    pub fn deregister(&mut self, path: &str) -> Option<T> {
        self.entries.remove(path)
    }

    /// The server of a normalized path: the provider with the longest registered prefix.
    #[must_use]
    pub fn resolve<'a>(&'a self, path: &'a str) -> Place<'a, T> {
        if let Some((at, provider)) = self.above(path) {
            let rest = path::below(path, at).unwrap_or("/");
            return Place::Provider(provider, rest);
        }
        if path == "/" || self.below(path).next().is_some() {
            Place::Here
        } else {
            Place::Nowhere
        }
    }

    /// The names directly below a directory of the name server's own.
    #[must_use]
    pub fn list(&self, directory: &str) -> Option<Vec<String>> {
        path::list(self.below(directory).map(|(at, _)| at), directory)
    }
}

/// Numbers of clients, providers and watchers, bounded so that the number of each in the wait set
/// is valid for the kernel.
const NUMBERS: u32 = 1 << 29;

/// The next free number. There are far more numbers than records.
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
    fn what_answers_is_what_a_look_at_each_prefix_finds() {
        let parts = ["a", "b", "a-", "a."];
        let path = |n: usize| -> String {
            let deep = 1 + n % 4;
            (0..deep)
                .map(|i| {
                    format!(
                        "/{}",
                        parts[n / 4 / parts.len().pow(i as u32) % parts.len()]
                    )
                })
                .collect()
        };
        for seed in 0..200 {
            let mut tree = Tree::default();
            for i in 0..seed % 23 {
                tree.register(&path(seed * 31 + i * 97), i);
            }
            for n in 0..1024 {
                let path = path(n);
                let ends = (1..=path.len()).rev();
                let mut prefixes =
                    ends.filter(|end| matches!(path.as_bytes().get(*end), None | Some(b'/')));
                let first = prefixes.find_map(|end| Some((end, tree.entries.get(&path[..end])?)));
                let wanted = first.map(|(end, provider)| match &path[end..] {
                    "" => Place::Provider(provider, "/"),
                    rest => Place::Provider(provider, rest),
                });
                let here = tree
                    .entries
                    .keys()
                    .any(|at| path::below(at, &path).is_some());
                let nobody = if here { Place::Here } else { Place::Nowhere };
                assert_eq!(tree.resolve(&path), wanted.unwrap_or(nobody), "{path}");
            }
        }
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
