//! Paths below an open directory, part by part.
//!
//! Invariants:
//! - A walk never leads above the directory in which it begins: it remembers the way down, and goes
//!   up that way alone.
//! - It takes a bounded number of steps: a path is bounded, and so are the links on it and the
//!   parts of all of them together.

use crate::drive::Drive;
use crate::faults;
use sing_sdk::contracts::FileFault;
use sing_sdk::path::{LastLink, prepend};
use sing_sdk::prelude::*;
use sing_store::{Error as Fault, Kind, NodeId, ROOT, Store};

/// Symbolic links on one way.
const LINKS: usize = 40;
/// Parts on one way, those of the links' targets, too: each is a look into a directory.
const PARTS: usize = 4096;

/// Where a path leads.
#[derive(Debug)]
pub struct Place {
    /// The directory and the name in it; `None` if the path ends with a directory on the way, such
    /// as the one in which it begins.
    pub named: Option<(NodeId, String)>,
    /// What is there.
    pub node: Option<(NodeId, Kind)>,
    /// The path says that it must be a directory.
    pub directory: bool,
    /// The name is one of the name server's, which the file system has not.
    pub foreign: bool,
}

impl Place {
    /// What is there, which must be something.
    pub fn existing(&self) -> Result<(NodeId, Kind), FileFault> {
        let fault = match self.foreign {
            true => FileFault::Outside,
            false => FileFault::NotFound,
        };
        self.node.ok_or(fault)
    }

    /// The directory and the name under which something is, or is to be.
    pub fn named(&self) -> Result<(NodeId, &str), FileFault> {
        if self.foreign {
            return Err(FileFault::Exists);
        }
        let named = self.named.as_ref();
        named
            .map(|(d, n)| (*d, n.as_str()))
            .ok_or(FileFault::BadName)
    }

    /// The node that has the name; it must be a directory if the path says so.
    pub fn existing_name(&self) -> Result<(NodeId, Kind), FileFault> {
        match self.existing()? {
            (_, kind) if self.directory && kind != Kind::Directory => Err(FileFault::NotDirectory),
            existing => Ok(existing),
        }
    }

    /// The directory and the name for something that must not be there yet.
    pub fn fresh(&self) -> Result<(NodeId, &str), FileFault> {
        if self.node.is_some() {
            return Err(FileFault::Exists);
        }
        self.named()
    }
}

/// Goes along a path. Of a name at the root, `foreign` says whether it is not the file system's, so
/// that the way does not lead on there.
pub fn walk(
    store: &mut Store<Drive>,
    from: NodeId,
    path: &str,
    link: LastLink,
    mut foreign: impl FnMut(&str) -> bool,
) -> Result<Place, FileFault> {
    if path.starts_with('/') {
        return Err(FileFault::Outside);
    }
    let (mut way, mut rest, mut links) = (vec![from], Vec::new(), 0);
    let mut directory = prepend(&mut rest, path);
    let mut parts = 0;
    while let Some(part) = rest.pop() {
        parts += 1;
        if parts > PARTS {
            return Err(FileFault::Loop);
        }
        let last = rest.is_empty();
        let at = way[way.len() - 1];
        if part == ".." {
            if way.len() == 1 {
                return Err(FileFault::Outside);
            }
            way.pop();
            continue;
        }
        if at == ROOT && foreign(&part) {
            if !last {
                return Err(FileFault::Outside);
            }
            return Ok(Place {
                named: Some((at, part)),
                node: None,
                directory,
                foreign: true,
            });
        }
        let entry = match store.lookup(at, &part) {
            Ok(entry) => entry,
            Err(Fault::NotFound) if last => {
                return Ok(Place {
                    named: Some((at, part)),
                    node: None,
                    directory,
                    foreign: false,
                });
            }
            Err(fault) => return Err(faults::file(fault)),
        };
        if entry.kind == Kind::Link && (!last || link.is_followed(directory)) {
            links += 1;
            if links > LINKS {
                return Err(FileFault::Loop);
            }
            let target = store.read_link(entry.node).map_err(faults::file)?;
            if target.starts_with('/') {
                return Err(FileFault::Outside);
            }
            let must = prepend(&mut rest, &target);
            directory |= last && must;
            continue;
        }
        if last {
            let must = directory && link != LastLink::Name;
            if must && entry.kind != Kind::Directory {
                return Err(FileFault::NotDirectory);
            }
            return Ok(Place {
                named: Some((at, part)),
                node: Some((entry.node, entry.kind)),
                directory,
                foreign: false,
            });
        }
        if entry.kind != Kind::Directory {
            return Err(FileFault::NotDirectory);
        }
        way.push(entry.node);
    }
    Ok(Place {
        named: None,
        node: Some((way[way.len() - 1], Kind::Directory)),
        directory: true,
        foreign: false,
    })
}
