//! The name server's logic without its channels: which provider serves a path. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::path;

/// Registered paths and who serves them.
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

/// Who answers for a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Place<'a, T> {
    /// The name server itself: a directory above registered paths, or the root.
    Here,
    /// A provider, and the path as it sees it.
    Provider(&'a T, &'a str),
    /// Nobody.
    Nowhere,
}

impl<T> Tree<T> {
    /// Gives a normalized path to a provider; false where it is taken, or is the root, which is the name
    /// server's own.
    pub fn register(&mut self, path: &str, provider: T) -> bool {
        let free = path != "/" && !self.entries.contains_key(path);
        if free {
            self.entries.insert(path.into(), provider);
        }
        free
    }

    /// Takes a path back.
    pub fn deregister(&mut self, path: &str) -> Option<T> {
        self.entries.remove(path)
    }

    /// Who answers for a normalized path: the provider with the longest registered prefix.
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

    /// The path of the first provider that this is true of.
    pub fn find(&self, mut is: impl FnMut(&T) -> bool) -> Option<String> {
        self.entries
            .iter()
            .find(|(_, p)| is(p))
            .map(|(path, _)| path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_answers() {
        let mut tree = Tree::default();
        assert!(tree.register("/boot", 1));
        assert!(tree.register("/svc/clock", 2));
        assert!(tree.register("/boot/deep/er", 3));
        assert!(!tree.register("/boot", 4));
        assert!(!tree.register("/", 4));
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
}
