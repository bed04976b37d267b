//! Operations on names: directories, links, attributes.

use crate::disk::Disk;
use crate::error::Error;
use crate::records::{EntryValue, LAST_COOKIE, Node, entry_key, key, key2, number, second, tag};
use crate::store::Store;
use crate::types::*;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;

/// Directories deeper than this are not moved below others: whether that makes a loop would take
/// too long to find out.
const DEEPEST: usize = 4096;
/// The most entries of one listing.
const MOST_ENTRIES: usize = 4096;
/// Records that an operation on names adds at most: rename replaces two nodes, two directories,
/// four records of entries and one of what is to be tidied.
const GROWTH: usize = 10;

impl<D: Disk> Store<D> {
    /// The node of this name in a directory.
    pub fn lookup(&mut self, directory: NodeId, name: &str) -> Result<Entry, Error> {
        valid_name(name)?;
        self.directory(directory)?;
        let found = self.entry(directory, name)?.ok_or(Error::NotFound)?;
        Ok(Entry {
            name: name.into(),
            node: found.node,
            kind: found.kind,
            cookie: found.cookie,
        })
    }

    /// What is known of a node.
    pub fn attributes(&mut self, node: NodeId) -> Result<Attributes, Error> {
        let found = self.node(node)?;
        Ok(Attributes {
            id: node,
            kind: found.kind,
            links: found.links,
            size: found.size,
            allocated: found.blocks * BLOCK,
            accessed: found.accessed,
            modified: found.modified,
            changed: found.changed,
            created: found.created,
        })
    }

    /// The directory in which a directory lies. The root lies in itself.
    pub fn parent(&mut self, directory: NodeId) -> Result<NodeId, Error> {
        Ok(NodeId(self.directory(directory)?.parent))
    }

    /// Makes an empty file.
    pub fn create(&mut self, directory: NodeId, name: &str, now: u64) -> Result<NodeId, Error> {
        self.make(directory, name, Kind::File, None, now)
    }

    /// Makes a directory.
    pub fn make_directory(
        &mut self,
        directory: NodeId,
        name: &str,
        now: u64,
    ) -> Result<NodeId, Error> {
        self.make(directory, name, Kind::Directory, None, now)
    }

    /// Makes a symbolic link; `target` is 1 to [`LONGEST_TARGET`] bytes without NUL.
    pub fn make_link(
        &mut self,
        directory: NodeId,
        name: &str,
        target: &str,
        now: u64,
    ) -> Result<NodeId, Error> {
        valid_target(target)?;
        self.make(directory, name, Kind::Link, Some(target), now)
    }

    fn make(
        &mut self,
        directory: NodeId,
        name: &str,
        kind: Kind,
        target: Option<&str>,
        now: u64,
    ) -> Result<NodeId, Error> {
        valid_name(name)?;
        self.change(GROWTH, |store| {
            let mut parent = store.directory(directory)?;
            if store.entry(directory, name)?.is_some() {
                return Err(Error::Exists);
            }
            let id = NodeId(store.state.next);
            store.state.next += 1;
            store.state.nodes += 1;
            let mut node = Node::new(kind, directory, now);
            if let Some(target) = target {
                node.size = target.len() as u64;
                store.meta.put(&key(tag::TARGET, id.0), target.as_bytes());
            }
            store.put_node(id, &node);
            store.add(directory, &mut parent, name, id, kind, now)?;
            store.put_node(directory, &parent);
            Ok(id)
        })
    }

    /// The target of a symbolic link.
    pub fn read_link(&mut self, link: NodeId) -> Result<String, Error> {
        if self.node(link)?.kind != Kind::Link {
            return Err(Error::Invalid);
        }
        let wrong = Error::Corrupt("a symbolic link has no target");
        let target = self.meta.get(&key(tag::TARGET, link.0))?.ok_or(wrong)?;
        let target = String::from_utf8(target).map_err(|_| wrong)?;
        // Readers of the target rely on its length and its bytes.
        let fits = valid_target(&target);
        fits.map_err(|_| Error::Corrupt("a symbolic link has a target that none can have"))?;
        Ok(target)
    }

