//! Reads the contract tables of an image in steps of bounded cost, so that a kernel can run others
//! in between.
//!
//! A table is read, then checked and hashed, each in a step: it has at most
//! [`limits::ONE_CONTRACT_BYTES`] in the file. Small tables share a step. [`Reader::room`] bounds
//! the memory of the next step.

use super::identity::Identities;
use super::{ContractTable, Hash};
use crate::limits;
use crate::{Error, Failure};
use alloc::format;
use alloc::vec::Vec;

/// The most bytes of memory for a byte of a table: a word of a message is one byte in a file. A
/// list that grows while it is read exists twice for a moment.
pub const ROOM: u64 = 128;
/// The most bytes of tables that one step reads or checks, not counting its last table.
const STEP: usize = 16 << 10;

/// Reads contract tables.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Number of tables.
    count: usize,
    tables: Vec<ContractTable>,
    /// Bytes of each table in the file.
    sizes: Vec<u32>,
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
            sizes: Vec::new(),
            identities: None,
            phase: Phase::Count,
            done: 0,
        }
    }

    /// Returns the most bytes of memory that the next step takes.
    #[must_use]
    pub fn room(&self) -> u64 {
        match self.phase {
            Phase::Count => {
                let count = postcard::take_from_bytes::<u64>(self.rest).map_or(0, |(n, _)| n);
                count.min(limits::CONTRACTS.most) * 2 * size_of::<ContractTable>() as u64
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
                let name = |place: u32| tables[place as usize].name.as_str();
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
        let identities = self.identities.map(Identities::finish);
        (self.tables, identities.unwrap_or_default())
    }

    fn begin(&mut self) -> Result<(), Failure> {
        limits::CONTRACT_BYTES.check(self.rest.len() as u64)?;
        let (count, rest) = postcard::take_from_bytes::<u64>(self.rest).map_err(|_| broken())?;
        limits::CONTRACTS.check(count)?;
        self.count = count as usize;
        self.tables.try_reserve_exact(self.count)?;
        self.sizes.try_reserve_exact(self.count)?;
        self.identities = Some(Identities::of(self.count)?);
        self.rest = rest;
        Ok(())
    }

    fn read(&mut self) -> Result<bool, Failure> {
        let end = self.rest.len().saturating_sub(STEP);
        while self.tables.len() < self.count {
            let most = limits::ONE_CONTRACT_BYTES.most as usize;
            let window = &self.rest[..self.rest.len().min(most)];
            let (table, tail) = postcard::take_from_bytes(window).map_err(|_| {
                if window.len() < most {
                    broken()
                } else {
                    let text = "image: a contract's table does not decode, or is too long";
                    Error::new(text)
                }
            })?;
            let size = window.len() - tail.len();
            self.rest = &self.rest[size..];
            self.tables.push(table);
            self.sizes.push(size as u32);
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
            && let Some(table) = self.tables.get(self.done)
        {
            table.check()?;
            let identities = self.identities.as_mut().ok_or_else(broken)?;
            identities.say(table.own()?);
            bytes = bytes.saturating_sub(self.sizes[self.done] as usize);
            self.done += 1;
        }
        Ok(self.done == self.count)
    }

    /// Handles some tables; returns whether all are done.
    fn each(
        &mut self,
        mut f: impl FnMut(&ContractTable, &[ContractTable], &mut Identities) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Reader { tables, sizes, .. } = self;
        let identities = self.identities.as_mut().ok_or_else(broken)?;
        let mut bytes = STEP;
        while bytes > 0
            && let Some(table) = tables.get(self.done)
        {
            f(table, tables, identities)?;
            bytes = bytes.saturating_sub(sizes[self.done] as usize);
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
    tables: &[ContractTable],
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
            let looked_at = reader.sizes.get(before.1..reader.done).filter(|_| same);
            let looked_at: u32 = looked_at.map_or(0, |sizes| sizes.iter().sum());
            most = most
                .max(before.0 - reader.rest.len())
                .max(looked_at as usize);
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
