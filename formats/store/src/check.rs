//! Looking through everything for contradictions.
//!
//! Memory is bounded: what must be counted over all records (the blocks of the disk, the names of
//! the nodes) is counted for a part of the disk or of the nodes at a time, and the records are read
//! once for each part.

use crate::bits::{self, Bits, NONE};
use crate::disk::Disk;
use crate::error::Error;
use crate::records::{EntryValue, Extent, GROUP, Node, decode_bitmap, entry_key, key, key2};
use crate::records::{LAST_COOKIE, VOLUME_KEY, number, second, tag};
use crate::store::Store;
use crate::types::*;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;

/// Groups whose blocks are counted at a time: 32 GiB of the disk, 1 MiB of memory.
const GROUPS_AT_A_TIME: u64 = 4096;
/// Nodes whose names are counted at a time.
const NODES_AT_A_TIME: usize = 32_768;
/// Directories are followed up so far.
const DEEPEST: usize = 65_536;

impl Report {
    fn say(&mut self, most: usize, text: impl FnOnce() -> String) {
        self.problems += 1;
        if self.texts.len() < most {
            self.texts.push(text());
        }
    }

    /// A record that cannot be read is a problem, a disk that fails is the end of the check.
    fn catch<T>(&mut self, most: usize, found: Result<T, Error>) -> Result<Option<T>, Error> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Error::Disk(fault)) => Err(Error::Disk(fault)),
            Err(error) => {
                self.say(most, || format!("{error}"));
                Ok(None)
            }
        }
    }
}

impl<D: Disk> Store<D> {
    /// Looks through the whole file system for contradictions; names at most `most` of them. To be
    /// called between requests: with requests in flight it is [`Error::Busy`]. Syncs first.
    pub fn check(&mut self, most: usize) -> Result<Report, Error> {
        if self.space.in_flight() > 0 {
            return Err(Error::Busy);
        }
        self.sync()?;
        let mut report = Report::default();
        if !self.meta.verify()? {
            report.say(most, || "the checksums of its metadata are wrong".into());
            return Ok(report);
        }
        self.check_keys(most, &mut report)?;
        let mut at = Some(0);
        while let Some(from) = at {
            at = self.check_nodes(from, most, &mut report)?;
        }
        if report.nodes != self.state.nodes {
            let (found, told) = (report.nodes, self.state.nodes);
            report.say(most, || {
                format!("there are {found} nodes, but it counts {told}")
            });
        }
        self.check_entries(most, &mut report)?;
        self.check_extents(most, &mut report)?;
        let mut used = 0;
        let groups = self.layout.blocks.div_ceil(GROUP);
        for from in (0..groups).step_by(GROUPS_AT_A_TIME as usize) {
            used += self.check_blocks(from, from + GROUPS_AT_A_TIME, most, &mut report)?;
        }
        if used != self.state.used {
            let told = self.state.used;
            report.say(most, || {
                format!("files have {used} blocks, but it counts {told}")
            });
        }
        Ok(report)
    }

    /// Calls `work` with each record of a tag.
    fn each(
        &mut self,
        tag: u8,
        work: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.each_between(&[tag], &[tag + 1], work)
    }

    /// Calls `work` with each record from a key on, before another. Goes on from the key as it is: whatever
    /// is wrong with one, the next one is behind it.
    fn each_between(
        &mut self,
        begin: &[u8],
        end: &[u8],
        mut work: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut from = Bound::Included(begin.to_vec());
        while let Some((key, value)) = self.meta.next(from.as_ref().map(Vec::as_slice), end)? {
            work(self, &key, &value)?;
            from = Bound::Excluded(key);
        }
        Ok(())
    }

