//! Reads the contract tables of an image in steps of bounded cost, so that a kernel can run others
//! in between.
//!
//! A table is read, then checked and hashed, each in a step: it has at most
//! [`limits::ONE_CONTRACT_BYTES`] in the file. Small tables share a step. [`Reader::room`] bounds
//! the memory of the next step.
//!
//! Programs of one system name the same contracts, each in an image of its own. A caller that keeps tables
//! ([`Reader::among`]) is asked for one of the same bytes: these were decoded, checked and hashed before, and
//! the same bytes give the same table and hash. What a table says of others is checked in each image.

use super::identity::Identities;
use super::{ContractTable, Hash};
use crate::limits;
use crate::{Error, Failure};
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::borrow::Borrow;

/// The most bytes of memory for a byte of a table: a word of a message is one byte in a file. A
/// list that grows while it is read exists twice for a moment.
pub const ROOM: u64 = 128;
/// The most bytes of tables that one step reads or checks, not counting its last table.
const STEP: usize = 16 << 10;

/// A table that was read.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The table; that of the caller, where it is familiar.
    pub table: Cow<'static, ContractTable>,
    /// The bytes that it was read from.
    pub bytes: &'a [u8],
    /// Its hash without the tables that it refers to, once it has been checked.
    pub own: Hash,
}

impl Borrow<ContractTable> for Entry<'_> {
    fn borrow(&self) -> &ContractTable {
        &self.table
    }
}

/// A table that was read and checked before.
#[derive(Clone, Copy, Debug)]
pub struct Familiar {
    /// The table.
    pub table: &'static ContractTable,
    /// The bytes that it was read from.
    pub bytes: &'static [u8],
    /// Its hash without the tables that it refers to.
    pub own: Hash,
}

/// Finds a familiar table of a name with whose bytes these begin.
pub type Find = fn(name: &str, bytes: &[u8]) -> Option<Familiar>;

/// Reads contract tables.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Number of tables.
    count: usize,
    tables: Vec<Entry<'a>>,
    /// Where familiar tables are found.
    find: Option<Find>,
    identities: Option<Identities>,
    phase: Phase,
    /// Tables that this phase has dealt with.
    done: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Count,
    Tables,
    /// Each table is checked and hashed by itself.
    Checks,
    Names,
    References,
    Groups,
    Identities,
    /// The bases and narrowed contracts of each table are checked.
    Relations,
    Done,
}

fn broken() -> Error {
    let name = crate::elf::CONTRACTS;
    Error::new(format!("image: section {name} does not decode"))
}

