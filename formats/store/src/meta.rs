//! The records: those of the last commit, which the database holds, and the changes since, which
//! memory holds.
//!
//! Changes are seen at once. They reach the database all together in [`Meta::commit`], so the
//! database is used by nobody but readers between two commits, and a commit that fails loses
//! nothing: the database is opened again and the changes are still there. Each change says
//! absolutely what a record is, so it does no harm if a commit that seemed to fail has succeeded.
//!
//! An operation that fails is taken back to where it began: [`Meta::begin`], [`Meta::undo`].

use crate::disk::Disk;
use crate::error::Error;
use crate::recent::Versions;
use crate::records::tag;
use crate::region::Region;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::{Bound, RangeBounds};
use redb::{
    Builder, Database, ReadOnlyTable, ReadableDatabase, ReadableTable, StorageBackend as _,
    StorageError, TableDefinition,
};

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

/// The first bytes of a database.
const MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";
/// How it divides itself: no pages for the head of a region, and 2^20 for its data.
const REGIONS: [u8; 8] = [0, 0, 0, 0, 0, 0, 0x10, 0];

type Committed = ReadOnlyTable<&'static [u8], &'static [u8]>;
/// A key and its value.
pub type Record = (Vec<u8>, Vec<u8>);
/// A record's new value; None: it is removed.
type Change = Option<Vec<u8>>;

/// The records of a store.
pub struct Meta<D: Disk> {
    region: Region<D>,
    cache: usize,
    database: Option<Database>,
    committed: Option<Committed>,
    changes: BTreeMap<Vec<u8>, Change>,
    /// What the changes of the current operation have replaced.
    undo: Vec<(Vec<u8>, Option<Change>)>,
    versions: Versions,
}

impl<D: Disk> Meta<D> {
    /// Opens the database of a region, or makes it if the region is empty. `verify` reads all of
    /// it and compares its checksums.
    pub fn open(region: Region<D>, cache: usize, verify: bool) -> Result<Self, Error> {
        let mut meta = Meta {
            region,
            cache,
            database: None,
            committed: None,
            changes: BTreeMap::new(),
            undo: Vec::new(),
            versions: Versions::default(),
        };
        meta.open_database(verify)?;
        Ok(meta)
    }

    fn open_database(&mut self, verify: bool) -> Result<(), Error> {
        self.region.take_fault();
        self.check_regions()?;
        let database = Builder::new()
            .set_cache_size(self.cache)
            .set_check_integrity_on_open(verify)
            .create_with_backend(self.region.clone())
            .map_err(|_| self.failed("its metadata cannot be opened"))?;
        self.database = Some(database);
        Ok(())
    }

    /// That the database is divided as it divides itself. No checksum guards these numbers, and it
    /// takes the places of pages that it computes by them to be within the regions: with others it
    /// would panic.
    fn check_regions(&mut self) -> Result<(), Error> {
        let mut head = [0; 24];
        let has_begun = self
            .region
            .len()
            .is_ok_and(|bytes| bytes >= head.len() as u64);
        if !has_begun {
            return Ok(());
        }
        if self.region.read(0, &mut head).is_err() {
            return Err(self.failed("its metadata cannot be read"));
        }
        match head[16..] == REGIONS || head[..9] != MAGIC {
            // What is no database it finds out itself.
            true => Ok(()),
            false => Err(self.failed("its metadata is divided as none is")),
        }
    }

    /// Forgets the database after a failure: the next use opens it again.
    fn failed(&mut self, what: &'static str) -> Error {
        self.committed = None;
        self.database = None;
        self.region.take_fault().unwrap_or(Error::Corrupt(what))
    }

    fn database(&mut self) -> Result<&mut Database, Error> {
        if self.database.is_none() {
            self.open_database(false)?;
        }
        self.database
            .as_mut()
            .ok_or(Error::Corrupt("its metadata is not open"))
    }