    /// All records are of a known kind, and their keys are of the right length.
    fn check_keys(&mut self, most: usize, report: &mut Report) -> Result<(), Error> {
        let known = [
            (tag::COOKIE, 17..=17),
            (tag::ENTRY, 10..=9 + LONGEST_NAME),
            (tag::EXTENT, 17..=17),
            (tag::NODE, 9..=9),
            (tag::SPACE, 9..=9),
            (tag::TARGET, 9..=9),
            (tag::VOLUME, VOLUME_KEY.len()..=VOLUME_KEY.len()),
            (tag::TIDY, 9..=9),
        ];
        let mut from = Bound::Included(Vec::new());
        while let Some((key, _)) = self
            .meta
            .next(from.as_ref().map(Vec::as_slice), &[u8::MAX; 1])?
        {
            let tag = key.first().copied().unwrap_or(0);
            let fits = known
                .iter()
                .any(|(t, length)| *t == tag && length.contains(&key.len()));
            if !fits {
                report.say(most, || {
                    format!("there is a record of an unknown kind {tag}")
                });
            }
            from = Bound::Excluded(key);
        }
        Ok(())
    }

    /// The nodes from a number on: their names are counted. Returns where to go on.
    fn check_nodes(
        &mut self,
        from: u64,
        most: usize,
        report: &mut Report,
    ) -> Result<Option<u64>, Error> {
        let mut names: BTreeMap<u64, (Node, u64, u64)> = BTreeMap::new();
        let end = [tag::NODE + 1];
        let mut at = key(tag::NODE, from).to_vec();
        let mut inclusive = true;
        let mut more = None;
        loop {
            let bound = if inclusive {
                Bound::Included(at.as_slice())
            } else {
                Bound::Excluded(at.as_slice())
            };
            let Some((found, value)) = self.meta.next(bound, &end)? else {
                break;
            };
            at.clone_from(&found);
            inclusive = false;
            // A key that is no node's has been named by the check of keys.
            let Ok(NodeId(id)) = Self::node_of(&found) else {
                continue;
            };
            if names.len() >= NODES_AT_A_TIME {
                more = Some(id);
                break;
            }
            report.nodes += 1;
            if id >= self.state.next {
                report.say(most, || {
                    format!("the number of node {id} is yet to be given")
                });
            }
            let node = report.catch(most, Node::decode(&value))?;
            if let Some(node) = node {
                names.insert(id, (node, 0, 0));
            }
        }
        self.each(tag::ENTRY, |_, key, value| {
            let directory = number(key).unwrap_or(0);
            if let Some((_, _, entries)) = names.get_mut(&directory) {
                *entries += 1;
            }
            if let Ok(entry) = EntryValue::decode(value)
                && let Some((node, count, _)) = names.get_mut(&entry.node.0)
            {
                *count += 1;
                if node.kind == Kind::Directory && node.parent != directory {
                    let id = entry.node.0;
                    report.say(most, || {
                        format!("directory {id} does not lie where it says")
                    });
                }
            }
            Ok(())
        })?;
        for (id, (node, count, entries)) in names {
            let root = u64::from(id == ROOT.0);
            if count + root != u64::from(node.links) {
                let links = node.links;
                report.say(most, || {
                    format!("node {id} has {count} names, but counts {links}")
                });
            }
            if node.kind == Kind::Directory {
                self.check_directory(id, &node, entries, most, report)?;
            } else if entries > 0 {
                report.say(most, || {
                    format!("node {id} is no directory, but has entries")
                });
            }
            if node.kind == Kind::Link {
                let target = self.meta.get(&key(tag::TARGET, id))?;
                let fits = |target: Vec<u8>| {
                    let text = core::str::from_utf8(&target).ok();
                    text.is_some_and(|text| {
                        valid_target(text).is_ok() && text.len() as u64 == node.size
                    })
                };
                if !target.is_some_and(fits) {
                    report.say(most, || {
                        format!("symbolic link {id} has not the target it should")
                    });
                }
            }
            if node.links == 0 && self.meta.get(&key(tag::TIDY, id))?.is_none() {
                report.say(most, || {
                    format!("node {id} has no name, but is not given back")
                });
            }
        }
        Ok(more)
    }