impl<'a> Reader<'a> {
    /// Begins to read a section.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            rest: bytes,
            count: 0,
            tables: Vec::new(),
            find: None,
            identities: None,
            phase: Phase::Count,
            done: 0,
        }
    }

    /// The same, with tables that the caller keeps.
    #[must_use]
    pub fn among(self, find: Find) -> Reader<'a> {
        Reader {
            find: Some(find),
            ..self
        }
    }

    /// Returns the most bytes of memory that the next step takes.
    #[must_use]
    pub fn room(&self) -> u64 {
        match self.phase {
            Phase::Count => {
                let count = postcard::take_from_bytes::<u64>(self.rest).map_or(0, |(n, _)| n);
                count.min(limits::CONTRACTS.most) * 2 * size_of::<Entry<'_>>() as u64
            }
            Phase::Tables => {
                let one = limits::ONE_CONTRACT_BYTES.most as usize;
                self.rest.len().min(one + STEP) as u64 * ROOM
            }
            // A list of references exists twice while it grows.
            Phase::References => limits::CONTRACT_BYTES.most,
            _ => 0,
        }
    }

    /// Does a step. Returns true when all has been read.
    ///
    /// # Errors
    /// If the bytes are no tables, exceed a limit, are inconsistent, or memory is short. Only the
    /// last can be tried again.
    pub fn step(&mut self) -> Result<bool, Failure> {
        let over = match self.phase {
            Phase::Count => self.begin().map(|()| true)?,
            Phase::Tables => self.read()?,
            Phase::Checks => self.check()?,
            Phase::Names => {
                let Reader { tables, .. } = self;
                self.identities.as_mut().ok_or_else(broken)?.sort(tables)?;
                true
            }
            Phase::References => self.each(|table, tables, identities| {
                identities.refer(table, tables)?.map_err(Failure::from)
            })?,
            Phase::Groups => {
                self.identities.as_mut().ok_or_else(broken)?.group()?;
                true
            }
            Phase::Identities => {
                let Reader { tables, .. } = self;
                let name = |place: u32| tables[place as usize].table.name.as_str();
                self.identities.as_mut().ok_or_else(broken)?.step(&name)
            }
            Phase::Relations => self.each(|table, tables, identities| {
                relations(table, tables, identities).map_err(Failure::from)
            })?,
            Phase::Done => true,
        };
        if over {
            self.done = 0;
            self.phase = self.phase.next();
        }
        Ok(self.phase == Phase::Done)
    }

    /// Returns the tables and their identities, once [`Reader::step`] has returned true.
    #[must_use]
    pub fn finish(self) -> (Vec<ContractTable>, Vec<Hash>) {
        let (tables, identities) = self.finish_shared();
        let tables = tables.into_iter().map(|read| read.table.into_owned());
        (tables.collect(), identities)
    }

    /// The same, without copies of those that are familiar.
    #[must_use]
    pub fn finish_shared(self) -> (Vec<Entry<'a>>, Vec<Hash>) {
        let identities = self.identities.map(Identities::finish);
        (self.tables, identities.unwrap_or_default())
    }

    /// The next table, if it is familiar.
    fn familiar(&self, window: &[u8]) -> Option<Familiar> {
        // A table begins with its name.
        let (name, _) = postcard::take_from_bytes::<&str>(window).ok()?;
        let found = (self.find?)(name, window)?;
        // `find` has compared all bytes.
        debug_assert!(window.starts_with(found.bytes));
        Some(found)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        limits::CONTRACT_BYTES.check(self.rest.len() as u64)?;
        let (count, rest) = postcard::take_from_bytes::<u64>(self.rest).map_err(|_| broken())?;
        limits::CONTRACTS.check(count)?;
        self.count = count as usize;
        self.tables.try_reserve_exact(self.count)?;
        self.identities = Some(Identities::of(self.count)?);
        self.rest = rest;
        Ok(())
    }

    fn read(&mut self) -> Result<bool, Failure> {
        let end = self.rest.len().saturating_sub(STEP);
        while self.tables.len() < self.count {
            let most = limits::ONE_CONTRACT_BYTES.most as usize;
            let window = &self.rest[..self.rest.len().min(most)];
            let (table, own, size) = match self.familiar(window) {
                Some(found) => (Cow::Borrowed(found.table), found.own, found.bytes.len()),
                None => {
                    let (table, tail) = postcard::take_from_bytes(window).map_err(|_| {
                        if window.len() < most {
                            broken()
                        } else {
                            let text = "image: a contract's table does not decode, or is too long";
                            Error::new(text)
                        }
                    })?;
                    (
                        Cow::Owned(table),
                        Hash::default(),
                        window.len() - tail.len(),
                    )
                }
            };
            let (bytes, rest) = self.rest.split_at_checked(size).ok_or_else(broken)?;
            self.rest = rest;
            self.tables.push(Entry { table, bytes, own });
            if self.rest.len() <= end {
                break;
            }
        }
        let all = self.tables.len() == self.count;
        if all && !self.rest.is_empty() {
            return Err(broken().into());
        }
        Ok(all)
    }

    fn check(&mut self) -> Result<bool, Failure> {
        let mut bytes = STEP;
        while bytes > 0
            && let Some(read) = self.tables.get_mut(self.done)
        {
            if let Cow::Owned(table) = &read.table {
                table.check()?;
                read.own = table.own()?;
            }
            let identities = self.identities.as_mut().ok_or_else(broken)?;
            identities.say(read.own);
            bytes = bytes.saturating_sub(read.bytes.len());
            self.done += 1;
        }
        Ok(self.done == self.count)
    }

    /// Handles some tables; returns whether all are done.
    fn each(
        &mut self,
        mut f: impl FnMut(&ContractTable, &[Entry<'a>], &mut Identities) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Reader { tables, .. } = self;
        let identities = self.identities.as_mut().ok_or_else(broken)?;
        let mut bytes = STEP;
        while bytes > 0
            && let Some(read) = tables.get(self.done)
        {
            f(&read.table, tables, identities)?;
            bytes = bytes.saturating_sub(read.bytes.len());
            self.done += 1;
        }
        Ok(self.done == self.count)
    }
}

/// Checks the contracts of one image all at once, as a [`Reader`] does in steps: each table, that
/// all references resolve, and that bases and narrowed contracts have the identities that they are
/// named with. Returns the identities, in their order.
///
/// # Errors
/// Names the first check that fails.
pub fn check(tables: &[ContractTable]) -> Result<Vec<Hash>, Error> {
    let bytes = postcard::to_allocvec(tables).map_err(|_| broken())?;
    let mut reader = Reader::new(&bytes);
    while !reader.step()? {}
    Ok(reader.finish().1)
}

/// Checks that the contracts that `table` derives from or narrows have the identities that it
/// names.
fn relations(
    table: &ContractTable,
    tables: &[Entry<'_>],
    identities: &Identities,
) -> Result<(), Error> {
    let bases = table.bases.iter().map(|b| (&b.name, &b.hash));
    let narrowed = table.narrows.iter().flat_map(|n| &n.of);
    let narrowed = narrowed.map(|(name, hash)| (name, hash));
    for (name, claimed) in bases.chain(narrowed) {
        let found = identities.find(name, tables);
        if found.map(|place| identities.at(place)) != Some(claimed) {
            let text = format!(
                "contract {} names {name} with the identity of another contract",
                table.name
            );
            return Err(Error::new(text));
        }
    }
    Ok(())
}

impl Phase {
    fn next(self) -> Phase {
        use Phase::*;
        match self {
            Count => Tables,
            Tables => Checks,
            Checks => Names,
            Names => References,
            References => Groups,
            Groups => Identities,
            Identities => Relations,
            Relations | Done => Done,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::super::{Argument, Direction, Message, NONE, Word};
    use super::*;
    use crate::manifest::Side;
    use alloc::string::String;
    use alloc::vec;

    /// A contract with so many messages, each of which carries endpoints of these contracts.
    fn contract(name: &str, messages: usize, carries: &[String]) -> ContractTable {
        let word = |name: &String| Word::Endpoint {
            contract: name.clone(),
            side: Side::Imp,
            state: None,
        };
        let message = |i| Message {
            name: format!("M{i}"),
            direction: Direction::In,
            arguments: vec![Argument {
                name: "a".into(),
                ty: "b".into(),
            }],
            words: carries.iter().take(8).map(word).collect(),
            conditions: vec![],
        };
        ContractTable {
            name: name.into(),
            bases: vec![],
            narrows: None,
            messages: (0..messages).map(message).collect(),
            types: vec![],
            states: vec!["S".into()],
            next: vec![NONE; 2 * messages],
            queue: [1; 2],
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("C{i:04}")).collect()
    }

    #[test]
    fn large_tables_are_read_one_at_a_time_and_small_ones_together() {
        let many = names(2000);
        let mut tables: Vec<ContractTable> = many
            .iter()
            .zip(0..)
            .map(|(name, i)| contract(name, 1, &[many[(i + 1) % many.len()].clone()]))
            .collect();
        for large in ["L0", "L1", "L2"] {
            tables.push(contract(large, 255, &many[..8]));
        }
        let bytes = postcard::to_allocvec(&tables).unwrap();
        let mut reader = Reader::new(&bytes);
        let (mut steps, mut most) = (0, 0);
        loop {
            let before = (reader.rest.len(), reader.done);
            let done = reader.step().unwrap();
            steps += 1;
            let same = reader.done >= before.1;
            let looked_at = reader.tables.get(before.1..reader.done).filter(|_| same);
            let looked_at =
                looked_at.map_or(0, |all| all.iter().map(|read| read.bytes.len()).sum());
            most = most.max(before.0 - reader.rest.len()).max(looked_at);
            if done {
                break;
            }
        }
        let largest = postcard::to_allocvec(&tables[2001]).unwrap().len();
        assert!(most <= STEP + largest, "{most} bytes in one step");
        assert!(steps >= 4 * bytes.len() / (STEP + largest), "{steps} steps");
        let (read, identities) = reader.finish();
        assert_eq!(read, tables);
        assert_eq!(identities, check(&tables).unwrap());
        // A name changed at the far end of a circle changes all of it.
        tables[1000].messages[0].name.push('x');
        let others = check(&tables).unwrap();
        assert!((0..tables.len()).all(|i| identities[i] != others[i]));
    }

    /// The tables that were kept, by the only test that keeps some.
    static KEPT: std::sync::Mutex<Vec<Familiar>> = std::sync::Mutex::new(Vec::new());

    fn kept(name: &str, bytes: &[u8]) -> Option<Familiar> {
        let kept = KEPT.lock().unwrap();
        let mut namesakes = kept.iter().filter(|one| one.table.name == name);
        namesakes.find(|one| bytes.starts_with(one.bytes)).copied()
    }

    #[test]
    fn familiar_tables_are_not_decoded_again_and_mean_what_is_beneath_them() {
        let all = ["A", "B", "C"].map(String::from);
        let first = [contract("A", 2, &all[1..2]), contract("B", 1, &[])];
        let read = |tables: &[ContractTable]| {
            let bytes: &'static [u8] = postcard::to_allocvec(tables).unwrap().leak();
            let mut reader = Reader::new(bytes).among(kept);
            while !reader.step().unwrap() {}
            reader.finish_shared()
        };
        let familiar = |read: &[Entry<'_>]| -> Vec<bool> {
            let is = |one: &Entry<'_>| matches!(one.table, Cow::Borrowed(_));
            read.iter().map(is).collect()
        };
        let (tables, identities) = read(&first);
        assert_eq!(identities, check(&first).unwrap());
        assert_eq!(familiar(&tables), [false, false]);
        for Entry { table, bytes, own } in tables {
            KEPT.lock().unwrap().push(Familiar {
                table: alloc::boxed::Box::leak(alloc::boxed::Box::new(table.into_owned())),
                bytes,
                own,
            });
        }
        // In another place, with others.
        let second = [contract("C", 1, &all), first[1].clone(), first[0].clone()];
        let (tables, identities) = read(&second);
        assert_eq!(familiar(&tables), [false, true, true]);
        assert_eq!(identities, check(&second).unwrap());
        assert!(
            tables
                .iter()
                .zip(&second)
                .all(|(read, table)| *read.table == *table)
        );
        // The same bytes of A, but B means something else, which has one message more.
        let third = [first[0].clone(), contract("B", 2, &[])];
        let (tables, identities) = read(&third);
        assert_eq!(familiar(&tables), [true, false]);
        assert_eq!(identities, check(&third).unwrap());
        assert!(identities[0] != check(&first).unwrap()[0]);
        // What a familiar table refers to is looked for in each image.
        let bytes = postcard::to_allocvec(&first[..1]).unwrap();
        let mut reader = Reader::new(&bytes).among(kept);
        let failure = loop {
            match reader.step() {
                Ok(done) => assert!(!done),
                Err(failure) => break Error::from(failure),
            }
        };
        assert!(failure.message.contains("refers to B"), "{failure}");
        // Bytes that only begin as a familiar table's do are read by themselves.
        let mut more = first[1].clone();
        more.queue = [1, 2];
        assert_eq!(familiar(&read(&[more]).0), [false]);
    }

    #[test]
    fn a_table_that_is_too_long_is_refused_whatever_follows() {
        let mut table = contract("Long", 200, &[]);
        table.states = (0..300).map(|i| format!("S{i}")).collect();
        table.next = vec![NONE; 2 * 200 * 300];
        let bytes = postcard::to_allocvec(&vec![table, contract("Short", 1, &[])]).unwrap();
        let mut reader = Reader::new(&bytes);
        let failure = loop {
            match reader.step() {
                Ok(done) => assert!(!done),
                Err(failure) => break Error::from(failure),
            }
        };
        assert!(failure.message.contains("too long"), "{failure}");
    }

    #[test]
    fn damage_anywhere_is_no_panic() {
        let few = names(3);
        let tables: Vec<ContractTable> = few.iter().map(|n| contract(n, 3, &few)).collect();
        let bytes = postcard::to_allocvec(&tables).unwrap();
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            while let Ok(false) = reader.step() {}
        };
        for at in 0..bytes.len() {
            read(&bytes[..at]);
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                read(&damaged);
            }
        }
    }

    #[test]
    fn identities_stay_what_they_were() {
        let (a, b) = (String::from("A"), String::from("B"));
        let tables = [
            contract("A", 2, &[b]),
            contract("B", 1, core::slice::from_ref(&a)),
            contract("C", 1, &[a, "D".into()]),
            contract("D", 1, &[]),
        ];
        let hex = |hash: &Hash| {
            hash[..4]
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
        };
        let all: Vec<String> = check(&tables).unwrap().iter().map(hex).collect();
        // Made by hand, as the head of `identity` says.
        assert_eq!(all, ["8bd9ee2a", "2d12b6e9", "ea54183d", "0d35ab56"]);
    }
}
