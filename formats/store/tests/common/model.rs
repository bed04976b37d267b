//! A file system as simple as can be, and random operations on it and on a store alike.

use sing_store::{BLOCK, Disk, Error, Kind, NodeId, Progress, ROOT, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    pub links: u32,
    pub data: Arc<Vec<u8>>,
    pub entries: Arc<BTreeMap<String, NodeId>>,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub nodes: BTreeMap<NodeId, Node>,
    pub held: Vec<NodeId>,
    pub now: u64,
}

/// The longest a file gets.
pub const LONGEST: u64 = 120_000;
const NAMES: [&str; 7] = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "ü",
    "name of some length, for a change",
];

impl Model {
    pub fn new() -> Model {
        let mut nodes = BTreeMap::new();
        nodes.insert(ROOT, node(Kind::Directory));
        Model {
            nodes,
            held: Vec::new(),
            now: 1,
        }
    }

    fn pick(&self, random: &mut fastrand::Rng, kinds: &[Kind]) -> NodeId {
        let fitting: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, n)| kinds.contains(&n.kind))
            .map(|(id, _)| *id)
            .collect();
        if fitting.is_empty() {
            ROOT
        } else {
            fitting[random.usize(..fitting.len())]
        }
    }

    fn entry(&self, directory: NodeId, name: &str) -> Result<NodeId, Error> {
        let found = self.nodes.get(&directory).ok_or(Error::NotFound)?;
        if found.kind != Kind::Directory {
            return Err(Error::NotDirectory);
        }
        if found.links == 0 {
            return Err(Error::NotFound);
        }
        found.entries.get(name).copied().ok_or(Error::NotFound)
    }

    fn entries(&mut self, directory: NodeId) -> &mut BTreeMap<String, NodeId> {
        Arc::make_mut(&mut self.nodes.get_mut(&directory).expect("directory").entries)
    }

    fn vacant(&self, directory: NodeId, name: &str) -> Result<(), Error> {
        match self.entry(directory, name) {
            Ok(_) => Err(Error::Exists),
            Err(Error::NotFound) if self.nodes.get(&directory).is_some_and(|n| n.links > 0) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn unlink(&mut self, id: NodeId) {
        let node = self.nodes.get_mut(&id).expect("node");
        node.links -= 1;
        if node.links == 0 && !self.held.contains(&id) {
            self.nodes.remove(&id);
        }
    }

    fn remove(&mut self, directory: NodeId, name: &str, of: Kind) -> Result<(), Error> {
        let id = self.entry(directory, name)?;
        let found = &self.nodes[&id];
        match (of, found.kind) {
            (Kind::Directory, Kind::Directory) if !found.entries.is_empty() => {
                return Err(Error::NotEmpty);
            }
            (Kind::Directory, Kind::Directory) => {}
            (Kind::Directory, _) => return Err(Error::NotDirectory),
            (_, Kind::Directory) => return Err(Error::IsDirectory),
            _ => {}
        }
        self.entries(directory).remove(name);
        self.unlink(id);
        Ok(())
    }

    fn below(&self, top: NodeId, id: NodeId) -> bool {
        top == id
            || self.nodes[&top]
                .entries
                .values()
                .any(|&e| self.below(e, id))
    }

    fn rename(&mut self, from: (NodeId, &str), to: (NodeId, &str)) -> Result<(), Error> {
        let id = self.entry(from.0, from.1)?;
        let old = match self.entry(to.0, to.1) {
            Ok(old) => Some(old),
            Err(_) => {
                self.vacant(to.0, to.1)?;
                None
            }
        };
        let moved = self.nodes[&id].kind == Kind::Directory;
        if moved && from.0 != to.0 && self.below(id, to.0) {
            return Err(Error::Loop);
        }
        if let Some(old) = old {
            if old == id {
                return Ok(());
            }
            match (moved, self.nodes[&old].kind == Kind::Directory) {
                (true, false) => return Err(Error::NotDirectory),
                (false, true) => return Err(Error::IsDirectory),
                (true, true) if !self.nodes[&old].entries.is_empty() => {
                    return Err(Error::NotEmpty);
                }
                _ => {}
            }
        }
        self.entries(from.0).remove(from.1);
        self.entries(to.0).insert(to.1.into(), id);
        if let Some(old) = old {
            self.unlink(old);
        }
        Ok(())
    }

    fn data(&mut self, id: NodeId) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.nodes.get_mut(&id).expect("file").data)
    }

    /// What a mount leaves of what was held.
    pub fn forget_held(&mut self) {
        for id in std::mem::take(&mut self.held) {
            if self.nodes.get(&id).is_some_and(|n| n.links == 0) {
                self.nodes.remove(&id);
            }
        }
    }
}

