//! A small file system in memory, with links.

use crate::errno::{Errno, Result};
use crate::host::{self, Attributes, Entry, How, KEEP, Kind};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

enum Content {
    File(Vec<u8>),
    Directory(BTreeMap<String, usize>),
    Link(String),
}

struct Node {
    content: Content,
    times: (u64, u64),
    links: u64,
}

/// Nodes by their numbers; 0 is the root.
pub struct Files {
    nodes: Vec<Node>,
    pub read_only: bool,
    /// The file grows no longer than this.
    pub room: usize,
    pub synced: usize,
}

pub type Shared = Rc<RefCell<Files>>;

pub fn files() -> Shared {
    let root = Node {
        content: Content::Directory(BTreeMap::new()),
        times: (1, 2),
        links: 1,
    };
    Rc::new(RefCell::new(Files {
        nodes: vec![root],
        read_only: false,
        room: 1 << 20,
        synced: 0,
    }))
}

impl Files {
    fn names(&mut self, directory: usize) -> Result<&mut BTreeMap<String, usize>> {
        match &mut self.nodes[directory].content {
            Content::Directory(names) => Ok(names),
            _ => Err(Errno::Notdir),
        }
    }

    /// The directory of a path's last part, the part, and what it stands for.
    fn walk(
        &mut self,
        from: usize,
        path: &str,
        follow: bool,
    ) -> Result<(usize, String, Option<usize>)> {
        let mut rest: VecDeque<String> = path.split('/').map(String::from).collect();
        let (mut above, mut links) = (vec![from], 0);
        let mut last = (from, String::new(), Some(from));
        while let Some(part) = rest.pop_front() {
            let here = *above.last().ok_or(Errno::Io)?;
            let more = !rest.is_empty();
            match part.as_str() {
                "" | "." => {
                    self.names(here)?;
                }
                ".." => {
                    above.pop();
                    let up = *above.last().ok_or(Errno::Perm)?;
                    last = (up, String::new(), Some(up));
                }
                name => {
                    let found = self.names(here)?.get(name).copied();
                    let target = match found.map(|id| &self.nodes[id].content) {
                        Some(Content::Link(text)) if more || follow => Some(text.clone()),
                        _ => None,
                    };
                    if let Some(target) = target {
                        links += 1;
                        if links > 40 {
                            return Err(Errno::Loop);
                        }
                        if target.starts_with('/') {
                            return Err(Errno::Perm);
                        }
                        target
                            .split('/')
                            .rev()
                            .for_each(|p| rest.push_front(p.into()));
                        continue;
                    }
                    if more && found.is_none() {
                        let only_empty = rest.iter().all(String::is_empty);
                        return if only_empty {
                            Ok((here, name.into(), None))
                        } else {
                            Err(Errno::Noent)
                        };
                    }
                    last = (here, name.into(), found);
                    if more {
                        above.push(found.ok_or(Errno::Noent)?);
                    }
                }
            }
        }
        Ok(last)
    }

    fn find(&mut self, from: usize, path: &str, follow: bool) -> Result<usize> {
        self.walk(from, path, follow)?.2.ok_or(Errno::Noent)
    }

    fn free(&mut self, from: usize, path: &str) -> Result<(usize, String)> {
        if self.read_only {
            return Err(Errno::Rofs);
        }
        match self.walk(from, path, false)? {
            (_, _, Some(_)) => Err(Errno::Exist),
            (above, name, None) => Ok((above, name)),
        }
    }

    fn make(&mut self, from: usize, path: &str, content: Content) -> Result<usize> {
        let (above, name) = self.free(from, path)?;
        let id = self.nodes.len();
        self.nodes.push(Node {
            content,
            times: (3, 4),
            links: 1,
        });
        self.names(above)?.insert(name, id);
        Ok(id)
    }

