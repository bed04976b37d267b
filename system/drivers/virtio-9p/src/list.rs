//! Directories, listed for the contract and for the name space.
//!
//! Invariant: what a server tells of names is looked at before it is passed on: only names that can
//! be parts of paths are, and of a listing that does not end, a bounded part is read.

use crate::recent::Window;
use crate::session::{ROOT, Session, Transport};
use crate::tree::kind;
use alloc::vec::Vec;
use core::time::Duration;
use sing_p9::{Entries, Entry, Qid, open};
use sing_sdk::contracts::{FileFault, FileKind, Refusal};
use sing_sdk::fs::pack;
use sing_sdk::path::LastLink;
use sing_sdk::walk;

/// Bytes of entries that the server is asked for at once.
const PIECE: u32 = 16 << 10;
/// Pieces without a single entry that can be shown, one after the other.
const EMPTY: usize = 256;
/// Pieces of one directory that the name space looks at: each has dozens of names at least.
const PIECES: usize = 1024;

/// An entry's name, if it can be one in a path: a text without control characters. Those of the
/// host that cannot are not shown.
pub fn shown<'a>(entry: &Entry<'a>) -> Option<&'a str> {
    if !sing_p9::is_name(entry.name) {
        return None;
    }
    let name = core::str::from_utf8(entry.name).ok()?;
    (!name.contains(char::is_control)).then_some(name)
}

impl<T: Transport> Session<T> {
    /// A fid of a directory, open to be listed.
    pub fn open_to_list(&mut self, directory: u32) -> Result<u32, FileFault> {
        let (fid, _) = self.walk(directory, &[])?;
        let fid = fid.ok_or(FileFault::Medium)?;
        match self.open(fid, open::READ | open::DIRECTORY) {
            Ok(()) => Ok(fid),
            Err(refused) => {
                self.clunk(fid);
                Err(refused.into())
            }
        }
    }

    /// Packs entries of a directory, which is open to be listed, from a place on, as many as there
    /// is room for; none at the end.
    pub fn pack_entries(
        &mut self,
        fid: u32,
        mut from: u64,
        room: usize,
    ) -> Result<Vec<u8>, FileFault> {
        for _ in 0..EMPTY {
            let bytes = self.list(fid, from, PIECE)?;
            if bytes.is_empty() {
                return Ok(Vec::new());
            }
            let mut packed = Vec::new();
            packed
                .try_reserve_exact(room)
                .map_err(|_| FileFault::NoResources)?;
            for entry in Entries::of(bytes) {
                let entry = entry.map_err(|_| FileFault::Medium)?;
                from = entry.next;
                let Some(name) = shown(&entry) else { continue };
                let kind = kind(&entry.qid);
                if !pack(&mut packed, room, entry.next, entry.qid.path, kind, name) {
                    if packed.is_empty() {
                        return Err(FileFault::BadRequest);
                    }
                    return Ok(packed);
                }
            }
            if !packed.is_empty() {
                return Ok(packed);
            }
        }
        Err(FileFault::Medium)
    }

    /// Does something with the directory at a path of the name space.
    fn in_directory<V>(
        &mut self,
        at: &str,
        work: impl FnOnce(&mut Self, u32) -> Result<V, FileFault>,
    ) -> Result<V, Refusal> {
        let path = at.strip_prefix('/').unwrap_or(at);
        let found = self.with_place(ROOT, path, LastLink::Followed, |s, place| {
            let (fid, qid) = place.existing()?;
            if !qid.is_directory() {
                return Err(FileFault::NotDirectory);
            }
            work(s, fid)
        });
        found.map_err(|fault| match fault {
            FileFault::NotDirectory => Refusal::NotADirectory,
            FileFault::NoResources | FileFault::TooLarge => Refusal::NoResources,
            FileFault::Loop => Refusal::Loop,
            _ => Refusal::NotFound,
        })
    }

    /// Names below a directory, as the name space lists them: in the order of their bytes, those
    /// after `after`, and at most so many. `now`: by any clock that goes on.
    pub fn names(
        &mut self,
        at: &str,
        after: Option<&str>,
        most: usize,
        now: Duration,
    ) -> Result<Vec<walk::Entry>, Refusal> {
        self.in_directory(at, |s, directory| {
            let found = match s.recent.find(at, after, most, now) {
                Some(found) => found,
                None => {
                    let fid = s.open_to_list(directory)?;
                    let read = s.window(fid, Window::new(at, after, now));
                    s.clunk(fid);
                    let window = read?;
                    let Some(found) = window.behind(after, most) else {
                        return Err(FileFault::TooLarge);
                    };
                    s.recent.keep(window);
                    found
                }
            };
            let mut all = Vec::new();
            for (name, qid) in found {
                all.push(s.entry_of(directory, &name, &qid));
            }
            Ok(all)
        })
    }

    /// Fills a window with the names of a directory that is open to be listed.
    fn window(&mut self, fid: u32, mut window: Window) -> Result<Window, FileFault> {
        let mut from = 0;
        for _ in 0..PIECES {
            let bytes = self.list(fid, from, PIECE)?;
            if bytes.is_empty() {
                return Ok(window);
            }
            for entry in Entries::of(bytes) {
                let entry = entry.map_err(|_| FileFault::Medium)?;
                from = entry.next;
                if let Some(name) = shown(&entry) {
                    window.add(name, entry.qid);
                }
            }
        }
        // More than is looked at for one question.
        Err(FileFault::TooLarge)
    }

    /// As the name space has it.
    fn entry_of(&mut self, directory: u32, name: &str, qid: &Qid) -> walk::Entry {
        match kind(qid) {
            FileKind::Directory => walk::Entry::directory(name),
            FileKind::File => walk::Entry::service(name, "FileContract"),
            FileKind::Link => {
                let target = self.read_link_at(directory, name);
                walk::Entry::link(name, &target.unwrap_or_default())
            }
        }
    }

    /// One name below a directory. What is neither file, directory nor link is of no known contract:
    /// it cannot be opened. (Lists do not ask for each name's attributes.)
    pub fn name(&mut self, at: &str, name: &str) -> Result<Option<walk::Entry>, Refusal> {
        self.in_directory(at, |s, directory| {
            let found = s.with_place(directory, name, LastLink::Itself, |s, place| {
                let (fid, qid) = place.existing()?;
                let special = kind(&qid) == FileKind::File && !s.is_plain(fid)?;
                Ok((qid, special))
            });
            match found {
                Ok((_, true)) => Ok(Some(walk::Entry::service(name, ""))),
                Ok((qid, false)) => Ok(Some(s.entry_of(directory, name, &qid))),
                Err(FileFault::NotFound | FileFault::BadName) => Ok(None),
                Err(fault) => Err(fault),
            }
        })
    }
}