    fn prepare(&mut self) -> Result<(), Error> {
        if self.committed.is_some() {
            return Ok(());
        }
        let table = self
            .database()?
            .begin_read()
            .map(|read| read.open_table(RECORDS));
        match table {
            Ok(Ok(table)) => self.committed = Some(table),
            // Before the first commit, there is no table.
            Ok(Err(redb::TableError::TableDoesNotExist(_))) => {}
            _ => return Err(self.failed("its table of records cannot be opened")),
        }
        Ok(())
    }

    fn look<R>(
        &mut self,
        work: impl FnOnce(&Committed) -> Result<Option<R>, StorageError>,
    ) -> Result<Option<R>, Error> {
        self.prepare()?;
        match self.committed.as_ref().map(work) {
            None => Ok(None),
            Some(Ok(found)) => Ok(found),
            Some(Err(_)) => Err(self.failed("a page of its metadata cannot be read")),
        }
    }

    /// The value of a record.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if let Some(change) = self.changes.get(key) {
            return Ok(change.clone());
        }
        self.look(|table| Ok(table.get(key)?.map(|value| value.value().to_vec())))
    }

    /// The first record from `from` on (or after it), before `end`.
    pub fn next(&mut self, from: Bound<&[u8]>, end: &[u8]) -> Result<Option<Record>, Error> {
        let mut from = own(from);
        loop {
            let bound = as_bound(&from);
            if matches!(bound, Bound::Included(key) | Bound::Excluded(key) if key >= end) {
                return Ok(None);
            }
            let to = Bound::Excluded(end);
            let change = self.changes.range::<[u8], _>((bound, to)).next();
            let change = change.map(|(key, value)| (key.clone(), value.clone()));
            let stored = self.look(|table| first(table.range((bound, to))?.next()))?;
            self.within(&stored, (bound, to))?;
            from = match merge(change, stored, |a, b| a < b) {
                Merged::None => return Ok(None),
                Merged::Record(record) => return Ok(Some(record)),
                Merged::Removed(key) => Bound::Excluded(key),
            };
        }
    }

    /// The last record up to `to` (or before it), from `begin` on.
    pub fn last(&mut self, begin: &[u8], to: Bound<&[u8]>) -> Result<Option<Record>, Error> {
        let mut to = own(to);
        loop {
            let bound = as_bound(&to);
            let empty = match bound {
                Bound::Included(key) => key < begin,
                Bound::Excluded(key) => key <= begin,
                Bound::Unbounded => false,
            };
            if empty {
                return Ok(None);
            }
            let from = Bound::Included(begin);
            let change = self.changes.range::<[u8], _>((from, bound)).next_back();
            let change = change.map(|(key, value)| (key.clone(), value.clone()));
            let stored = self.look(|table| first(table.range((from, bound))?.next_back()))?;
            self.within(&stored, (from, bound))?;
            to = match merge(change, stored, |a, b| a > b) {
                Merged::None => return Ok(None),
                Merged::Record(record) => return Ok(Some(record)),
                Merged::Removed(key) => Bound::Excluded(key),
            };
        }
    }

    /// That a stored record lies where it was looked for. In pages that somebody has made up, keys
    /// may lie in any order: whoever goes from one to the next would never come to an end.
    fn within(
        &mut self,
        stored: &Option<Record>,
        range: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<(), Error> {
        match stored {
            Some((key, _)) if !range.contains(key.as_slice()) => {
                Err(self.failed("its records are in no order"))
            }
            _ => Ok(()),
        }
    }

    /// Sets a record.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.change(key, Some(value.to_vec()));
    }

    /// Removes a record.
    pub fn remove(&mut self, key: &[u8]) {
        self.change(key, None);
    }

    fn change(&mut self, key: &[u8], value: Change) {
        self.note(key);
        let before = self.changes.insert(key.to_vec(), value);
        self.undo.push((key.to_vec(), before));
    }

    /// Counts a change.
    fn note(&mut self, key: &[u8]) {
        match key.first() {
            Some(&tag::NODE) => self.versions.nodes += 1,
            Some(&tag::ENTRY) => self.versions.names += 1,
            Some(&tag::EXTENT) => self.versions.extents += 1,
            _ => {}
        }
    }

    /// How often records of these kinds have changed.
    pub const fn versions(&self) -> Versions {
        self.versions
    }

    /// Whether a record has changed since the last commit.
    pub fn has_changed(&self, key: &[u8]) -> bool {
        self.changes.contains_key(key)
    }

    /// An operation begins.
    pub fn begin(&mut self) {
        self.undo.clear();
    }

    /// The operation has failed: takes its changes back.
    pub fn undo(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            self.note(&key);
            match before {
                Some(before) => self.changes.insert(key, before),
                None => self.changes.remove(&key),
            };
        }
    }

    /// How many records have changed since the last commit.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Writes the changes to the database and makes them safe, with all that was written to the
    /// disk before.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.undo.clear();
        // A reader would keep the pages that the commit replaces from being used again.
        self.committed = None;
        self.region.take_fault();
        self.database()?;
        let done = self
            .database
            .as_ref()
            .map(|database| write(database, &self.changes));
        if done.is_none_or(|done| done.is_err()) {
            return Err(self.failed("its metadata cannot be written"));
        }
        self.changes.clear();
        Ok(())
    }

    /// How many pages the database uses, or has used until the last commit. Looks at all of them.
    pub fn pages(&mut self) -> Result<u64, Error> {
        let stats = self.database()?.try_begin_write().map(|transaction| {
            let stats = transaction.stats();
            transaction.abort().and(stats)
        });
        match stats {
            Ok(Ok(stats)) => Ok(stats.allocated_pages()),
            _ => Err(self.failed("its metadata cannot be read")),
        }
    }

    /// Moves the database's pages to its front and gives the rest back. Only between commits.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.committed = None;
        match self.database()?.compact() {
            Ok(_) => Ok(()),
            Err(_) => Err(self.failed("its metadata cannot be compacted")),
        }
    }

    /// Compares the checksums of everything committed; whether they are right.
    pub fn verify(&mut self) -> Result<bool, Error> {
        self.committed = None;
        let sound = self.database()?.check_integrity();
        match sound {
            Ok(sound) => Ok(sound),
            Err(_) => match self.failed("its metadata is damaged") {
                Error::Corrupt(_) => Ok(false),
                error => Err(error),
            },
        }
    }

    /// Closes the database and gives its region back.
    pub fn close(mut self) -> Region<D> {
        self.committed = None;
        self.database = None;
        self.region.clone()
    }
}