    fn attributes(&self, id: usize) -> Attributes {
        let node = &self.nodes[id];
        let (kind, bytes) = match &node.content {
            Content::File(bytes) => (Kind::File, bytes.len()),
            Content::Directory(names) => (Kind::Directory, names.len()),
            Content::Link(text) => (Kind::Link, text.len()),
        };
        Attributes {
            id: id as u64 + 1000,
            kind,
            links: node.links,
            bytes: bytes as u64,
            accessed: node.times.0,
            modified: node.times.1,
            changed: 5,
        }
    }

    fn set_times(&mut self, id: usize, accessed: u64, modified: u64) {
        let times = &mut self.nodes[id].times;
        for (time, to) in [(&mut times.0, accessed), (&mut times.1, modified)] {
            if to != KEEP {
                *time = to;
            }
        }
    }

    fn bytes(&mut self, id: usize) -> &mut Vec<u8> {
        match &mut self.nodes[id].content {
            Content::File(bytes) => bytes,
            _ => panic!("not a file"),
        }
    }
}

pub struct File {
    files: Shared,
    id: usize,
    change: bool,
}

impl File {
    fn may(&self) -> Result {
        if self.change {
            Ok(())
        } else {
            Err(Errno::Rofs)
        }
    }
}

impl host::File for File {
    type Block = Vec<u8>;

    fn read(&mut self, offset: u64, mut block: Vec<u8>, len: usize) -> Result<(Vec<u8>, usize)> {
        let mut files = self.files.borrow_mut();
        let bytes = files.bytes(self.id);
        let from = (offset as usize).min(bytes.len());
        let count = len.min(bytes.len() - from);
        block[..count].copy_from_slice(&bytes[from..from + count]);
        Ok((block, count))
    }

    fn write(&mut self, offset: u64, block: Vec<u8>, len: usize) -> Result<usize> {
        self.may()?;
        let mut files = self.files.borrow_mut();
        let (at, room) = (offset as usize, files.room);
        let count = len.min(room.saturating_sub(at));
        if count == 0 && len > 0 {
            return Err(Errno::Nospc);
        }
        let bytes = files.bytes(self.id);
        if bytes.len() < at + count {
            bytes.resize(at + count, 0);
        }
        bytes[at..at + count].copy_from_slice(&block[..count]);
        Ok(count)
    }

    fn append(&mut self, block: Vec<u8>, len: usize) -> Result<(usize, u64)> {
        let at = self.files.borrow_mut().bytes(self.id).len() as u64;
        Ok((host::File::write(self, at, block, len)?, at))
    }

    fn attributes(&mut self) -> Result<Attributes> {
        Ok(self.files.borrow().attributes(self.id))
    }

    fn set_size(&mut self, bytes: u64) -> Result {
        self.may()?;
        let mut files = self.files.borrow_mut();
        if bytes > files.room as u64 {
            return Err(Errno::Fbig);
        }
        files.bytes(self.id).resize(bytes as usize, 0);
        Ok(())
    }

    fn set_times(&mut self, accessed: u64, modified: u64) -> Result {
        self.may()?;
        self.files
            .borrow_mut()
            .set_times(self.id, accessed, modified);
        Ok(())
    }

    fn sync(&mut self) -> Result {
        self.may()?;
        self.files.borrow_mut().synced += 1;
        Ok(())
    }
}

pub struct Directory {
    pub files: Shared,
    pub id: usize,
}

impl host::Directory for Directory {
    type File = File;

    fn open_file(&mut self, path: &str, how: How) -> Result<File> {
        let mut files = self.files.borrow_mut();
        if how.change && files.read_only {
            return Err(Errno::Rofs);
        }
        let found = files.walk(self.id, path, how.follow)?.2;
        let id = match found {
            Some(_) if how.exclusive => return Err(Errno::Exist),
            Some(id) => match files.nodes[id].content {
                Content::File(_) if path.ends_with('/') => return Err(Errno::Notdir),
                Content::File(_) => id,
                Content::Directory(_) => return Err(Errno::Isdir),
                Content::Link(_) => return Err(Errno::Loop),
            },
            None if how.create => files.make(self.id, path, Content::File(Vec::new()))?,
            None => return Err(Errno::Noent),
        };
        if how.truncate {
            files.bytes(id).clear();
        }
        Ok(File {
            files: Rc::clone(&self.files),
            id,
            change: how.change,
        })
    }

