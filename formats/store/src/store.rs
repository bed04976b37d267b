//! A store from its making to its unmounting, and what all operations share: each is done as a
//! whole or not at all, and begins only if there is room for the metadata it will write.

use crate::disk::Disk;
use crate::error::Error;
use crate::layout::{Layout, Map, SPARES, Super, VERSION};
use crate::meta::Meta;
use crate::recent::Recent;
use crate::records::{Node, State, VOLUME_KEY, key, tag};
use crate::region::Region;
use crate::sizes::Tidying;
use crate::space::Space as Allocator;
use crate::types::*;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// Pages that a commit may write besides those of the records that have changed.
const PAGES_OF_A_COMMIT: usize = 24;
/// Pages that a changed record may cost a commit.
const PAGES_OF_A_CHANGE: usize = 2;
/// Records that an operation changes that only gives back, about.
const SMALL: usize = 8;
/// Pages that may be looked at for each commit to find out how many are unused.
const PAGES_FOR_A_COMMIT: u64 = 4096;
/// Records that a request in flight may change when it ends, for each of its pieces.
const CHANGES_OF_A_PIECE: usize = 4;

/// A mounted file system.
pub struct Store<D: Disk> {
    pub(crate) meta: Meta<D>,
    pub(crate) region: Region<D>,
    pub(crate) space: Allocator,
    pub(crate) state: State,
    pub(crate) recent: Recent,
    /// The state differs from the record.
    dirty: bool,
    pub(crate) layout: Layout,
    volume: Volume,
    read_only: bool,
    /// So many changes are gathered.
    limit: usize,
    /// How many users each node has that has any.
    pub(crate) held: BTreeMap<NodeId, u32>,
    /// Pieces of the writes in flight.
    pub(crate) pieces: usize,
    /// Where tidying goes on.
    pub(crate) tidying: Tidying,
    /// So many pages at least the database has to itself that it does not use.
    unused: u64,
    /// That is exact.
    measured: bool,
    /// Commits since it was.
    commits: u64,
}

impl<D: Disk> Store<D> {
    /// Makes an empty file system; what was on the disk is lost.
    pub fn format(mut disk: D, options: &FormatOptions) -> Result<D, Error> {
        if options.label.len() > LONGEST_NAME {
            return Err(Error::BadName);
        }
        let layout = Layout::of(disk.bytes() / BLOCK)?;
        let found = Super {
            layout,
            uuid: options.uuid,
        };
        Super::erase(&layout, &mut disk)?;
        let region = Region::new(disk, layout, Map::new(&layout), false);
        // At the end of the disk, where the allocator takes chunks, too.
        let last = layout.blocks / layout.chunk;
        for chunk in 1..=2 * SPARES as u64 {
            region.give((last - chunk) as u32);
        }
        let mut meta = Meta::open(region.clone(), 1 << 20, false)?;
        let root = Node::new(Kind::Directory, ROOT, options.now);
        let state = State {
            next: ROOT.0 + 1,
            nodes: 1,
            used: 0,
        };
        meta.put(&key(tag::NODE, ROOT.0), &root.encode());
        meta.put(VOLUME_KEY, &state.encode(&options.label));
        meta.commit()?;
        drop(meta.close());
        // Only now the disk says that it holds a file system.
        region.with_disk(|disk| {
            found.write(disk)?;
            disk.flush().map_err(Error::from)
        })?;
        region.into_disk().ok_or(Error::Busy)
    }

    /// What there is on a disk, from its first blocks alone; the label is left out.
    /// [`Error::NotStore`] if there is none.
    pub fn probe(disk: &mut D) -> Result<Volume, Error> {
        Ok(volume(&Super::read(disk)?, String::new()))
    }

