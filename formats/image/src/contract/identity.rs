//! Identities of contracts: equal for contracts that mean the same, different for all others.
//!
//! A table names other contracts: those of endpoints in its messages, its bases, and those that it
//! narrows. (For the types in its messages it holds identities, made in the same way.) The meaning
//! of a contract depends on the meaning of these, to any depth, so an identity covers everything
//! that is reachable through such names: a contract that differs only in another contract beneath a
//! well-known name, however deep, has another identity.
//!
//! Contracts that reach each other (a contract may name itself) have no order in which one could be
//! hashed before the other. Such a strongly connected group is hashed as a whole: its members' own
//! tables, by name, and the identities of the contracts that it names beyond itself, by name. An
//! identity is the group's hash with the member's name. Names are unique among contracts of one
//! image, so this is complete; and it depends neither on their order nor on contracts that cannot
//! be reached.
//!
//! Identities are made in steps of bounded cost, with memory that is asked for first: a kernel
//! makes them for any image that it loads.

use super::{ContractTable, Hash, Message};
use crate::Error;
use crate::manifest::Side;
use alloc::collections::TryReserveError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::borrow::Borrow;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The most references that one step follows, not counting those of its last group.
const STEP: usize = 16 << 10;
/// The most names that one step hashes.
const NAMES: usize = 512;

/// Pairs of a contract's own state and a base's ([`super::Base`]).
type Pairs = Vec<(u16, u16)>;

/// The part of a table that is hashed: all of it but the identities of others, whose names suffice.
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
    /// Returns the names of the contracts that the table refers to, with repetitions.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        let arguments = self.messages.iter().flat_map(|m| &m.words);
        let arguments = arguments.filter_map(|word| word.contract());
        let bases = self.bases.iter().map(|b| b.name.as_str());
        let narrowed = self.narrows.iter().flat_map(|n| &n.of);
        arguments
            .chain(bases)
            .chain(narrowed.map(|(name, _)| name.as_str()))
    }

    /// Returns a hash of the table without the tables that it refers to.
    pub(super) fn own(&self) -> Result<Hash, Error> {
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
        let hash = postcard::serialize_with_flavor(&own, Hashing::new());
        hash.map_err(|_| Error::new(format!("contract {name} has no bytes")))
    }
}

/// Bytes that are hashed together: most of a table comes in pieces of one byte or a few.
const TOGETHER: usize = 512;

/// Hashes the encoded bytes instead of keeping them.
struct Hashing {
    hash: Sha256,
    /// The first `count` are yet to be hashed.
    bytes: [u8; TOGETHER],
    count: usize,
}

impl Hashing {
    fn new() -> Hashing {
        Hashing {
            hash: Sha256::new(),
            bytes: [0; TOGETHER],
            count: 0,
        }
    }

    fn flush(&mut self) {
        self.hash.update(&self.bytes[..self.count]);
        self.count = 0;
    }
}

impl postcard::ser_flavors::Flavor for Hashing {
    type Output = Hash;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        if self.count == TOGETHER {
            self.flush();
        }
        self.bytes[self.count] = byte;
        self.count += 1;
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        if bytes.len() > TOGETHER - self.count {
            self.flush();
        }
        match self.bytes.get_mut(self.count..self.count + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.count += bytes.len();
            }
            // Longer than all of the room, which is empty.
            None => self.hash.update(bytes),
        }
        Ok(())
    }

    fn finalize(mut self) -> postcard::Result<Hash> {
        self.flush();
        Ok(self.hash.finalize().into())
    }
}

/// Returns the identities of the contracts of one image, in their order.
///
/// # Errors
/// If two contracts have one name, or one refers to a contract that is not among them.
pub fn identities(tables: &[ContractTable]) -> Result<Vec<Hash>, Error> {
    let no_room = |_| Error::new("no memory for the identities of contracts");
    let name = |place: u32| tables[place as usize].name.as_str();
    let mut all = Identities::of(tables.len()).map_err(no_room)?;
    for table in tables {
        all.say(table.own()?);
    }
    all.sort(tables)?;
    for table in tables {
        all.refer(table, tables)?.map_err(no_room)?;
    }
    all.group().map_err(no_room)?;
    while !all.step(&name) {}
    Ok(all.finish())
}

/// A named thing that refers to others by name.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// Its name, unique among them.
    pub name: &'a str,
    /// Its encoded content, the names of others included.
    pub own: Vec<u8>,
    /// Indices of the things that it refers to, each once.
    pub references: Vec<usize>,
}

