//! Which contract a contract is: equal for contracts that mean the same, different for all others.
//!
//! A table names other contracts: those of endpoints in its messages, those that it derives from, those that it narrows. (Types
//! that its messages carry it names with their identities, which are made in the same way.)
//! What it means depends on what they mean, to any depth. So an identity covers everything that can be reached through such
//! names, and a contract with another one beneath a well-known name is another contract, however deep that lies.
//!
//! Contracts that reach each other (a contract may name itself) have no order in which one could be hashed before the
//! other. Such a group is hashed as a whole: its members' own tables, by name, and the identities of what it names beyond
//! itself, by name. An identity is the group's hash with the member's name. Names are unique among contracts that stand
//! beside each other, so this says all there is to say; and it depends neither on their order nor on those that cannot be
//! reached.

use super::{ContractTable, Hash, Message};
use crate::Error;
use crate::manifest::Side;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Pairs of a contract's own state and a base's ([`super::Base`]).
type Pairs = Vec<(u16, u16)>;

/// What a table says itself: all of it but the identities of others, which stand for what their names say.
#[derive(Serialize)]
struct Own<'a> {
    name: &'a str,
    bases: Vec<(&'a str, &'a [Pairs; 2])>,
    narrows: Option<(Side, Vec<&'a str>)>,
    messages: &'a [Message],
    types: &'a [(String, Hash)],
    states: &'a [String],
    next: &'a [u16],
    queue: [u16; 2],
}

impl ContractTable {
    /// The names of the contracts that it refers to, as often as it does.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        let arguments = self.messages.iter().flat_map(|m| &m.words);
        let arguments = arguments.filter_map(|word| word.contract());
        let bases = self.bases.iter().map(|b| b.name.as_str());
        let narrowed = self.narrows.iter().flat_map(|n| &n.of);
        arguments
            .chain(bases)
            .chain(narrowed.map(|(name, _)| name.as_str()))
    }

    /// What it says itself.
    fn own(&self) -> Result<Vec<u8>, Error> {
        let ContractTable {
            name,
            bases,
            narrows,
            messages,
            types,
            states,
            next,
            queue,
        } = self;
        let own = Own {
            name,
            bases: bases.iter().map(|b| (&*b.name, &b.stands)).collect(),
            narrows: narrows.as_ref().map(|n| {
                let of = n.of.iter().map(|(name, _)| name.as_str());
                (n.side, of.collect())
            }),
            messages,
            types,
            states,
            next,
            queue: *queue,
        };
        let bytes = postcard::to_allocvec(&own);
        bytes.map_err(|_| Error::new(format!("contract {name} has no bytes")))
    }
}

/// The identities of contracts that stand beside each other, in their order.
///
/// # Errors
/// Where two have one name, or one refers to a contract that is not among them.
pub fn identities(tables: &[ContractTable]) -> Result<Vec<Hash>, Error> {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, table) in tables.iter().enumerate() {
        if index.insert(&table.name, i).is_some() {
            return Err(Error::new(format!(
                "contract {} is there twice",
                table.name
            )));
        }
    }
    let mut named = Vec::with_capacity(tables.len());
    for table in tables {
        let mut references = BTreeSet::new();
        for name in table.references() {
            let found = index.get(name).ok_or_else(|| {
                let text = format!(
                    "contract {} refers to {name}, which is not among them",
                    table.name
                );
                Error::new(text)
            })?;
            references.insert(*found);
        }
        named.push(Named {
            name: &table.name,
            own: table.own()?,
            references: references.into_iter().collect(),
        });
    }
    Ok(identify(&named))
}

/// Something with a name that refers to others by theirs.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// Its name, which no other one has.
    pub name: &'a str,
    /// All that it says itself, the names of others included.
    pub own: Vec<u8>,
    /// What it refers to: places of others, each once.
    pub references: Vec<usize>,
}

/// The identities of things that refer to each other, in their order.
#[must_use]
pub fn identify(all: &[Named<'_>]) -> Vec<Hash> {
    let mut identities = vec![[0; 32]; all.len()];
    let references: Vec<&[usize]> = all.iter().map(|n| &*n.references).collect();
    // What a group names beyond itself comes before it.
    for mut group in groups(&references) {
        group.sort_unstable_by_key(|&i| all[i].name);
        let members: BTreeSet<usize> = group.iter().copied().collect();
        let mut hash = Sha256::new();
        hash.update((group.len() as u64).to_le_bytes());
        let mut beyond: BTreeMap<&str, usize> = BTreeMap::new();
        for &i in &group {
            hash.update(Sha256::digest(&all[i].own));
            let others = references[i].iter().filter(|r| !members.contains(r));
            beyond.extend(others.map(|&r| (all[r].name, r)));
        }
        // In the order of their names, which the members say themselves.
        for i in beyond.into_values() {
            hash.update(identities[i]);
        }
        let whole = hash.finalize();
        for i in group {
            let member = Sha256::new().chain_update(whole);
            identities[i] = member.chain_update(all[i].name).finalize().into();
        }
    }
    identities
}

/// Checks contracts that stand beside each other: each of them, that all they refer to is there, and that it is what they
/// take it for. Their identities, in their order.
///
/// # Errors
/// Names the first thing that does not hold.
pub fn check(tables: &[ContractTable]) -> Result<Vec<Hash>, Error> {
    for table in tables {
        table.check()?;
    }
    let all = identities(tables)?;
    let index: BTreeMap<&str, usize> = tables.iter().map(|t| t.name.as_str()).zip(0..).collect();
    for table in tables {
        let bases = table.bases.iter().map(|b| (&b.name, &b.hash));
        let narrowed = table.narrows.iter().flat_map(|n| &n.of);
        let narrowed = narrowed.map(|(name, hash)| (name, hash));
        for (name, claimed) in bases.chain(narrowed) {
            let is = index.get(name.as_str()).and_then(|&i| all.get(i));
            if is != Some(claimed) {
                let text = format!(
                    "contract {} takes {name} for another contract than it is",
                    table.name
                );
                return Err(Error::new(text));
            }
        }
    }
    Ok(all)
}

/// Groups of nodes that reach each other, those first that others lead to (Tarjan's algorithm, with a stack of our own:
/// chains of references can be as long as a text).
fn groups(edges: &[&[usize]]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut number = vec![NEW; edges.len()];
    let mut lowest = vec![NEW; edges.len()];
    let mut open = vec![false; edges.len()];
    let (mut pending, mut groups, mut count) = (Vec::new(), Vec::new(), 0);
    for root in 0..edges.len() {
        if number[root] != NEW {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if *next == 0 {
                (number[node], lowest[node]) = (count, count);
                count += 1;
                open[node] = true;
                pending.push(node);
            }
            if let Some(&to) = edges[node].get(*next) {
                *next += 1;
                if number[to] == NEW {
                    path.push((to, 0));
                } else if open[to] {
                    lowest[node] = lowest[node].min(number[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                lowest[before] = lowest[before].min(lowest[node]);
            }
            if lowest[node] == number[node] {
                let from = pending.iter().rposition(|&p| p == node).unwrap_or(0);
                let group = pending.split_off(from);
                for &member in &group {
                    open[member] = false;
                }
                groups.push(group);
            }
        }
    }
    groups
}
