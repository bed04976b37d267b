//! The directory worker: requests about names.

use crate::faults;
use crate::sync::Sync;
use crate::volume::{At, Client, Directory, Volume, now};
use crate::walk::{Place, walk};
use sing_sdk::contracts::{DirectoryContract, FileAttributes, FileFault, FileKind, OpenHow};
use sing_sdk::fs::{KEEP, pack};
use sing_sdk::path::{LastLink, from_directory};
use sing_sdk::pattern::literal;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint, stand_for};
use sing_store::{Attributes, Error as Fault, Kind, LONGEST_TARGET, NodeId, Progress};

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// Bytes of one answer with entries.
const ENTRIES: usize = 16 << 10;
/// How often a change is tried again while the store gets space back.
const TRIES: usize = 64;

fn kind(kind: Kind) -> FileKind {
    match kind {
        Kind::File => FileKind::File,
        Kind::Directory => FileKind::Directory,
        Kind::Link => FileKind::Link,
    }
}

/// A time as a message has it.
pub fn time(time: u64) -> Option<u64> {
    (time != KEEP).then_some(time)
}

/// Attributes as a message has them.
pub fn attributes(of: &Attributes) -> FileAttributes {
    FileAttributes {
        id: of.id.0,
        kind: kind(of.kind),
        links: of.links,
        bytes: of.size,
        allocated: of.allocated,
        accessed: of.accessed,
        modified: of.modified,
        changed: of.changed,
        created: of.created,
    }
}

/// How a client wants something opened.
struct Wish {
    how: OpenHow,
    truncate: bool,
    follow: bool,
    write: bool,
}

impl Volume {
    /// Makes a change, which may need space that the store has to get back first.
    pub fn change<T>(
        &mut self,
        mut work: impl FnMut(&mut Volume) -> Result<T, Fault>,
    ) -> Result<T, FileFault> {
        let mut fault = FileFault::NoSpace;
        for _ in 0..TRIES {
            let again = match work(self) {
                Err(Fault::NoSpace) => {
                    fault = FileFault::NoSpace;
                    self.store.reclaim().unwrap_or(false)
                }
                // Without anything to tidy, it is what others do that stands in the way.
                Err(Fault::Busy) => {
                    fault = FileFault::Busy;
                    matches!(self.store.tidy(), Ok(Progress::More))
                }
                other => {
                    self.changed();
                    return other.map_err(faults::file);
                }
            };
            if !again {
                break;
            }
        }
        // A part of it may have been done.
        self.changed();
        Err(fault)
    }

    /// Where a path leads from what a client has open.
    fn place(&mut self, at: At, path: &Text, link: LastLink) -> Result<Place, FileFault> {
        // Of what is mounted at the root of the name space, the name server's names win.
        let (root, names) = (self.root, &mut self.names);
        let foreign = |name: &str| root && names.find(&literal(&format!("/{name}"))).is_ok();
        walk(
            &mut self.store,
            at.node,
            &from_directory(path)?,
            link,
            foreign,
        )
    }

    /// The same for a change.
    fn place_to_change(&mut self, at: At, path: &Text) -> Result<Place, FileFault> {
        if !at.write {
            return Err(FileFault::ReadOnly);
        }
        self.place(at, path, LastLink::Name)
    }