/// Returns the identities of things that refer to each other, in their order.
///
/// # Panics
/// If memory is short: only tools call this.
#[must_use]
pub fn identify(all: &[Named<'_>]) -> Vec<Hash> {
    let name = |place: u32| all[place as usize].name;
    let made = || {
        let mut identities = Identities::of(all.len())?;
        for one in all {
            identities.say(Sha256::digest(&one.own).into());
        }
        identities.sort_by(&name);
        for one in all {
            for &to in &one.references {
                identities.add(to as u32)?;
            }
            identities.close();
        }
        identities.group()?;
        while !identities.step(&name) {}
        Ok::<_, TryReserveError>(identities.finish())
    };
    made().expect("memory for identities")
}

/// No index.
const NONE: u32 = u32::MAX;

/// Identities in the making, of things by their index. The phases: each thing's own hash
/// ([`Identities::say`]), the order of names, references, groups, then the steps that hash.
#[derive(Debug)]
pub(super) struct Identities {
    own: Vec<Hash>,
    /// Indices in the order of names, and the rank of each index in that order.
    order: Vec<u32>,
    rank: Vec<u32>,
    /// Targets of references; those of index `i` are `edges[starts[i]..starts[i + 1]]`.
    edges: Vec<u32>,
    starts: Vec<u32>,
    /// Indices by groups, each group after those that it leads to, and the end of each group.
    grouped: Vec<u32>,
    ends: Vec<u32>,
    /// For each index, or its rank: the source of the reference to it that was seen last.
    seen: Vec<u32>,
    /// Ranks of the things that the group names beyond itself.
    beyond: Vec<u32>,
    /// The group that is being hashed; its hash, once known, and its next member.
    at: usize,
    whole: Option<Hash>,
    member: usize,
    identities: Vec<Hash>,
}

fn room<T>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut room = Vec::new();
    room.try_reserve_exact(count)?;
    Ok(room)
}

fn filled<T: Clone>(count: usize, with: T) -> Result<Vec<T>, TryReserveError> {
    let mut filled = room(count)?;
    filled.resize(count, with);
    Ok(filled)
}

impl Identities {
    /// Makes room for `count` things.
    pub(super) fn of(count: usize) -> Result<Identities, TryReserveError> {
        let mut starts = room(count + 1)?;
        starts.push(0);
        Ok(Identities {
            own: room(count)?,
            order: room(count)?,
            rank: filled(count, NONE)?,
            edges: Vec::new(),
            starts,
            grouped: room(count)?,
            ends: room(count)?,
            seen: filled(count, NONE)?,
            beyond: room(count)?,
            at: 0,
            whole: None,
            member: 0,
            identities: filled(count, [0; 32])?,
        })
    }

    /// Notes the own hash of the next thing.
    pub(super) fn say(&mut self, own: Hash) {
        self.own.push(own);
    }

