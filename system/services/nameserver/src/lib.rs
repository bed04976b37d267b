//! The name server's logic without its channels: who serves each path. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;
use sing_sdk::contracts::Refusal;
use sing_sdk::path;
use sing_sdk::walk::{Directories, Entry};

pub mod grace;
pub mod origin;
pub mod union;
pub mod watched;

/// The most links through which a path may lead.
pub const HOPS: u8 = 16;

/// What is registered at a path. `T` is a provider, `L` the owner of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<T, L> {
    /// A service or a name server.
    Provider(T),
    /// A symbolic link with its target.
    Link(L, String),
}

/// Registered paths.
///
/// Invariant: nothing is below a link.
#[derive(Debug)]
pub struct Tree<T, L> {
    /// By path, each `/` as the character [`DIVIDER`], below all that a name may have: so the order
    /// of the keys is that of a walk, and a directory's names are together.
    entries: BTreeMap<String, Node<T, L>>,
}

/// Control characters are in no path.
const DIVIDER: &str = "\u{1}";

fn key(path: &str) -> String {
    let mut key = String::with_capacity(path.len());
    // The root's key is empty.
    for part in path.split('/').skip(1).filter(|part| !part.is_empty()) {
        key.push_str(DIVIDER);
        key.push_str(part);
    }
    key
}

impl<T, L> Default for Tree<T, L> {
    fn default() -> Self {
        Tree {
            entries: BTreeMap::new(),
        }
    }
}

/// The server of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Place<'a, T, L> {
    /// The name server itself: a directory above registered paths, or the root.
    Here,
    /// A provider, and where the path relative to it begins.
    Provider(&'a T, usize),
    /// A link: its owner, where its path ends, and its target.
    Link(&'a L, usize, &'a str),
    /// No provider.
    Nowhere,
}

impl<T, L> Tree<T, L> {
    /// Whether a normalized path can be registered: it is free, and every path above or below it
    /// belongs to `mine`, so that no provider can take another's place, before or behind it. The
    /// root is the name server's own.
    pub fn is_free(&self, path: &str, mine: impl Fn(&Node<T, L>) -> bool) -> bool {
        let key = key(path);
        path != "/" && !self.entries.contains_key(&key) && !self.meets(&key, mine)
    }

    /// Whether a link can lie at a path: one that is free, with nothing below.
    pub fn is_free_leaf(&self, path: &str, mine: impl Fn(&Node<T, L>) -> bool) -> bool {
        self.is_free(path, mine) && self.below(&key(path)).next().is_none()
    }

    /// Registers at a free path.
    pub fn register(&mut self, path: &str, node: Node<T, L>) {
        self.entries.insert(key(path), node);
    }

    /// Whether a path above or below this one belongs to another, or a link is above.
    fn meets(&self, key: &str, mine: impl Fn(&Node<T, L>) -> bool) -> bool {
        let mut above = self.above(key);
        while let Some((at, node)) = above {
            if !mine(node) || matches!(node, Node::Link(..)) {
                return true;
            }
            above = at.rfind(DIVIDER).and_then(|end| self.above(&at[..end]));
        }
        self.below(key).any(|(_, node)| !mine(node))
    }