    fn check_directory(
        &mut self,
        id: u64,
        node: &Node,
        entries: u64,
        most: usize,
        report: &mut Report,
    ) -> Result<(), Error> {
        if entries != node.size {
            let told = node.size;
            report.say(most, || {
                format!("directory {id} has {entries} entries, but counts {told}")
            });
        }
        if node.links > 1 {
            report.say(most, || format!("directory {id} has several names"));
        }
        let last = self.meta.last(
            &key2(tag::COOKIE, id, 0),
            Bound::Excluded(&key2(tag::COOKIE, id, u64::MAX)),
        )?;
        let last = last.and_then(|(key, _)| second(&key)).unwrap_or(0);
        if last > node.cookie || node.cookie > LAST_COOKIE {
            report.say(most, || {
                format!("directory {id} has given other cookies than it says")
            });
        }
        let mut at = *node;
        for _ in 0..DEEPEST {
            if at.links == 0 || at.parent == ROOT.0 {
                return Ok(());
            }
            match report.catch(most, self.node(NodeId(at.parent)))? {
                Some(above) if above.kind == Kind::Directory => at = above,
                _ => break,
            }
        }
        report.say(most, || format!("directory {id} is not below the root"));
        Ok(())
    }

    /// Each entry has its two records and a node; nothing else is in their place.
    fn check_entries(&mut self, most: usize, report: &mut Report) -> Result<(), Error> {
        self.each(tag::ENTRY, |store, found, value| {
            let directory = NodeId(number(found).unwrap_or(0));
            let name = found
                .get(9..)
                .and_then(|name| core::str::from_utf8(name).ok());
            let name = name.filter(|name| valid_name(name).is_ok());
            let entry = report.catch(most, EntryValue::decode(value))?;
            let (Some(name), Some(entry)) = (name, entry) else {
                report.say(most, || {
                    format!("directory {} has an invalid name", directory.0)
                });
                return Ok(());
            };
            let by_cookie = store
                .meta
                .get(&key2(tag::COOKIE, directory.0, entry.cookie))?;
            if by_cookie.is_none_or(|value| value != entry.encode_named(name)) {
                let number = directory.0;
                report.say(most, || {
                    format!("entry {name:?} of directory {number} is not listed")
                });
            }
            let kind = store.meta.get(&key(tag::NODE, entry.node.0))?;
            let kind = kind
                .and_then(|value| Node::decode(&value).ok())
                .map(|node| node.kind);
            if kind != Some(entry.kind) {
                let number = directory.0;
                report.say(most, || {
                    format!("entry {name:?} of directory {number} names nothing of its kind")
                });
            }
            if report.catch(most, store.node(directory))?.is_none() {
                report.say(most, || format!("entry {name:?} is in no directory"));
            }
            Ok(())
        })?;
        self.each(tag::COOKIE, |store, found, value| {
            let directory = NodeId(number(found).unwrap_or(0));
            let cookie = second(found).unwrap_or(0);
            let listed = report.catch(most, EntryValue::decode_named(value, cookie))?;
            let Some((entry, name)) = listed else {
                return Ok(());
            };
            let by_name = store.meta.get(&entry_key(directory, &name))?;
            if by_name.is_none_or(|value| value != entry.encode()) {
                let number = directory.0;
                report.say(most, || {
                    format!("directory {number} lists {name:?}, which it lacks")
                });
            }
            Ok(())
        })?;
        for tag in [tag::TARGET, tag::TIDY] {
            self.each(tag, |store, found, _| {
                let id = number(found).unwrap_or(0);
                if report.catch(most, store.node(NodeId(id)))?.is_none() {
                    report.say(most, || {
                        format!("there is a record of node {id}, which is not")
                    });
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The extents of each file follow each other and are as many blocks as it counts.
    fn check_extents(&mut self, most: usize, report: &mut Report) -> Result<(), Error> {
        self.each(tag::NODE, |store, found, value| {
            let Ok(node) = Node::decode(value) else {
                return Ok(());
            };
            let id = number(found).unwrap_or(0);
            let begin = key2(tag::EXTENT, id, 0);
            let end = key2(tag::EXTENT, id, u64::MAX);
            let (mut last, mut blocks) = (0, 0);
            store.each_between(&begin, &end, |store, found, value| {
                // A key that is no extent's has been named by the check of keys.
                let Some(first) = second(found) else {
                    return Ok(());
                };
                let extent = report.catch(most, Extent::decode(first, value))?;
                let Some(extent) = extent else { return Ok(()) };
                if first < last {
                    report.say(most, || {
                        format!("extents of file {id} overlap at block {first}")
                    });
                }
                if !store.space.can_be_used(extent.start, extent.blocks) {
                    report.say(most, || {
                        format!("an extent of file {id} lies where no file's data can be")
                    });
                }
                last = extent.end();
                blocks += extent.blocks;
                Ok(())
            })?;
            if blocks != node.blocks {
                let told = node.blocks;
                report.say(most, || {
                    format!("file {id} has {blocks} blocks, but counts {told}")
                });
            }
            if blocks > 0 && node.kind != Kind::File {
                report.say(most, || format!("node {id} is no file, but has blocks"));
            }
            let beyond = last > node.size.div_ceil(BLOCK);
            if beyond && store.meta.get(&key(tag::TIDY, id))?.is_none() {
                report.say(most, || format!("file {id} has blocks beyond its end"));
            }
            Ok(())
        })
    }

    /// The blocks of some groups: each is one file's that has it by the bitmap, or nobody's.
    fn check_blocks(
        &mut self,
        from: u64,
        to: u64,
        most: usize,
        report: &mut Report,
    ) -> Result<u64, Error> {
        let mut seen = Bits::default();
        let window = (from * GROUP, to * GROUP);
        self.each(tag::EXTENT, |store, found, value| {
            let Ok(extent) = Extent::decode(second(found).unwrap_or(0), value) else {
                return Ok(());
            };
            let id = number(found).unwrap_or(0);
            if from == 0 && store.meta.get(&key(tag::NODE, id))?.is_none() {
                report.say(most, || {
                    format!("there are blocks of file {id}, which is not")
                });
            }
            if !store.layout.holds(extent.start, extent.blocks) {
                return Ok(());
            }
            let start = extent.start.max(window.0);
            let end = (extent.start + extent.blocks).min(window.1);
            if start < end {
                if seen.any(start, end - start) {
                    report.say(most, || {
                        let at = extent.first;
                        format!("a block of file {id} from block {at} on is another's, too")
                    });
                }
                seen.insert(start, end - start);
            }
            Ok(())
        })?;
        let used = seen.count();
        self.each(tag::SPACE, |store, found, value| {
            let group = number(found).unwrap_or(0);
            if from == 0 && group >= store.layout.blocks.div_ceil(GROUP) {
                report.say(most, || {
                    format!("there is a bitmap of group {group}, which is not")
                });
            }
            if !(from..to).contains(&group) {
                return Ok(());
            }
            let Some(stored) = report.catch(most, decode_bitmap(value))? else {
                return Ok(());
            };
            if &stored != seen.group(group).unwrap_or(&NONE) {
                let told = bits::count(&stored);
                let has = bits::count(seen.group(group).unwrap_or(&NONE));
                report.say(most, || {
                    format!("{told} blocks of group {group} are taken, but files have {has}")
                });
            }
            seen.remove(group * GROUP, GROUP);
            Ok(())
        })?;
        for (group, _) in seen.groups() {
            report.say(most, || {
                format!("files have blocks of group {group}, which are free")
            });
        }
        Ok(used)
    }
}