    fn sort_by<'n>(&mut self, name: &impl Fn(u32) -> &'n str) {
        self.order.extend(0..self.own.len() as u32);
        self.order.sort_unstable_by_key(|&place| name(place));
        for (rank, &place) in self.order.iter().enumerate() {
            self.rank[place as usize] = rank as u32;
        }
    }

    /// Sorts the things by name.
    ///
    /// # Errors
    /// If two have one name.
    pub(super) fn sort(&mut self, tables: &[impl Borrow<ContractTable>]) -> Result<(), Error> {
        let name = |place: u32| tables[place as usize].borrow().name.as_str();
        self.sort_by(&name);
        match self.order.windows(2).find(|w| name(w[0]) == name(w[1])) {
            Some(two) => Err(Error::new(format!(
                "contract {} is there twice",
                name(two[0])
            ))),
            None => Ok(()),
        }
    }

    /// Returns the index of the thing with a name.
    pub(super) fn find(&self, wanted: &str, tables: &[impl Borrow<ContractTable>]) -> Option<u32> {
        let name = |&place: &u32| tables[place as usize].borrow().name.as_str();
        let at = self.order.binary_search_by_key(&wanted, name).ok()?;
        Some(self.order[at])
    }

    /// Notes the references of the next thing.
    ///
    /// # Errors
    /// If a target is not among them; the inner error, if memory is short.
    pub(super) fn refer(
        &mut self,
        table: &ContractTable,
        tables: &[impl Borrow<ContractTable>],
    ) -> Result<Result<(), TryReserveError>, Error> {
        for wanted in table.references() {
            let found = self.find(wanted, tables).ok_or_else(|| {
                let text = format!(
                    "contract {} refers to {wanted}, which is not among them",
                    table.name
                );
                Error::new(text)
            })?;
            if let Err(no_room) = self.add(found) {
                return Ok(Err(no_room));
            }
        }
        self.close();
        Ok(Ok(()))
    }

    /// Notes a reference from the next thing to this index, perhaps a repeated one.
    fn add(&mut self, to: u32) -> Result<(), TryReserveError> {
        let from = self.starts.len() as u32 - 1;
        let seen = &mut self.seen[to as usize];
        if *seen != from {
            *seen = from;
            self.edges.try_reserve(1)?;
            self.edges.push(to);
        }
        Ok(())
    }

    fn close(&mut self) {
        self.starts.push(self.edges.len() as u32);
    }

    fn edge(&self, place: u32, index: u32) -> Option<u32> {
        let at = self.starts[place as usize] + index;
        (at < self.starts[place as usize + 1]).then(|| self.edges[at as usize])
    }

    /// Groups the things that reach each other, each group after those that it leads to (Tarjan's
    /// algorithm, with an explicit stack: chains of references can be as long as a text).
    pub(super) fn group(&mut self) -> Result<(), TryReserveError> {
        let all = self.own.len();
        let mut number = filled(all, NONE)?;
        let mut lowest = filled(all, NONE)?;
        let mut open = filled(all, false)?;
        let (mut pending, mut path) = (room(all)?, room(all)?);
        let mut count = 0;
        for root in 0..all as u32 {
            if number[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some((node, next)) = path.last_mut() {
                let (place, i) = (*node, *node as usize);
                if *next == 0 {
                    (number[i], lowest[i]) = (count, count);
                    count += 1;
                    open[i] = true;
                    pending.push(place);
                }
                if let Some(to) = self.edge(place, *next) {
                    *next += 1;
                    if number[to as usize] == NONE {
                        path.push((to, 0));
                    } else if open[to as usize] {
                        lowest[i] = lowest[i].min(number[to as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    let before = before as usize;
                    lowest[before] = lowest[before].min(lowest[i]);
                }
                if lowest[i] == number[i] {
                    let from = pending.iter().rposition(|&p| p == place).unwrap_or(0);
                    for &member in &pending[from..] {
                        open[member as usize] = false;
                    }
                    self.grouped.extend(pending.drain(from..));
                    self.ends.push(self.grouped.len() as u32);
                }
            }
        }
        self.seen.fill(NONE);
        Ok(())
    }

    /// Hashes some groups. Returns true when all things have their identities.
    pub(super) fn step<'n>(&mut self, name: &impl Fn(u32) -> &'n str) -> bool {
        let (mut edges, mut names) = (STEP, NAMES);
        while let Some(&end) = self.ends.get(self.at) {
            let start = match self.at {
                0 => 0,
                at => self.ends[at - 1] as usize,
            };
            let members = start..end as usize;
            let Some(whole) = self.whole else {
                if edges == 0 {
                    return false;
                }
                let looked_at = self.hash_group(members);
                edges = edges.saturating_sub(looked_at + 1);
                continue;
            };
            while let Some(&place) = self.grouped[members.clone()].get(self.member) {
                if names == 0 {
                    return false;
                }
                names -= 1;
                self.member += 1;
                let member = Sha256::new().chain_update(whole);
                let identity = member.chain_update(name(place)).finalize();
                self.identities[place as usize] = identity.into();
            }
            self.at += 1;
            (self.whole, self.member) = (None, 0);
        }
        true
    }

    /// Hashes a group: its members, and the things that they name beyond it, both in the order of
    /// names. Returns how many references it has.
    fn hash_group(&mut self, members: core::ops::Range<usize>) -> usize {
        let rank = &self.rank;
        self.grouped[members.clone()].sort_unstable_by_key(|&place| rank[place as usize]);
        let group = &self.grouped[members];
        let mark = self.at as u32;
        for &place in group {
            self.seen[place as usize] = mark;
        }
        let mut hash = Sha256::new();
        hash.update((group.len() as u64).to_le_bytes());
        self.beyond.clear();
        let mut references = 0;
        for &place in group {
            hash.update(self.own[place as usize]);
            let range = self.starts[place as usize]..self.starts[place as usize + 1];
            references += range.len();
            for &to in &self.edges[range.start as usize..range.end as usize] {
                let seen = &mut self.seen[to as usize];
                if *seen != mark {
                    *seen = mark;
                    self.beyond.push(rank[to as usize]);
                }
            }
        }
        // By rank; the members' own tables hold the names.
        self.beyond.sort_unstable();
        for &rank in &self.beyond {
            hash.update(self.identities[self.order[rank as usize] as usize]);
        }
        self.whole = Some(hash.finalize().into());
        references
    }

    /// Returns all identities, once [`Identities::step`] has returned true.
    pub(super) fn finish(self) -> Vec<Hash> {
        self.identities
    }

    /// Returns the identity of the thing with this index.
    pub(super) fn at(&self, place: u32) -> &Hash {
        &self.identities[place as usize]
    }
}