    /// Gives a file or symbolic link a further name.
    pub fn link(
        &mut self,
        node: NodeId,
        directory: NodeId,
        name: &str,
        now: u64,
    ) -> Result<(), Error> {
        valid_name(name)?;
        self.change(GROWTH, |store| {
            let mut parent = store.directory(directory)?;
            let mut found = store.node(node)?;
            if found.kind == Kind::Directory {
                return Err(Error::IsDirectory);
            }
            if found.links == 0 {
                return Err(Error::NotFound);
            }
            if found.links >= MOST_LINKS {
                return Err(Error::TooManyLinks);
            }
            if store.entry(directory, name)?.is_some() {
                return Err(Error::Exists);
            }
            found.links += 1;
            found.changed = now;
            store.put_node(node, &found);
            store.add(directory, &mut parent, name, node, found.kind, now)?;
            store.put_node(directory, &parent);
            Ok(())
        })
    }

    /// Removes a name of a file or symbolic link. Without a name, a node lives until nobody holds
    /// it; its blocks come back by [`tidy`](Store::tidy).
    pub fn unlink(&mut self, directory: NodeId, name: &str, now: u64) -> Result<(), Error> {
        valid_name(name)?;
        self.change(0, |store| {
            let mut parent = store.directory(directory)?;
            let entry = store.entry(directory, name)?.ok_or(Error::NotFound)?;
            if entry.kind == Kind::Directory {
                return Err(Error::IsDirectory);
            }
            store.drop_entry(directory, &mut parent, name, entry, now)?;
            store.drop_link(entry.node, now)?;
            store.put_node(directory, &parent);
            Ok(())
        })
    }

    /// Removes an empty directory.
    pub fn remove_directory(
        &mut self,
        directory: NodeId,
        name: &str,
        now: u64,
    ) -> Result<(), Error> {
        valid_name(name)?;
        self.change(0, |store| {
            let mut parent = store.directory(directory)?;
            let entry = store.entry(directory, name)?.ok_or(Error::NotFound)?;
            if entry.kind != Kind::Directory {
                return Err(Error::NotDirectory);
            }
            if store.directory(entry.node)?.size != 0 {
                return Err(Error::NotEmpty);
            }
            store.drop_entry(directory, &mut parent, name, entry, now)?;
            store.drop_link(entry.node, now)?;
            store.put_node(directory, &parent);
            Ok(())
        })
    }

    /// Moves a name, as POSIX's rename does: what had the new name is replaced, if it is of the
    /// same kind (and empty, if it is a directory); two names of one node stay as they are.
    pub fn rename(
        &mut self,
        from: (NodeId, &str),
        to: (NodeId, &str),
        now: u64,
    ) -> Result<(), Error> {
        valid_name(from.1)?;
        valid_name(to.1)?;
        self.change(GROWTH, |store| store.move_name(from, to, now))
    }

    fn move_name(
        &mut self,
        from: (NodeId, &str),
        to: (NodeId, &str),
        now: u64,
    ) -> Result<(), Error> {
        let mut source = self.directory(from.0)?;
        self.directory(to.0)?;
        let entry = self.entry(from.0, from.1)?.ok_or(Error::NotFound)?;
        let replaced = self.entry(to.0, to.1)?;
        let is_directory = entry.kind == Kind::Directory;
        if is_directory && from.0 != to.0 {
            self.refuse_loop(entry.node, to.0)?;
        }
        if let Some(old) = replaced {
            if old.node == entry.node {
                return Ok(());
            }
            match (is_directory, old.kind == Kind::Directory) {
                (true, false) => return Err(Error::NotDirectory),
                (false, true) => return Err(Error::IsDirectory),
                (true, true) if self.directory(old.node)?.size != 0 => {
                    return Err(Error::NotEmpty);
                }
                _ => {}
            }
        }
        self.drop_entry(from.0, &mut source, from.1, entry, now)?;
        self.put_node(from.0, &source);
        let mut target = self.directory(to.0)?;
        if let Some(old) = replaced {
            self.drop_entry(to.0, &mut target, to.1, old, now)?;
            self.drop_link(old.node, now)?;
        }
        self.add(to.0, &mut target, to.1, entry.node, entry.kind, now)?;
        self.put_node(to.0, &target);
        let mut moved = self.node(entry.node)?;
        moved.changed = now;
        if is_directory {
            moved.parent = to.0.0;
        }
        self.put_node(entry.node, &moved);
        Ok(())
    }

