//! A file system in memory, for tests of what is done to trees.

use crate::copy::{Content, Fill, Half};
use crate::tree::{PIECE, Tree};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use sing_sdk::Error;
use sing_sdk::contracts::{FileAttributes, FileFault, FileKind};
use sing_sdk::fs::{Entry, Options};

/// The clock of all of them: no two things are made at one time.
static NOW: AtomicU64 = AtomicU64::new(1);

fn now() -> u64 {
    NOW.fetch_add(1, Ordering::Relaxed)
}

struct Node {
    kind: FileKind,
    /// Its number; entries are listed in this order.
    id: u64,
    bytes: Vec<u8>,
    created: u64,
    modified: u64,
}

#[derive(Default)]
struct State {
    nodes: BTreeMap<String, Node>,
    made: u64,
    refused: BTreeMap<String, FileFault>,
}

/// The file system; clones are the same one.
#[derive(Clone, Default)]
pub struct Model {
    state: Rc<RefCell<State>>,
    /// What is listed is removed by somebody else at once.
    pub vanishing: bool,
}

/// An open file of it, by its path.
pub struct Open(Model, String);

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn options_make(options: Options) -> bool {
    options == Options::create()
}

impl Model {
    fn make(&self, path: &str, kind: FileKind, bytes: &[u8]) -> Result<(), Error> {
        self.allowed(path)?;
        let above = parent(path);
        if !above.is_empty() && self.kind(above)? != FileKind::Directory {
            return Err(FileFault::NotDirectory.into());
        }
        let mut state = self.state.borrow_mut();
        if state.nodes.contains_key(path) {
            return Err(FileFault::Exists.into());
        }
        state.made += 1;
        let node = Node {
            kind,
            id: state.made,
            bytes: bytes.into(),
            created: now(),
            modified: now(),
        };
        state.nodes.insert(path.into(), node);
        Ok(())
    }

    fn kind(&self, path: &str) -> Result<FileKind, Error> {
        if path.is_empty() {
            return Ok(FileKind::Directory);
        }
        let state = self.state.borrow();
        state.nodes.get(path).map(|n| n.kind).ok_or(Error::NotFound)
    }

    fn allowed(&self, path: &str) -> Result<(), Error> {
        match self.state.borrow().refused.get(path) {
            Some(fault) => Err((*fault).into()),
            None => Ok(()),
        }
    }

    fn directories(&self, path: &str) {
        if !path.is_empty() {
            self.directories(parent(path));
            let _ = self.make(path, FileKind::Directory, b"");
        }
    }

    /// Makes a file, with the directories above it.
    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        self.directories(parent(path));
        self.make(path, FileKind::File, bytes).unwrap();
    }

    /// Makes a link, with the directories above it.
    pub fn link(&mut self, path: &str, text: &str) {
        self.directories(parent(path));
        self.make(path, FileKind::Link, text.as_bytes()).unwrap();
    }

    /// All changes at this path are refused from now on.
    pub fn refuse(&mut self, path: &str, fault: FileFault) {
        self.state.borrow_mut().refused.insert(path.into(), fault);
    }

    /// All that there is.
    pub fn paths(&self) -> Vec<String> {
        self.state.borrow().nodes.keys().cloned().collect()
    }

    /// The content of a file.
    pub fn content(&self, path: &str) -> Vec<u8> {
        self.state.borrow().nodes[path].bytes.clone()
    }

    /// When its content was changed.
    pub fn modified(&self, path: &str) -> u64 {
        self.state.borrow().nodes[path].modified
    }
}

impl Tree for Model {
    type File = Open;

    fn attributes(&mut self, path: &str) -> Result<FileAttributes, Error> {
        let state = self.state.borrow();
        let node = state.nodes.get(path).ok_or(Error::NotFound)?;
        Ok(FileAttributes {
            id: node.id,
            kind: node.kind,
            links: 1,
            bytes: node.bytes.len() as u64,
            allocated: 0,
            accessed: 0,
            modified: node.modified,
            changed: 0,
            created: node.created,
        })
    }

    fn entries(&mut self, path: &str, from: u64) -> Result<Vec<Entry>, Error> {
        if self.kind(path)? != FileKind::Directory {
            return Err(FileFault::NotDirectory.into());
        }
        let mut state = self.state.borrow_mut();
        let children = state
            .nodes
            .iter()
            .filter(|(child, node)| parent(child) == path && !child.is_empty() && node.id > from);
        let mut entries: Vec<Entry> = children
            .map(|(child, node)| Entry {
                next: node.id,
                id: node.id,
                kind: node.kind,
                name: child.rsplit('/').next().unwrap().to_string(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.id);
        entries.truncate(PIECE);
        if self.vanishing {
            state.nodes.clear();
        }
        Ok(entries)
    }

    fn remove(&mut self, path: &str) -> Result<(), Error> {
        self.allowed(path)?;
        if self.kind(path)? == FileKind::Directory {
            return Err(FileFault::IsDirectory.into());
        }
        self.state.borrow_mut().nodes.remove(path);
        Ok(())
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Error> {
        self.allowed(path)?;
        if self.kind(path)? != FileKind::Directory {
            return Err(FileFault::NotDirectory.into());
        }
        let mut state = self.state.borrow_mut();
        if state.nodes.keys().any(|child| parent(child) == path) {
            return Err(FileFault::NotEmpty.into());
        }
        state.nodes.remove(path);
        Ok(())
    }

    fn make_directory(&mut self, path: &str) -> Result<(), Error> {
        self.make(path, FileKind::Directory, b"")
    }

    fn make_link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        self.make(path, FileKind::Link, target.as_bytes())
    }

    fn read_link(&mut self, path: &str) -> Result<String, Error> {
        Ok(String::from_utf8(self.content(path)).unwrap())
    }

    fn set_times(&mut self, path: &str, _: u64, modified: u64) -> Result<(), Error> {
        self.allowed(path)?;
        let mut state = self.state.borrow_mut();
        state.nodes.get_mut(path).ok_or(Error::NotFound)?.modified = modified;
        Ok(())
    }

    fn open(&mut self, path: &str, options: Options) -> Result<Open, Error> {
        match self.kind(path) {
            Err(Error::NotFound) if options_make(options) => {
                self.make(path, FileKind::File, b"")?;
            }
            Ok(FileKind::Directory) => return Err(FileFault::IsDirectory.into()),
            other => {
                other?;
                if options_make(options) {
                    self.allowed(path)?;
                }
            }
        }
        Ok(Open(self.clone(), path.into()))
    }
}

impl Content for Open {
    fn attributes(&mut self) -> Result<FileAttributes, Error> {
        self.0.attributes(&self.1)
    }

    fn empty(&mut self) -> Result<(), Error> {
        let mut state = self.0.state.borrow_mut();
        state.nodes.get_mut(&self.1).unwrap().bytes.clear();
        Ok(())
    }
}

impl Fill<Open> for Open {
    fn fill(&mut self, from: &mut Open) -> Result<(), Half> {
        let bytes = from.0.content(&from.1);
        let mut state = self.0.state.borrow_mut();
        let node = state.nodes.get_mut(&self.1).unwrap();
        (node.bytes, node.modified) = (bytes, now());
        Ok(())
    }
}