fn node(kind: Kind) -> Node {
    Node {
        kind,
        links: 1,
        data: Arc::default(),
        entries: Arc::default(),
    }
}

/// What a step has done besides changing both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Changed,
    Synced,
}

/// Does a random operation on both; they must agree about how it ends. `tolerated`: a failure of
/// the store that is not the model's, after which the model stays as it was.
pub fn step<D: Disk>(
    store: &mut Store<D>,
    model: &mut Model,
    random: &mut fastrand::Rng,
    tolerated: fn(Error) -> bool,
) -> Step {
    model.now += 1;
    let now = model.now;
    let dirs = [Kind::Directory];
    let directory = match random.u8(..30) {
        0 => model.pick(random, &[Kind::File, Kind::Link, Kind::Directory]),
        _ => model.pick(random, &dirs),
    };
    let other = model.pick(random, &dirs);
    let name = NAMES[random.usize(..NAMES.len())];
    let second = NAMES[random.usize(..NAMES.len())];
    let file = model.pick(random, &[Kind::File]);
    let before = model.clone();
    let choice = random.u8(..100);
    let (done, expected): (Result<(), Error>, Result<(), Error>) = match choice {
        0..14 => {
            let kind = [Kind::File, Kind::File, Kind::Directory, Kind::Link][random.usize(..4)];
            let made = match kind {
                Kind::File => store.create(directory, name, now),
                Kind::Directory => store.make_directory(directory, name, now),
                Kind::Link => store.make_link(directory, name, second, now),
            };
            let expected = model.vacant(directory, name);
            if let (Ok(id), Ok(())) = (made, expected) {
                model.entries(directory).insert(name.into(), id);
                let mut new = node(kind);
                if kind == Kind::Link {
                    new.data = Arc::new(second.into());
                }
                assert!(
                    model.nodes.insert(id, new).is_none(),
                    "{id:?} is given again"
                );
            }
            (made.map(drop), expected)
        }
        14..18 => {
            let id = model.pick(random, &[Kind::File, Kind::Link, Kind::Directory]);
            let done = store.link(id, directory, name, now);
            let expected = match model.nodes[&id].kind {
                _ if model.nodes[&directory].kind != Kind::Directory => Err(Error::NotDirectory),
                _ if model.nodes[&directory].links == 0 => Err(Error::NotFound),
                Kind::Directory => Err(Error::IsDirectory),
                _ if model.nodes[&id].links == 0 => Err(Error::NotFound),
                _ => model.vacant(directory, name),
            };
            if expected.is_ok() {
                model.entries(directory).insert(name.into(), id);
                model.nodes.get_mut(&id).expect("node").links += 1;
            }
            (done, expected)
        }
        18..26 => {
            let done = store.unlink(directory, name, now);
            (done, model.remove(directory, name, Kind::File))
        }
        26..30 => {
            let done = store.remove_directory(directory, name, now);
            (done, model.remove(directory, name, Kind::Directory))
        }
        30..42 => {
            let done = store.rename((directory, name), (other, second), now);
            (done, model.rename((directory, name), (other, second)))
        }
        42..58 if file != ROOT => {
            let offset = random.u64(..LONGEST / 2);
            let data = bytes(random, LONGEST / 2);
            let done = patiently(store, |store| store.write_at(file, offset, &data, now));
            overwrite(model.data(file), offset, &data);
            (done, Ok(()))
        }
        58..70 if file != ROOT => {
            let block = random.u64(..LONGEST / 2 / BLOCK);
            let data = bytes(random, LONGEST / 2);
            let done = patiently(store, |store| {
                in_blocks(store, file, block * BLOCK, &data, now, random)
            });
            if !data.is_empty() {
                overwrite(model.data(file), block * BLOCK, &data);
            }
            (done, Ok(()))
        }
        70..78 if file != ROOT => {
            let size = random.u64(..LONGEST);
            let done = patiently(store, |store| store.set_size(file, size, now).map(drop));
            model.data(file).resize(size as usize, 0);
            (done, Ok(()))
        }
        78..82 => {
            let id = model.pick(random, &[Kind::File, Kind::Directory]);
            let done = store.hold(id);
            model.held.push(id);
            (done, Ok(()))
        }
        82..86 if !model.held.is_empty() => {
            let id = model.held.swap_remove(random.usize(..model.held.len()));
            let done = store.release(id);
            if !model.held.contains(&id) && model.nodes[&id].links == 0 {
                model.nodes.remove(&id);
            }
            (done, Ok(()))
        }
        86..92 => (store.tidy().map(drop), Ok(())),
        92..96 => {
            let done = store.sync();
            if done.is_ok() {
                return Step::Synced;
            }
            (done, Ok(()))
        }
        96..98 => (store.reclaim().map(drop), Ok(())),
        _ => {
            let times = store.set_times(file, Some(now), None, now);
            (times, Ok(()))
        }
    };
    if let Err(error) = done
        && done != expected
        && tolerated(error)
    {
        // A write of several blocks may have been done in part.
        let data = model.nodes.get(&file).map(|n| n.data.clone());
        *model = before;
        if (42..70).contains(&choice)
            && let Some(data) = data
        {
            adopt(store, model, file, &data);
        }
        return Step::Changed;
    }
    assert_eq!(
        done, expected,
        "choice {choice} {directory:?} {name} {other:?} {second} {file:?}"
    );
    Step::Changed
}