    /// The longest registered prefix of a path, itself included. The cost of a look-up in the tree
    /// grows with the path's length, so there is not one for each part: a path of thousands of
    /// parts would delay all others.
    fn above(&self, path: &str) -> Option<(&str, &Node<T, L>)> {
        let mut path = path;
        loop {
            let to = (Bound::Unbounded, Bound::Included(path));
            let (at, node) = self.entries.range::<str, _>(to).next_back()?;
            let rest = path.strip_prefix(at.as_str());
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(DIVIDER)) {
                return Some((at, node));
            }
            // No prefix of the path sorts after this one, so it is a prefix of this one, too.
            let same = path.bytes().zip(at.bytes()).take_while(|(a, b)| a == b);
            let same = same.count();
            let divider = DIVIDER.as_bytes()[0];
            let end = match path.as_bytes().get(same) {
                Some(b) if *b == divider => same,
                _ => path.as_bytes()[..same]
                    .iter()
                    .rposition(|b| *b == divider)?,
            };
            path = &path[..end];
        }
    }

    /// The registrations below a path.
    fn below(&self, key: &str) -> impl Iterator<Item = (&str, &Node<T, L>)> {
        let below = String::from(key) + DIVIDER;
        let from = (Bound::Included(below.as_str()), Bound::Unbounded);
        let behind = self.entries.range::<str, _>(from);
        behind
            .map(|(at, node)| (at.as_str(), node))
            .take_while(move |(at, _)| at.starts_with(&below))
    }

    /// What is registered at a path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Node<T, L>> {
        self.entries.get(&key(path))
    }

    /// Removes a path.
    pub fn deregister(&mut self, path: &str) -> Option<Node<T, L>> {
        self.entries.remove(&key(path))
    }

    /// The paths of all links of an owner.
    pub fn links_of(&self, owner: impl Fn(&L) -> bool) -> Vec<String> {
        let mine = |node: &Node<T, L>| matches!(node, Node::Link(of, _) if owner(of));
        let all = self.entries.iter().filter(|(_, node)| mine(node));
        all.map(|(at, _)| at.replace(DIVIDER, "/")).collect()
    }

    /// The server of a normalized path: what has the longest registered prefix.
    #[must_use]
    pub fn resolve(&self, path: &str) -> Place<'_, T, L> {
        let key = key(path);
        match self.above(&key) {
            Some((at, Node::Provider(provider))) => Place::Provider(provider, at.len()),
            Some((at, Node::Link(owner, target))) => Place::Link(owner, at.len(), target),
            None if key.is_empty() || self.below(&key).next().is_some() => Place::Here,
            None => Place::Nowhere,
        }
    }

    /// What is directly below a directory of the name server's own, in walk order: each name, with
    /// what is registered there itself.
    fn next(&self, directory: &str, after: Option<&str>) -> Option<(&str, Option<&Node<T, L>>)> {
        let below = key(directory) + DIVIDER;
        // Behind a name and all below it.
        let from = match after {
            None => below.clone(),
            Some(after) => below.clone() + after + "\u{2}",
        };
        let range = (Bound::Included(from.as_str()), Bound::Unbounded);
        let (at, node) = self.entries.range::<str, _>(range).next()?;
        let rest = at.strip_prefix(&below)?;
        match rest.split_once(DIVIDER) {
            Some((name, _)) => Some((name, None)),
            None => Some((rest, Some(node))),
        }
    }
}

/// The tree as directories, for a walk. `describe` says of a provider whether it is a name server,
/// and else its contract.
pub struct Own<'a, T, L, F> {
    /// What is registered.
    pub tree: &'a Tree<T, L>,
    /// Of a provider: its contract, `None` for a name server.
    pub describe: F,
}

impl<'a, T, L, F: Fn(&T) -> Option<&'a str>> Own<'a, T, L, F> {
    fn show(&self, name: &str, node: Option<&Node<T, L>>) -> Entry {
        match node {
            None => Entry::directory(name),
            Some(Node::Link(_, target)) => Entry::link(name, target),
            Some(Node::Provider(provider)) => match (self.describe)(provider) {
                None => Entry {
                    foreign: true,
                    ..Entry::directory(name)
                },
                Some(contract) => Entry::service(name, contract),
            },
        }
    }
}

impl<'a, T, L, F: Fn(&T) -> Option<&'a str>> Directories for Own<'a, T, L, F> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        let mut all: Vec<Entry> = Vec::new();
        while all.len() < most {
            let after = all.last().map(|e| e.name.as_str()).or(after);
            let Some((name, node)) = self.tree.next(at, after) else {
                break;
            };
            let entry = self.show(name, node);
            all.push(entry);
        }
        if all.is_empty() && at != "/" && self.tree.below(&key(at)).next().is_none() {
            return Err(Refusal::NotFound);
        }
        Ok(all)
    }

    fn entry(&mut self, at: &str, name: &str) -> Result<Option<Entry>, Refusal> {
        let path = path::join(at, name);
        let node = self.tree.get(&path);
        let there = node.is_some() || self.tree.below(&key(&path)).next().is_some();
        if !there && at != "/" && self.tree.below(&key(at)).next().is_none() {
            return Err(Refusal::NotFound);
        }
        Ok(there.then(|| self.show(name, node)))
    }
}

/// The path to go on with where `path`, up to `used`, is a link to `target`.
///
/// # Errors
/// If that is no path.
pub fn follow(path: &str, used: usize, target: &str) -> Result<String, Refusal> {
    let (Some(link), Some(rest)) = (path.get(..used), path.get(used..)) else {
        return Err(Refusal::NotFound);
    };
    if used == 0 || !(rest.is_empty() || rest.starts_with('/')) {
        return Err(Refusal::NotFound);
    }
    let from = link.rsplit_once('/').map_or("/", |(above, _)| above);
    let mut led = path::join(from, target);
    if !rest.is_empty() {
        led.truncate(led.trim_end_matches('/').len());
        led.push_str(rest);
    }
    if led.len() > path::LONGEST {
        return Err(Refusal::TooLong);
    }
    path::normalize(&led).ok_or(Refusal::BadPath)
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
mod tests;
