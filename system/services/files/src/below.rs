//! What the name server asks about the names below the mount point, and takes there.
//!
//! Invariant: what is listed are parts of paths of the name space, in the order of their bytes.

use crate::faults;
use crate::volume::{At, Volume};
use sing_sdk::contracts::{FileFault, Refusal};
use sing_sdk::door::{Link, Place, Turned};
use sing_sdk::path::is_relative;
use sing_sdk::pattern::Pattern;
use sing_sdk::prelude::*;
use sing_sdk::rt::Endpoint;
use sing_sdk::walk::{Directories, Entry};
use sing_sdk::watcher::Channel;
use sing_store::{Entry as Found, Error as Fault, Kind, NodeId, ROOT};

/// So many names that are no parts of paths are passed over for an answer. Where there are more
/// between two others, the directory seems to end; what is behind can be opened all the same.
const SKIPPED: usize = 256;

/// Where a path of the name space leads: as far as the first link on it, whose end is known to the
/// name server alone.
enum Way {
    To(NodeId, Kind),
    /// The link, and how much of the path names it.
    Link(NodeId, usize),
}

impl Volume {
    /// Goes along a normalized path.
    fn along(&mut self, path: &str) -> Result<Way, FileFault> {
        let (mut node, mut kind, mut used) = (ROOT, Kind::Directory, 0);
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if kind != Kind::Directory {
                return Err(FileFault::NotDirectory);
            }
            let entry = self.store.lookup(node, part).map_err(faults::file)?;
            used += 1 + part.len();
            if entry.kind == Kind::Link {
                return Ok(Way::Link(entry.node, used));
            }
            (node, kind) = (entry.node, entry.kind);
        }
        Ok(Way::To(node, kind))
    }

    /// The directory at a normalized path.
    pub fn below(&mut self, at: &str) -> Result<NodeId, Refusal> {
        match self.along(at) {
            Ok(Way::To(node, Kind::Directory)) => Ok(node),
            Ok(Way::Link(..)) => Err(Refusal::IsLink),
            Ok(_) => Err(Refusal::NotADirectory),
            Err(_) => Err(Refusal::NotFound),
        }
    }

    /// As the name space has it.
    fn shown(&mut self, found: &Found) -> Entry {
        match found.kind {
            Kind::Directory => Entry::directory(&found.name),
            Kind::File => Entry::service(&found.name, "FileContract"),
            Kind::Link => {
                let target = self.store.read_link(found.node).unwrap_or_default();
                Entry::link(&found.name, &target)
            }
        }
    }
}

/// Whether a name can stand in a path of the name space.
fn is_part(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && is_relative(name)
}

impl Directories for Volume {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        let node = self.below(at)?;
        let (mut all, mut after) = (Vec::new(), after.map(String::from));
        let mut looked = 0;
        loop {
            let wanted = most - all.len();
            let found = self.store.list_by_name(node, after.as_deref(), wanted);
            let found = found.map_err(|_| Refusal::NotFound)?;
            looked += found.len();
            // Another program may have made the disk, with names that are no parts of paths.
            let parts = found.iter().filter(|entry| is_part(&entry.name));
            all.extend(parts.map(|entry| self.shown(entry)));
            match found.last() {
                Some(last) if all.len() < most && looked - all.len() < SKIPPED => {
                    after = Some(last.name.clone())
                }
                _ => return Ok(all),
            }
        }
    }

    fn entry(&mut self, at: &str, name: &str) -> Result<Option<Entry>, Refusal> {
        let node = self.below(at)?;
        match self.store.lookup(node, name) {
            Ok(found) => Ok(Some(self.shown(&found))),
            // No name that this file system can have.
            Err(Fault::NotFound | Fault::BadName) => Ok(None),
            Err(_) => Err(Refusal::NotFound),
        }
    }
}

impl Place for Volume {
    const NOTIFIES: bool = true;

    fn bind(&mut self, path: &str, origin: u32, endpoint: Endpoint) -> Result<(), Turned> {
        let opened = match self.along(path) {
            Ok(Way::To(node, kind)) => {
                let write = !self.read_only;
                let at = At {
                    node,
                    write,
                    lost: 0,
                };
                self.open(origin, at, kind, endpoint)
            }
            Ok(Way::Link(..)) => return Err((Refusal::IsLink, endpoint)),
            Err(fault) => Err((fault, endpoint)),
        };
        opened.map_err(|(fault, endpoint)| match fault {
            FileFault::NoResources => (Refusal::NoResources, endpoint),
            FileFault::NotDirectory | FileFault::IsDirectory | FileFault::NotSupported => {
                (Refusal::OtherContract, endpoint)
            }
            _ => (Refusal::NotFound, endpoint),
        })
    }

    fn notify(
        &mut self,
        directory: &str,
        pattern: Pattern,
        origin: u32,
        watcher: Channel,
    ) -> Result<(), (Refusal, Channel)> {
        self.watch(directory, pattern, origin, watcher)
    }

    fn link(&mut self, path: &str) -> Option<Link> {
        match self.along(path) {
            Ok(Way::Link(node, used)) => {
                let target = self.store.read_link(node).ok()?;
                Some(Link { used, target })
            }
            _ => None,
        }
    }
}
