//! The model of blocks: their bytes, sharing, and trees.

use crate::raw;
use crate::{Failure, expect};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use fastrand::Rng;
use sing_abi::status::{BAD_ARGUMENT, BAD_STATE, NOT_FOUND, OK};

/// The most blocks at a time, without those inside others.
const MOST: usize = 200;
/// The largest block.
const LARGEST: u32 = 3000;

/// A block and its contents. Blocks of one region share its bytes.
pub struct Node {
    bytes: Rc<RefCell<Vec<u8>>>,
    base: u32,
    len: u32,
    read_only: bool,
    parts: BTreeMap<u32, Node>,
}

impl Node {
    fn new(len: u32) -> Node {
        Node {
            bytes: Rc::new(RefCell::new(alloc::vec![0; len as usize])),
            base: 0,
            len,
            read_only: false,
            parts: BTreeMap::new(),
        }
    }

    /// A second block of the same region.
    fn view(&self, base: u32, len: u32, read_only: bool) -> Node {
        Node {
            bytes: self.bytes.clone(),
            base: self.base + base,
            len,
            read_only,
            parts: BTreeMap::new(),
        }
    }

    /// Blocks in the tree, and their bytes.
    pub fn count(&self) -> (u64, u64) {
        let parts = self.parts.values().map(Node::count);
        parts.fold((1, u64::from(self.len)), |a, b| (a.0 + b.0, a.1 + b.1))
    }
}

/// A block under its handle.
pub struct Owned {
    /// Its handle.
    pub handle: u32,
    /// Its contents.
    pub node: Node,
}

/// The blocks that are neither in a message nor in another block.
#[derive(Default)]
pub struct Heap {
    /// Those of this thread.
    pub owned: Vec<Owned>,
    parked: Vec<Owned>,
}

