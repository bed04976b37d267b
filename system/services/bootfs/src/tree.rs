//! The files of the system image as a tree, and paths in it.

use sing_sdk::contracts::{FileAttributes, FileFault, FileKind};
use sing_sdk::fs::pack;
use sing_sdk::prelude::*;
use sing_sdk::walk;

/// A place in the tree; the first one is the mount point.
pub type Node = usize;

/// The mount point.
pub const ROOT: Node = 0;

struct Entry {
    name: String,
    above: Node,
    /// Name in the system image, of a file.
    image: Option<String>,
}

/// All files, and the directories above them.
pub struct Tree(Vec<Entry>);

impl Tree {
    /// The tree of these files, by their names in the system image.
    pub fn new(files: impl Iterator<Item = String>) -> Tree {
        let mut tree = Tree(vec![Entry {
            name: String::new(),
            above: ROOT,
            image: None,
        }]);
        for file in files {
            let mut at = ROOT;
            let mut parts = file.split('/').filter(|p| !p.is_empty()).peekable();
            while let Some(part) = parts.next() {
                let image = parts.peek().is_none().then(|| file.clone());
                at = match tree.child(at, part) {
                    Some(child) => child,
                    None => {
                        tree.0.push(Entry {
                            name: part.into(),
                            above: at,
                            image,
                        });
                        tree.0.len() - 1
                    }
                };
            }
        }
        tree
    }

    fn child(&self, above: Node, name: &str) -> Option<Node> {
        let mut children = self.children(above);
        children.find(|child| self.0[*child].name == name)
    }

    fn children(&self, above: Node) -> impl Iterator<Item = Node> {
        (1..self.0.len()).filter(move |n| self.0[*n].above == above)
    }

    /// The place at a path that is relative to a directory.
    pub fn resolve(&self, from: Node, path: &str) -> Result<Node, FileFault> {
        if path.starts_with('/') {
            return Err(FileFault::Outside);
        }
        let mut at = from;
        let directory = path.ends_with('/');
        for part in path.split('/') {
            if part.is_empty() || part == "." {
                continue;
            }
            if self.file(at).is_some() {
                return Err(FileFault::NotDirectory);
            }
            at = match part {
                ".." if at == from => return Err(FileFault::Outside),
                ".." => self.0[at].above,
                name => self.child(at, name).ok_or(FileFault::NotFound)?,
            };
        }
        match self.file(at) {
            Some(_) if directory => Err(FileFault::NotDirectory),
            _ => Ok(at),
        }
    }

    /// The name in the system image; `None` for a directory.
    pub fn file(&self, node: Node) -> Option<&str> {
        self.0.get(node)?.image.as_deref()
    }

    pub fn attributes(&self, node: Node) -> FileAttributes {
        let bytes = match self.file(node) {
            Some(image) => sing_sdk::boot::size(image).unwrap_or(0).into(),
            None => 0,
        };
        FileAttributes {
            id: node as u64 + 1,
            kind: self.kind(node),
            links: 1,
            bytes,
            allocated: bytes,
            accessed: 0,
            modified: 0,
            changed: 0,
            created: 0,
        }
    }

    fn kind(&self, node: Node) -> FileKind {
        match self.file(node) {
            Some(_) => FileKind::File,
            None => FileKind::Directory,
        }
    }

    /// As many entries as fit `room`, packed, from a place on, which is the node before the next.
    pub fn pack(&self, directory: Node, from: u64, room: usize) -> Result<Vec<u8>, FileFault> {
        let mut bytes = Vec::new();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        for child in self.children(directory).filter(|child| *child > from) {
            let id = child as u64;
            let name = &self.0[child].name;
            if !pack(&mut bytes, room, id, id + 1, self.kind(child), name) {
                if bytes.is_empty() {
                    return Err(FileFault::BadRequest);
                }
                break;
            }
        }
        Ok(bytes)
    }

    /// At most so many names directly below a directory, in order, those after `after`.
    pub fn entries(&self, directory: Node, after: Option<&str>, most: usize) -> Vec<walk::Entry> {
        let name = |node: &Node| self.0[*node].name.as_str();
        let mut behind: Vec<Node> = self
            .children(directory)
            .filter(|node| after.is_none_or(|after| name(node) > after))
            .collect();
        behind.sort_unstable_by_key(name);
        let entry = |node: Node| match self.file(node) {
            Some(_) => walk::Entry::service(name(&node), "FileContract"),
            None => walk::Entry::directory(name(&node)),
        };
        behind.into_iter().take(most).map(entry).collect()
    }
}