    /// A directory must not be moved to itself or below.
    fn refuse_loop(&mut self, moved: NodeId, mut to: NodeId) -> Result<(), Error> {
        for _ in 0..DEEPEST {
            if to == moved {
                return Err(Error::Loop);
            }
            if to == ROOT {
                return Ok(());
            }
            to = NodeId(self.directory(to)?.parent);
        }
        Err(Error::TooLarge)
    }

    /// The entries of a directory after `cookie` (0: from the beginning), at most `most` of them.
    /// None, if there are no more. An entry that stays is listed once, whatever else is made or
    /// removed meanwhile; one that comes meanwhile is listed later or not at all.
    pub fn list(
        &mut self,
        directory: NodeId,
        cookie: u64,
        most: usize,
    ) -> Result<Vec<Entry>, Error> {
        self.directory_or_gone(directory)?;
        let mut entries = Vec::new();
        let end = key2(tag::COOKIE, directory.0, u64::MAX);
        let mut at = cookie;
        while entries.len() < most.min(MOST_ENTRIES) {
            let from = key2(tag::COOKIE, directory.0, at);
            let Some((found, value)) = self.meta.next(Bound::Excluded(&from), &end)? else {
                break;
            };
            at = second(&found).ok_or(Error::Corrupt("an entry has a wrong key"))?;
            let (entry, name) = EntryValue::decode_named(&value, at)?;
            entries.push(Entry {
                name,
                node: entry.node,
                kind: entry.kind,
                cookie: at,
            });
        }
        Ok(entries)
    }