    /// Serves one request of a directory's holder.
    pub fn directory(&mut self, number: u32, directory: Directory, at: At) {
        use DirectoryContract::exp::Ready as Request;
        macro_rules! done {
            ($outcome:expr, $next:expr) => {
                match $outcome {
                    Ok(()) => $next.send_done(),
                    Err(fault) => $next.send_failed(fault),
                }
            };
        }
        self.loans.remove(&number);
        let next = match directory.recv() {
            Request::GetAttributes(path, follow, next) => {
                match self.attributes_at(at, &path, follow) {
                    Ok(attributes) => next.send_attributes(attributes),
                    Err(fault) => next.send_failed(fault),
                }
            }
            Request::Open(path, how, truncate, follow, exp, next) => {
                let wish = Wish {
                    how,
                    truncate,
                    follow,
                    write: true,
                };
                match self.open_at(number, at, &path, &wish, exp) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::OpenToRead(path, follow, exp, next) => {
                let how = OpenHow::Existing;
                let wish = Wish {
                    how,
                    truncate: false,
                    follow,
                    write: false,
                };
                match self.open_at(number, at, &path, &wish, exp) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::MakeDirectory(path, next) => done!(self.make_directory(at, &path), next),
            Request::Remove(path, next) => done!(self.remove(at, &path), next),
            Request::RemoveDirectory(path, next) => done!(self.remove_directory(at, &path), next),
            Request::Rename(from, to, next) => done!(self.rename(at, &from, &to), next),
            Request::Link(from, to, next) => done!(self.link(at, &from, &to), next),
            Request::MakeLink(path, target, next) => {
                done!(self.make_link(at, &path, &target), next)
            }
            Request::ReadLink(path, next) => match self.read_link(at, &path) {
                Ok(target) => next.send_target(target),
                Err(fault) => next.send_failed(fault),
            },
            Request::SetTimes(path, follow, accessed, modified, next) => {
                done!(self.set_times(at, &path, follow, accessed, modified), next)
            }
            Request::List(from, buffer, next) => {
                let (mut block, lent) = self.lend(number, buffer);
                match lent.and_then(|()| self.list(at.node, from, &mut block)) {
                    Ok(count) => next.send_entries(Vector::from_block(block), count),
                    Err(fault) => next.send_not_listed(fault, Vector::from_block(block)),
                }
            }
            Request::Sync(next) => return self.ask_sync(number, Sync::Directory(next), at),
            Request::Closed => return self.close(number, at),
        };
        self.slots.put(number, Client::Directory(next, at));
    }

    fn attributes_at(
        &mut self,
        at: At,
        path: &Text,
        follow: bool,
    ) -> Result<FileAttributes, FileFault> {
        let (node, _) = self
            .place(at, path, LastLink::following(follow))?
            .existing()?;
        let known = self.store.attributes(node).map_err(faults::file)?;
        Ok(attributes(&known))
    }

    fn open_at(
        &mut self,
        number: u32,
        at: At,
        path: &Text,
        wish: &Wish,
        exp: Service,
    ) -> Result<(), (FileFault, Service)> {
        let origin = self.slots.origin(number).unwrap_or(u32::MAX);
        let endpoint = exp.into_endpoint();
        // Before anything is made or thrown away.
        if !self.slots.has_room(origin) {
            return Err((FileFault::NoResources, stand_for(endpoint)));
        }
        let node = match self.opened(at, path, wish, &endpoint) {
            Ok(node) => node,
            Err(fault) => return Err((fault, stand_for(endpoint))),
        };
        let open = At {
            node: node.0,
            write: at.write && wish.write,
            lost: 0,
        };
        let opened = self.open(origin, open, node.1, endpoint);
        opened.map_err(|(fault, endpoint)| (fault, stand_for(endpoint)))
    }

    /// Finds or makes what is to be opened.
    fn opened(
        &mut self,
        at: At,
        path: &Text,
        wish: &Wish,
        endpoint: &Endpoint,
    ) -> Result<(NodeId, Kind), FileFault> {
        let file = sing_sdk::contracts::FileContract::Exp::<FileStart>::matches(endpoint);
        let makes = wish.how != OpenHow::Existing;
        if (makes || wish.truncate) && !file {
            return Err(FileFault::BadRequest);
        }
        let follow = wish.follow && wish.how != OpenHow::Create;
        let place = self.place(at, path, LastLink::following(follow))?;
        if let Some((node, kind)) = place.node {
            if wish.how == OpenHow::Create {
                return Err(FileFault::Exists);
            }
            if wish.truncate && !at.write {
                return Err(FileFault::ReadOnly);
            }
            if wish.truncate && kind == Kind::File {
                // A write under way has blocks of what would be thrown away.
                if self.ranges.contains_key(&node) {
                    return Err(FileFault::Busy);
                }
                self.truncate(node)?;
            }
            return Ok((node, kind));
        }
        if !makes {
            return place.existing();
        }
        if !at.write {
            return Err(FileFault::ReadOnly);
        }
        if place.directory {
            return Err(FileFault::IsDirectory);
        }
        let (above, name) = place.named()?;
        let node = self.change(|v| v.store.create(above, name, now()))?;
        self.named(&[(above, name)]);
        Ok((node, Kind::File))
    }

    fn make_directory(&mut self, at: At, path: &Text) -> Result<(), FileFault> {
        let place = self.place_to_change(at, path)?;
        let (above, name) = place.fresh()?;
        self.change(|v| v.store.make_directory(above, name, now()).map(drop))?;
        self.named(&[(above, name)]);
        self.renamed();
        Ok(())
    }

    fn remove(&mut self, at: At, path: &Text) -> Result<(), FileFault> {
        let place = self.place_to_change(at, path)?;
        let (_, kind) = place.existing_name()?;
        if kind == Kind::Directory {
            return Err(FileFault::IsDirectory);
        }
        let (above, name) = place.named()?;
        self.tidying = true;
        self.change(|v| v.store.unlink(above, name, now()))?;
        self.named(&[(above, name)]);
        if kind == Kind::Link {
            self.renamed();
        }
        Ok(())
    }

    fn remove_directory(&mut self, at: At, path: &Text) -> Result<(), FileFault> {
        let place = self.place_to_change(at, path)?;
        if place.existing()?.1 != Kind::Directory {
            return Err(FileFault::NotDirectory);
        }
        let (above, name) = place.named()?;
        self.tidying = true;
        self.change(|v| v.store.remove_directory(above, name, now()))?;
        self.named(&[(above, name)]);
        self.renamed();
        Ok(())
    }

    fn rename(&mut self, at: At, from: &Text, to: &Text) -> Result<(), FileFault> {
        let from = self.place_to_change(at, from)?;
        let (_, kind) = from.existing_name()?;
        let to = self.place_to_change(at, to)?;
        if to.directory && kind != Kind::Directory {
            return Err(FileFault::NotDirectory);
        }
        if to.node.is_some() {
            to.existing_name()?;
        }
        let (source, target) = (from.named()?, to.named()?);
        self.tidying = true;
        self.change(|v| v.store.rename(source, target, now()))?;
        self.named(&[source, target]);
        self.renamed();
        Ok(())
    }

    fn link(&mut self, at: At, from: &Text, to: &Text) -> Result<(), FileFault> {
        if !at.write {
            return Err(FileFault::ReadOnly);
        }
        // A link with a slash stands for a directory here.
        let from = self.place(at, from, LastLink::Itself)?;
        let (node, kind) = from.existing()?;
        if kind == Kind::Directory {
            return Err(FileFault::IsDirectory);
        }
        let to = self.place_to_change(at, to)?;
        let (above, name) = to.fresh()?;
        if to.directory {
            return Err(FileFault::NotFound);
        }
        self.change(|v| v.store.link(node, above, name, now()))?;
        self.named(&[(above, name)]);
        if kind == Kind::Link {
            self.renamed();
        }
        Ok(())
    }

    fn make_link(&mut self, at: At, path: &Text, target: &Text) -> Result<(), FileFault> {
        let target = target
            .get_within(LONGEST_TARGET)
            .ok_or(FileFault::BadName)?;
        if target.is_empty() || target.contains('\0') {
            return Err(FileFault::BadName);
        }
        let place = self.place_to_change(at, path)?;
        let (above, name) = place.fresh()?;
        if place.directory {
            return Err(FileFault::NotFound);
        }
        self.change(|v| v.store.make_link(above, name, &target, now()).map(drop))?;
        self.named(&[(above, name)]);
        self.renamed();
        Ok(())
    }

    fn read_link(&mut self, at: At, path: &Text) -> Result<Text, FileFault> {
        let (node, kind) = self.place(at, path, LastLink::Itself)?.existing()?;
        if kind != Kind::Link {
            return Err(FileFault::BadRequest);
        }
        let target = self.store.read_link(node).map_err(faults::file)?;
        Text::new(&target).map_err(|_| FileFault::NoResources)
    }

    fn set_times(
        &mut self,
        at: At,
        path: &Text,
        follow: bool,
        accessed: u64,
        modified: u64,
    ) -> Result<(), FileFault> {
        if !at.write {
            return Err(FileFault::ReadOnly);
        }
        let (node, _) = self
            .place(at, path, LastLink::following(follow))?
            .existing()?;
        self.change(|v| {
            v.store
                .set_times(node, time(accessed), time(modified), now())
        })
    }

    /// Fills a block with entries from a place on; how many bytes.
    fn list(&mut self, node: NodeId, from: u64, block: &mut Block) -> Result<u32, FileFault> {
        block.unshare().map_err(|_| FileFault::BadRequest)?;
        let room = block.len().min(ENTRIES);
        let (mut bytes, mut cookie) = (Vec::new(), from);
        'all: loop {
            let entries = match self.store.list(node, cookie, 32) {
                Ok(entries) => entries,
                // It has been removed since it was opened.
                Err(Fault::NotFound) => break,
                Err(fault) => return Err(faults::file(fault)),
            };
            let Some(last) = entries.last() else { break };
            for entry in &entries {
                let kind = kind(entry.kind);
                if !pack(
                    &mut bytes,
                    room,
                    entry.cookie,
                    entry.node.0,
                    kind,
                    &entry.name,
                ) {
                    break 'all;
                }
            }
            cookie = last.cookie;
        }
        if bytes.is_empty() && !matches!(self.store.list(node, from, 1).as_deref(), Ok([]) | Err(_))
        {
            return Err(FileFault::BadRequest);
        }
        block.write(0, &bytes);
        Ok(bytes.len() as u32)
    }
}

type FileStart = sing_sdk::contracts::FileContract::Start;