impl Heap {
    /// Blocks, and their bytes.
    pub fn count(&self) -> (u64, u64) {
        let all = self.owned.iter().chain(&self.parked);
        all.map(|o| o.node.count())
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Removes some block, if there is one.
    pub fn take(&mut self, rng: &mut Rng) -> Option<Owned> {
        (!self.owned.is_empty()).then(|| self.owned.swap_remove(rng.usize(..self.owned.len())))
    }

    /// Adds a block from a message.
    pub fn put(&mut self, handle: u32, node: Node) -> Result<(), Failure> {
        expect(
            "the size of what came",
            raw::xh_size(handle),
            node.len as i32,
        )?;
        self.owned.push(Owned { handle, node });
        Ok(())
    }

    /// One operation.
    pub fn step(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        if self.owned.len() < MOST && (self.owned.is_empty() || rng.u32(..4) == 0) {
            let len = rng.u32(1..=LARGEST);
            let handle = given("alloc", raw::xh_alloc(len, 0))?;
            let node = Node::new(len);
            self.owned.push(Owned { handle, node });
            return Ok(());
        }
        let at = rng.usize(..self.owned.len());
        match rng.u32(..10) {
            0 => self.free(at),
            1 => self.share(at, rng),
            2 => self.split(at, rng),
            3 => self.unshare(at),
            4 | 5 => self.attach(at, rng),
            6 => self.detach(at, rng),
            7 => self.park(at, rng),
            _ => self.look(at, rng),
        }
    }

    fn free(&mut self, at: usize) -> Result<(), Failure> {
        let gone = self.owned.swap_remove(at);
        expect("free", raw::xh_free(gone.handle), OK)
    }

    /// Reads a byte, and writes it where that may be.
    fn look(&mut self, at: usize, rng: &mut Rng) -> Result<(), Failure> {
        let Owned { handle, node } = &mut self.owned[at];
        let offset = rng.u32(..node.len);
        let mut bytes = node.bytes.borrow_mut();
        let byte = &mut bytes[(node.base + offset) as usize];
        expect("a byte", raw::xh_load8(*handle, offset), i32::from(*byte))?;
        if !node.read_only {
            *byte = rng.u8(..);
            raw::xh_store8(*handle, offset, i32::from(*byte));
        }
        Ok(())
    }

    fn share(&mut self, at: usize, rng: &mut Rng) -> Result<(), Failure> {
        let Owned { handle, node } = &mut self.owned[at];
        let (start, end) = (rng.u32(..=node.len), rng.u32(..=node.len + 1));
        let result = raw::xh_share(*handle, start, end);
        if start >= end || end > node.len {
            return expect("a share of nothing", result, BAD_ARGUMENT);
        }
        node.read_only = true;
        let node = node.view(start, end - start, true);
        let handle = given("share", result)?;
        self.owned.push(Owned { handle, node });
        Ok(())
    }

    fn split(&mut self, at: usize, rng: &mut Rng) -> Result<(), Failure> {
        let Owned { handle, node } = &mut self.owned[at];
        let offset = rng.u32(..=node.len);
        let result = raw::xh_split(*handle, offset);
        if offset == 0 || offset == node.len {
            return expect("a split off nothing", result, BAD_ARGUMENT);
        }
        if !node.parts.is_empty() {
            return expect("a split of a tree", result, BAD_STATE);
        }
        let rest = node.view(offset, node.len - offset, node.read_only);
        node.len = offset;
        let handle = given("split", result)?;
        self.owned.push(Owned { handle, node: rest });
        Ok(())
    }

    fn unshare(&mut self, at: usize) -> Result<(), Failure> {
        let Owned { handle, node } = &mut self.owned[at];
        let result = raw::xh_unshare(*handle);
        if Rc::strong_count(&node.bytes) > 1 {
            return expect("an unshare of what is shared", result, BAD_STATE);
        }
        node.read_only = false;
        expect("unshare", result, OK)
    }

    fn attach(&mut self, at: usize, rng: &mut Rng) -> Result<(), Failure> {
        let child = self.owned.swap_remove(at);
        if self.owned.is_empty() {
            self.owned.push(child);
            return Ok(());
        }
        let to = rng.usize(..self.owned.len());
        let Owned { handle, node } = &mut self.owned[to];
        let offset = if rng.u32(..8) == 0 {
            rng.u32(..LARGEST + 8)
        } else {
            rng.u32(..=node.len / 4) * 4
        };
        let result = raw::xh_attach(*handle, offset, child.handle);
        let wanted = if !offset.is_multiple_of(4) || offset + 4 > node.len {
            BAD_ARGUMENT
        } else if node.read_only || node.parts.contains_key(&offset) {
            BAD_STATE
        } else {
            OK
        };
        if wanted == OK {
            node.parts.insert(offset, child.node);
        } else {
            self.owned.push(child);
        }
        expect("attach", result, wanted)
    }

    fn detach(&mut self, at: usize, rng: &mut Rng) -> Result<(), Failure> {
        let Owned { handle, node } = &mut self.owned[at];
        let known: Vec<u32> = node.parts.keys().copied().collect();
        let offset = match known.len() {
            n @ 1.. if rng.bool() => known[rng.usize(..n)],
            _ => rng.u32(..LARGEST),
        };
        let result = raw::xh_detach(*handle, offset);
        match node.parts.remove(&offset) {
            Some(part) => {
                let handle = given("detach", result)?;
                self.put(handle, part)
            }
            None => expect("detach of nothing", result, NOT_FOUND),
        }
    }

    /// Parks a block, or takes or gives up one that is parked.
    fn park(&mut self, at: usize, rng: &mut Rng) -> Result<(), Failure> {
        if self.parked.is_empty() || rng.bool() {
            let Owned { handle, node } = self.owned.swap_remove(at);
            let handle = given("park", raw::xh_park(handle))?;
            self.parked.push(Owned { handle, node });
            return Ok(());
        }
        let at = rng.usize(..self.parked.len());
        let Owned { handle, node } = self.parked.swap_remove(at);
        if rng.u32(..4) == 0 {
            return expect("the end of a parked block", raw::handle_dispose(handle), OK);
        }
        let handle = given("unpark", raw::xh_unpark(handle))?;
        self.put(handle, node)
    }
}

/// A handle that was given.
pub fn given(what: &str, result: i32) -> Result<u32, Failure> {
    match u32::try_from(result) {
        Ok(handle @ 1..) => Ok(handle),
        _ => Err(Failure::new(what, result, 1)),
    }
}