    /// Takes the file system of a disk into use.
    pub fn mount(mut disk: D, options: &MountOptions) -> Result<Self, Error> {
        let found = Super::read(&mut disk)?;
        let layout = found.layout;
        let map = Map::read(&layout, &mut disk)?;
        let region = Region::new(disk, layout, map, options.read_only);
        let mut meta = Meta::open(region.clone(), options.cache, options.verify)?;
        let record = meta
            .get(VOLUME_KEY)?
            .ok_or(Error::Corrupt("it has no volume's record"))?;
        let (state, label) = State::decode(&record)?;
        let space = Allocator::new(layout, &region.chunks());
        let mut store = Store {
            meta,
            region,
            space,
            state,
            recent: Recent::default(),
            dirty: false,
            layout,
            volume: volume(&found, label),
            read_only: options.read_only,
            limit: options.changes.min((layout.blocks / 64) as usize).max(32),
            held: BTreeMap::new(),
            pieces: 0,
            tidying: Tidying::default(),
            unused: 0,
            measured: false,
            commits: u64::from(u32::MAX),
        };
        if store.node(ROOT)?.kind != Kind::Directory {
            return Err(Error::Corrupt("its root is not a directory"));
        }
        Ok(store)
    }

    /// Syncs and gives the disk back. If the sync fails, what was gathered is lost.
    pub fn unmount(mut self) -> Result<D, Error> {
        self.sync()?;
        drop(self.meta.close());
        self.region.into_disk().ok_or(Error::Busy)
    }

    /// The disk, for reading and writing file data.
    pub fn with_disk<R>(&mut self, work: impl FnOnce(&mut D) -> R) -> R {
        self.region.with_disk(work)
    }

    /// What there is on the disk.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// Changes the label.
    pub fn set_label(&mut self, label: &str) -> Result<(), Error> {
        if label.len() > LONGEST_NAME {
            return Err(Error::BadName);
        }
        self.change(1, |_| Ok(()))?;
        self.volume.label = label.into();
        self.dirty = true;
        Ok(())
    }

    /// How the space is used.
    pub fn space(&self) -> Space {
        let metadata = self.region.chunks().len() as u64 * self.layout.chunk;
        Space {
            total: (self.layout.blocks - self.layout.first()) * BLOCK,
            free: self.space.free(self.state.used) * BLOCK,
            metadata: metadata * BLOCK,
            nodes: self.state.nodes,
        }
    }

    /// How many changes of records wait for a sync. 0: nothing to sync.
    pub fn changes(&self) -> usize {
        self.meta.changes() + usize::from(self.dirty)
    }

    /// Makes all that was done before safe from a power cut: the operations, and the data of
    /// which [`written`](Store::written) was told. If it fails, nothing is lost, and the next
    /// sync tries again.
    pub fn sync(&mut self) -> Result<(), Error> {
        if self.read_only {
            return Ok(());
        }
        if self.changes() == 0 {
            return Ok(self.with_disk(D::flush)?);
        }
        // For the allocator's records of the database, if there is room. If there is none, it may
        // do with pages of its own.
        self.reserve(self.meta.changes())?;
        self.meta
            .put(VOLUME_KEY, &self.state.encode(&self.volume.label));
        let pages = (PAGES_OF_A_COMMIT + self.meta.changes() * PAGES_OF_A_CHANGE) as u64;
        self.meta.commit()?;
        self.dirty = false;
        self.space.committed();
        self.unused = self.unused.saturating_sub(pages);
        self.measured = false;
        self.commits = self.commits.saturating_add(1);
        Ok(())
    }

    /// Tidies and syncs to get space back, a bounded amount of work in a call, except that
    /// metadata of which the greater part is unused is compacted. Whether trying again after
    /// [`Error::NoSpace`] makes sense.
    pub fn reclaim(&mut self) -> Result<bool, Error> {
        let before = self.space.free(self.state.used);
        let tidied = self.tidy()?;
        if self.changes() > 0 {
            self.sync()?;
        }
        if self.meta.changes() == 0 && self.measure()? {
            let mapped = self.region.mapped() * self.layout.chunk;
            if mapped > 4 * self.layout.chunk && self.unused > mapped / 2 {
                self.meta.compact()?;
                self.meta
                    .put(VOLUME_KEY, &self.state.encode(&self.volume.label));
                self.meta.commit()?;
                self.measured = false;
            }
        }
        self.give_back();
        Ok(self.space.free(self.state.used) > before || tidied == Progress::More)
    }

    /// Finds out how many pages the database has to itself; whether that is known now.
    fn measure(&mut self) -> Result<bool, Error> {
        let mapped = self.region.mapped() * self.layout.chunk;
        // It takes a look at all pages: that must not be done for each commit, if they are many.
        if !self.measured && self.commits.saturating_mul(PAGES_FOR_A_COMMIT) >= mapped {
            // The pages that the last commit has replaced are free after another one.
            self.meta
                .put(VOLUME_KEY, &self.state.encode(&self.volume.label));
            self.meta.commit()?;
            self.space.committed();
            self.unused = mapped.saturating_sub(self.meta.pages()?);
            self.measured = true;
            self.commits = 0;
        }
        Ok(self.measured)
    }