    fn open_directory(&mut self, path: &str, how: How) -> Result<Directory> {
        let mut files = self.files.borrow_mut();
        if how.change && files.read_only {
            return Err(Errno::Rofs);
        }
        let id = files.find(self.id, path, how.follow)?;
        if let Content::Link(_) = files.nodes[id].content {
            return Err(Errno::Loop);
        }
        files.names(id)?;
        Ok(Directory {
            files: Rc::clone(&self.files),
            id,
        })
    }

    fn attributes(&mut self, path: &str, follow: bool) -> Result<Attributes> {
        let mut files = self.files.borrow_mut();
        let id = files.find(self.id, path, follow)?;
        Ok(files.attributes(id))
    }

    fn make_directory(&mut self, path: &str) -> Result {
        let content = Content::Directory(BTreeMap::new());
        self.files
            .borrow_mut()
            .make(self.id, path, content)
            .map(drop)
    }

    fn remove(&mut self, path: &str) -> Result {
        let mut files = self.files.borrow_mut();
        let (above, name, id) = files.walk(self.id, path, false)?;
        if files.names(id.ok_or(Errno::Noent)?).is_ok() {
            return Err(Errno::Isdir);
        }
        files.names(above)?.remove(&name);
        Ok(())
    }

    fn remove_directory(&mut self, path: &str) -> Result {
        let mut files = self.files.borrow_mut();
        let (above, name, id) = files.walk(self.id, path, false)?;
        if !files.names(id.ok_or(Errno::Noent)?)?.is_empty() {
            return Err(Errno::Notempty);
        }
        files.names(above)?.remove(&name);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result {
        let mut files = self.files.borrow_mut();
        let (above, name, id) = files.walk(self.id, from, false)?;
        let id = id.ok_or(Errno::Noent)?;
        let (there, other, _) = files.walk(self.id, to, false)?;
        if to
            .strip_prefix(from)
            .is_some_and(|rest| rest.starts_with('/'))
        {
            return Err(Errno::Loop);
        }
        files.names(above)?.remove(&name);
        files.names(there)?.insert(other, id);
        Ok(())
    }

    fn link(&mut self, from: &str, to: &str) -> Result {
        let mut files = self.files.borrow_mut();
        let id = files.find(self.id, from, false)?;
        if files.names(id).is_ok() {
            return Err(Errno::Isdir);
        }
        let (above, name) = files.free(self.id, to)?;
        files.names(above)?.insert(name, id);
        files.nodes[id].links += 1;
        Ok(())
    }

    fn make_link(&mut self, path: &str, target: &str) -> Result {
        let content = Content::Link(target.to_string());
        self.files
            .borrow_mut()
            .make(self.id, path, content)
            .map(drop)
    }

    fn read_link(&mut self, path: &str) -> Result<String> {
        let mut files = self.files.borrow_mut();
        let id = files.find(self.id, path, false)?;
        match &files.nodes[id].content {
            Content::Link(text) => Ok(text.clone()),
            _ => Err(Errno::Inval),
        }
    }

    fn set_times(&mut self, path: &str, follow: bool, accessed: u64, modified: u64) -> Result {
        let mut files = self.files.borrow_mut();
        let id = files.find(self.id, path, follow)?;
        files.set_times(id, accessed, modified);
        Ok(())
    }

    fn list(&mut self, from: u64, each: &mut dyn FnMut(Entry) -> Result<bool>) -> Result {
        let files = self.files.borrow();
        let Content::Directory(names) = &files.nodes[self.id].content else {
            return Err(Errno::Notdir);
        };
        for (name, id) in names {
            // A place that goes on wherever others come and go: the number of the node.
            let (next, a) = (*id as u64, files.attributes(*id));
            if next <= from {
                continue;
            }
            let entry = Entry {
                next,
                id: a.id,
                kind: a.kind,
                name: name.clone(),
            };
            if !each(entry)? {
                break;
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result {
        self.files.borrow_mut().synced += 1;
        Ok(())
    }
}