/// Tries again while an earlier truncation is not finished.
fn patiently<D: Disk>(
    store: &mut Store<D>,
    mut work: impl FnMut(&mut Store<D>) -> Result<(), Error>,
) -> Result<(), Error> {
    for _ in 0..100 {
        match work(store) {
            Err(Error::Busy) => drop(store.tidy()?),
            done => return done,
        }
    }
    panic!("it is busy for ever");
}

/// After a write that failed: what is in the file now is the old or the new.
fn adopt<D: Disk>(store: &mut Store<D>, model: &mut Model, file: NodeId, new: &[u8]) {
    let mut found = vec![0; LONGEST as usize + 1];
    let bytes = (0..50).find_map(|_| store.read_at(file, 0, &mut found).ok());
    let bytes = bytes.expect("the faults have passed");
    found.truncate(bytes);
    let old = model.data(file);
    for (at, byte) in found.iter().enumerate() {
        let fits = [old.get(at), new.get(at)].contains(&Some(byte)) || *byte == 0;
        assert!(fits, "byte {at} of {file:?} is neither old nor new");
    }
    *old = found;
}

fn bytes(random: &mut fastrand::Rng, most: u64) -> Vec<u8> {
    let length = match random.u8(..4) {
        0 => random.u64(..300),
        1 => random.u64(..10) * BLOCK,
        _ => random.u64(..most),
    };
    let byte = random.u8(1..);
    let step = random.u8(..3);
    (0..length.min(most))
        .map(|i| byte.wrapping_add(step.wrapping_mul((i / 512) as u8)))
        .collect()
}

fn overwrite(data: &mut Vec<u8>, offset: u64, new: &[u8]) {
    let end = offset as usize + new.len();
    if !new.is_empty() && data.len() < end {
        data.resize(end, 0);
    }
    if !new.is_empty() {
        data[offset as usize..end].copy_from_slice(new);
    }
}

/// Writes as a server does, which moves blocks itself.
fn in_blocks<D: Disk>(
    store: &mut Store<D>,
    file: NodeId,
    offset: u64,
    data: &[u8],
    now: u64,
    random: &mut fastrand::Rng,
) -> Result<(), Error> {
    let mut whole = data.to_vec();
    let end = offset + data.len() as u64;
    whole.resize(data.len().next_multiple_of(BLOCK as usize), 0);
    if whole.len() > data.len() {
        // The rest of the last block stays; beyond the end of the file, it is zeros.
        let at = data.len();
        let mut rest = vec![0; whole.len() - at];
        store.read_at(file, end, &mut rest)?;
        whole[at..].copy_from_slice(&rest);
    }
    let mut at = 0;
    while at < whole.len() {
        let bytes = (whole.len() - at) as u64;
        let most = random.usize(1..4);
        let writing = match store.prepare_write(file, offset + at as u64, bytes, most) {
            Err(Error::NoSpace) if store.reclaim()? => continue,
            other => other?,
        };
        let written = store.with_disk(|disk| {
            for piece in &writing.pieces {
                let from = (piece.offset - offset) as usize;
                let part = &whole[from..from + piece.bytes as usize];
                disk.write(piece.disk.expect("no hole"), part)?;
            }
            Ok(())
        });
        if let Err(fault) = written {
            store.abandon(writing);
            return Err(Error::Disk(fault));
        }
        let to = writing.end();
        store.written(writing, to.min(end), now)?;
        at = (to - offset) as usize;
    }
    Ok(())
}