    /// Makes the file system read-only for [`Error::ReadOnly`]'s sake.
    pub(crate) fn writable(&self) -> Result<(), Error> {
        if self.read_only {
            Err(Error::ReadOnly)
        } else {
            Ok(())
        }
    }

    /// Does an operation as a whole or not at all. `growth`: it adds so many records at most; 0 if
    /// it only gives back.
    pub(crate) fn change<R>(
        &mut self,
        growth: usize,
        work: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.writable()?;
        if self.meta.changes() + growth > self.limit {
            self.sync()?;
        }
        if growth == 0 && self.meta.changes() > 0 && !self.reserve(self.meta.changes() + SMALL)? {
            // What gives back goes in small commits, which find room in what the last one left.
            self.sync()?;
        }
        if growth > 0 && !self.has_room(growth)? {
            if self.changes() > 0 {
                self.sync()?;
            }
            self.measure()?;
            if !self.has_room(growth)? {
                return Err(Error::NoSpace);
            }
        }
        self.meta.begin();
        self.space.begin();
        let before = (self.state, self.pieces);
        let done = work(self);
        if done.is_ok() {
            self.dirty |= self.state != before.0;
        } else {
            self.meta.undo();
            self.space.undo();
            (self.state, self.pieces) = before;
        }
        done
    }

    /// Whether the metadata can grow by so many records, with those that wait already. What only
    /// gives back is done without asking, and has what is left here.
    fn has_room(&mut self, growth: usize) -> Result<bool, Error> {
        let waiting = self.meta.changes() + self.pieces * CHANGES_OF_A_PIECE;
        self.reserve(waiting + growth + PAGES_OF_A_COMMIT)
    }

    /// Takes chunks for a commit of so many changes; whether there are enough.
    pub(crate) fn reserve(&mut self, changes: usize) -> Result<bool, Error> {
        let pages = (PAGES_OF_A_COMMIT + changes * PAGES_OF_A_CHANGE) as u64;
        let chunks = pages.div_ceil(self.layout.chunk) as usize;
        while self.region.reserve() < chunks {
            match self.space.find_chunk(&mut self.meta)? {
                Some(chunk) => self.region.give(chunk),
                None => {
                    let reserved = self.region.reserve() as u64 * self.layout.chunk;
                    return Ok(reserved + self.unused >= pages);
                }
            }
        }
        Ok(true)
    }

    /// Gives chunks to the files that no commit of the changes there are will need.
    pub(crate) fn give_back(&mut self) {
        let changes = self.meta.changes() + self.pieces * CHANGES_OF_A_PIECE;
        let pages = 2 * PAGES_OF_A_COMMIT + changes * PAGES_OF_A_CHANGE;
        let chunks = (pages as u64).div_ceil(self.layout.chunk) as usize;
        while self.region.reserve() > chunks {
            let Some(chunk) = self.region.take() else {
                return;
            };
            self.space
                .unwithhold(u64::from(chunk) * self.layout.chunk, self.layout.chunk);
        }
    }

    pub(crate) fn node(&mut self, id: NodeId) -> Result<Node, Error> {
        if let Some(node) = self.recent.node(id, self.meta.versions()) {
            return Ok(*node);
        }
        let value = self
            .meta
            .get(&key(tag::NODE, id.0))?
            .ok_or(Error::NotFound)?;
        let node = Node::decode(&value)?;
        self.recent.keep_node(id, self.meta.versions(), &node);
        Ok(node)
    }

    pub(crate) fn put_node(&mut self, id: NodeId, node: &Node) {
        let before = self.meta.versions();
        self.meta.put(&key(tag::NODE, id.0), &node.encode());
        let now = self.meta.versions();
        self.recent.change_node(id, before, now, node);
    }
}

fn volume(found: &Super, label: String) -> Volume {
    Volume {
        label,
        uuid: found.uuid,
        version: VERSION,
        bytes: found.layout.blocks * BLOCK,
    }
}