    /// The entries of a directory in the order of their names, those after `after`, at most `most`
    /// of them; as [`Store::list`] otherwise.
    pub fn list_by_name(
        &mut self,
        directory: NodeId,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, Error> {
        self.directory_or_gone(directory)?;
        let mut entries = Vec::new();
        let end = entry_key(NodeId(directory.0.saturating_add(1)), "");
        let mut from = entry_key(directory, after.unwrap_or(""));
        while entries.len() < most.min(MOST_ENTRIES) {
            let Some((found, value)) = self.meta.next(Bound::Excluded(&from), &end)? else {
                break;
            };
            let name = found
                .get(9..)
                .and_then(|name| core::str::from_utf8(name).ok());
            if number(&found) != Some(directory.0) {
                break;
            }
            let name = name.filter(|name| valid_name(name).is_ok());
            let name = name.ok_or(Error::Corrupt("an entry has a wrong key"))?;
            let entry = EntryValue::decode(&value)?;
            entries.push(Entry {
                name: name.into(),
                node: entry.node,
                kind: entry.kind,
                cookie: entry.cookie,
            });
            from = found;
        }
        Ok(entries)
    }

    /// Sets the times that are given.
    pub fn set_times(
        &mut self,
        node: NodeId,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), Error> {
        self.change(1, |store| {
            let mut found = store.node(node)?;
            found.accessed = accessed.unwrap_or(found.accessed);
            found.modified = modified.unwrap_or(found.modified);
            found.changed = now;
            store.put_node(node, &found);
            Ok(())
        })
    }

    /// The node is open: it lives until as many calls of [`release`](Store::release).
    pub fn hold(&mut self, node: NodeId) -> Result<(), Error> {
        self.node(node)?;
        let users = self.held.entry(node).or_insert(0);
        *users = users.checked_add(1).ok_or(Error::TooManyLinks)?;
        Ok(())
    }

    /// One user of the node less.
    pub fn release(&mut self, node: NodeId) -> Result<(), Error> {
        let users = self.held.get_mut(&node).ok_or(Error::Invalid)?;
        *users -= 1;
        if *users == 0 {
            self.held.remove(&node);
        }
        Ok(())
    }

    /// A directory that has a name.
    pub(crate) fn directory(&mut self, id: NodeId) -> Result<Node, Error> {
        let node = self.directory_or_gone(id)?;
        if node.links == 0 {
            Err(Error::NotFound)
        } else {
            Ok(node)
        }
    }

    fn directory_or_gone(&mut self, id: NodeId) -> Result<Node, Error> {
        let node = self.node(id)?;
        if node.kind == Kind::Directory {
            Ok(node)
        } else {
            Err(Error::NotDirectory)
        }
    }

    pub(crate) fn entry(
        &mut self,
        directory: NodeId,
        name: &str,
    ) -> Result<Option<EntryValue>, Error> {
        let now = self.meta.versions();
        if let Some(entry) = self.recent.entry(directory, name, now) {
            return Ok(Some(entry));
        }
        let Some(value) = self.meta.get(&entry_key(directory, name))? else {
            return Ok(None);
        };
        let entry = EntryValue::decode(&value)?;
        self.recent.keep_entry(directory, name, now, entry);
        Ok(Some(entry))
    }

    /// Adds an entry; the caller puts the directory's record.
    fn add(
        &mut self,
        directory: NodeId,
        record: &mut Node,
        name: &str,
        node: NodeId,
        kind: Kind,
        now: u64,
    ) -> Result<(), Error> {
        if record.cookie >= LAST_COOKIE || record.size >= LARGEST_FILE {
            return Err(Error::TooLarge);
        }
        record.cookie += 1;
        record.size += 1;
        record.modified = now;
        record.changed = now;
        let entry = EntryValue {
            node,
            kind,
            cookie: record.cookie,
        };
        self.meta.put(&entry_key(directory, name), &entry.encode());
        let by_cookie = key2(tag::COOKIE, directory.0, record.cookie);
        self.meta.put(&by_cookie, &entry.encode_named(name));
        Ok(())
    }

    /// Removes an entry; the caller puts the directory's record.
    fn drop_entry(
        &mut self,
        directory: NodeId,
        record: &mut Node,
        name: &str,
        entry: EntryValue,
        now: u64,
    ) -> Result<(), Error> {
        let wrong = Error::Corrupt("a directory counts fewer entries than it has");
        record.size = record.size.checked_sub(1).ok_or(wrong)?;
        record.modified = now;
        record.changed = now;
        self.meta.remove(&entry_key(directory, name));
        self.meta
            .remove(&key2(tag::COOKIE, directory.0, entry.cookie));
        Ok(())
    }

    /// A node has a name less.
    fn drop_link(&mut self, id: NodeId, now: u64) -> Result<(), Error> {
        let mut node = self.node(id).map_err(|error| match error {
            Error::NotFound => Error::Corrupt("a name is of a node that does not exist"),
            error => error,
        })?;
        let wrong = Error::Corrupt("a node counts fewer names than it has");
        node.links = node.links.checked_sub(1).ok_or(wrong)?;
        node.changed = now;
        self.put_node(id, &node);
        if node.links == 0 {
            self.meta.put(&key(tag::TIDY, id.0), &[]);
            self.tidying.added();
        }
        Ok(())
    }

    /// The node of a key that is a tag and a number.
    pub(crate) fn node_of(key: &[u8]) -> Result<NodeId, Error> {
        match number(key) {
            Some(number) if key.len() == 9 => Ok(NodeId(number)),
            _ => Err(Error::Corrupt("a record has a wrong key")),
        }
    }
}