/// What the store has: for each path the node, its kind, links and size.
pub type Tree = BTreeMap<String, (NodeId, Kind, u32, u64)>;

pub fn tree<D: Disk>(store: &mut Store<D>) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![(String::new(), ROOT)];
    while let Some((path, directory)) = open.pop() {
        let mut cookie = 0;
        let mut names = BTreeSet::new();
        loop {
            let entries = store.list(directory, cookie, 3).expect("list");
            let Some(last) = entries.last() else { break };
            cookie = last.cookie;
            for entry in entries {
                assert!(
                    names.insert(entry.name.clone()),
                    "{} is listed twice",
                    entry.name
                );
                let found = store.lookup(directory, &entry.name).expect("lookup");
                assert_eq!(found, entry);
                let path = format!("{path}/{}", entry.name);
                let a = store.attributes(entry.node).expect("attributes");
                assert_eq!(a.kind, entry.kind);
                if a.kind == Kind::Directory {
                    open.push((path.clone(), entry.node));
                }
                tree.insert(path, (entry.node, a.kind, a.links, a.size));
            }
        }
    }
    tree
}

impl Model {
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut open = vec![(String::new(), ROOT)];
        while let Some((path, directory)) = open.pop() {
            for (name, id) in self.nodes[&directory].entries.iter() {
                let path = format!("{path}/{name}");
                let n = &self.nodes[id];
                let size = match n.kind {
                    Kind::Directory => n.entries.len() as u64,
                    _ => n.data.len() as u64,
                };
                if n.kind == Kind::Directory {
                    open.push((path.clone(), *id));
                }
                tree.insert(path, (*id, n.kind, n.links, size));
            }
        }
        tree
    }
}

/// Where a byte lies, as a request learns it.
fn place<D: Disk>(store: &mut Store<D>, id: NodeId, offset: u64) -> Option<u64> {
    let reading = store.map(id, offset, 1, 1).expect("map");
    let disk = reading.pieces[0].disk;
    store.done(reading);
    disk.map(|disk| disk + offset % BLOCK)
}

/// The same, as who looks at memory learns it.
fn located<D: Disk>(store: &mut Store<D>, id: NodeId, offset: u64) -> Option<u64> {
    let found = store.locate(id, offset).expect("locate");
    found.map(|(disk, _)| disk)
}

pub fn contents<D: Disk>(store: &mut Store<D>, id: NodeId) -> Vec<u8> {
    let a = store.attributes(id).expect("attributes");
    if a.kind == Kind::Link {
        return store.read_link(id).expect("target").into();
    }
    assert_eq!(store.size(id), Ok(a.size));
    for offset in (0..a.size).step_by(7 * BLOCK as usize + 1) {
        assert_eq!(place(store, id, offset), located(store, id, offset));
    }
    let mut data = vec![0xEE; a.size as usize];
    assert_eq!(store.read_at(id, 0, &mut data), Ok(data.len()));
    data
}

/// They are the same, down to the last byte.
pub fn compare<D: Disk>(store: &mut Store<D>, model: &Model) {
    assert_eq!(tree(store), model.tree());
    assert!(
        store.size(ROOT).is_err(),
        "a directory has no bytes to be read"
    );
    for (id, node) in &model.nodes {
        if node.kind != Kind::Directory {
            let found = contents(store, *id);
            let at = found.iter().zip(node.data.iter()).position(|(a, b)| a != b);
            if found != *node.data {
                let runs = |d: &[u8]| {
                    d.chunk_by(|a, b| a == b)
                        .map(|r| (r[0], r.len()))
                        .collect::<Vec<_>>()
                };
                panic!(
                    "{id:?} differs from byte {at:?} on: {:?} {:?}",
                    runs(&found),
                    runs(&node.data)
                );
            }
        }
    }
}

pub fn check<D: Disk>(store: &mut Store<D>) {
    let report = store.check(10).expect("check");
    assert!(report.is_clean(), "{report:?}");
}

pub fn tidy_all<D: Disk>(store: &mut Store<D>) {
    while store.tidy().expect("tidy") == Progress::More {}
}