fn write(database: &Database, changes: &BTreeMap<Vec<u8>, Change>) -> Result<(), redb::Error> {
    let mut transaction = database.try_begin_write()?;
    // With quick-repair, a commit has two phases, and a mount after a power cut need not read
    // everything.
    transaction.set_two_phase_commit(true);
    transaction.set_quick_repair(true);
    {
        let mut table = transaction.open_table(RECORDS)?;
        for (key, value) in changes {
            match value {
                Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                None => drop(table.remove(key.as_slice())?),
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

type Found<'a> = Option<
    Result<
        (
            redb::AccessGuard<'a, &'static [u8]>,
            redb::AccessGuard<'a, &'static [u8]>,
        ),
        StorageError,
    >,
>;

fn first(found: Found<'_>) -> Result<Option<Record>, StorageError> {
    let record = found.transpose()?;
    Ok(record.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
}

enum Merged {
    None,
    Record(Record),
    /// The nearest record has been removed.
    Removed(Vec<u8>),
}

/// The nearer one of a change and a stored record; the change, if they are of the same key.
fn merge(
    change: Option<(Vec<u8>, Change)>,
    stored: Option<Record>,
    nearer: impl Fn(&[u8], &[u8]) -> bool,
) -> Merged {
    match (change, stored) {
        (None, None) => Merged::None,
        (Some((key, _)), Some(stored)) if nearer(&stored.0, &key) => Merged::Record(stored),
        (None, Some(stored)) => Merged::Record(stored),
        (Some((key, Some(value))), _) => Merged::Record((key, value)),
        (Some((key, None)), _) => Merged::Removed(key),
    }
}

fn own(bound: Bound<&[u8]>) -> Bound<Vec<u8>> {
    bound.map(<[u8]>::to_vec)
}

fn as_bound(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
