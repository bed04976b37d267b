//! The fixed blocks at the front of the disk.
//!
//! Blocks 0 and 1 hold the superblock twice: what never changes after formatting. Behind them lie
//! two copies of the chunk map, which says where the chunks of the metadata lie; a new map is
//! written over the older copy, so that one valid copy remains whenever the power fails. All
//! numbers are little-endian, all blocks are covered by SHA-256.

use crate::disk::Disk;
use crate::error::Error;
use crate::types::BLOCK;
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// The version of the format.
pub const VERSION: u32 = 1;
/// The smallest disk in blocks.
pub const FEWEST_BLOCKS: u64 = 256;
/// The largest disk in blocks: 16 TiB.
pub const MOST_BLOCKS: u64 = 1 << 32;

const SUPER_MAGIC: &[u8; 8] = b"SINGFS\r\n";
const MAP_MAGIC: &[u8; 8] = b"SINGMAP\n";
/// Entries are spread over at most so many bytes for each copy of the map.
const MOST_ENTRIES: u64 = 16_368;
const MAP_HEAD: usize = 128;
/// So many chunks of the map's reserve are in the map, so that there is room for what a mount
/// writes before it knows which blocks are free.
pub const SPARES: usize = 4;
const FEWEST_ENTRIES: u64 = 64;
const SMALLEST_CHUNK: u64 = 16;

/// Where what lies, all in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Blocks in use of the disk.
    pub blocks: u64,
    /// Blocks of a chunk of metadata; chunks lie at multiples of it.
    pub chunk: u64,
    /// Chunks that the metadata may have.
    pub entries: u64,
    /// Blocks of each copy of the map.
    pub map_blocks: u64,
}

impl Layout {
    /// The layout of a disk of so many blocks.
    pub fn of(blocks: u64) -> Result<Layout, Error> {
        if blocks < FEWEST_BLOCKS {
            return Err(Error::TooSmall);
        }
        let blocks = blocks.min(MOST_BLOCKS);
        // The database doubles its length as it grows, of which at least a half is in use: so
        // metadata may have at least a quarter of the disk.
        let mut chunk = SMALLEST_CHUNK;
        while blocks / 2 / chunk > MOST_ENTRIES {
            chunk *= 2;
        }
        let entries = (blocks / 2 / chunk).max(FEWEST_ENTRIES);
        let map_blocks = (MAP_HEAD as u64 + entries * 4).div_ceil(BLOCK);
        Ok(Layout {
            blocks,
            chunk,
            entries,
            map_blocks,
        })
    }

    /// Where a copy of the map begins.
    pub fn map_at(&self, copy: u64) -> u64 {
        2 + (copy & 1) * self.map_blocks
    }

    /// The first block that is for files and metadata.
    pub fn first(&self) -> u64 {
        2 + 2 * self.map_blocks
    }

    /// Whether these blocks may be a file's or a chunk.
    pub fn holds(&self, start: u64, blocks: u64) -> bool {
        start >= self.first()
            && start
                .checked_add(blocks)
                .is_some_and(|end| end <= self.blocks)
    }
}

/// The superblock.
pub struct Super {
    pub layout: Layout,
    pub uuid: [u8; 16],
}

impl Super {
    fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; BLOCK as usize];
        block[..8].copy_from_slice(SUPER_MAGIC);
        block[8..12].copy_from_slice(&VERSION.to_le_bytes());
        block[12..16].copy_from_slice(&(BLOCK as u32).to_le_bytes());
        block[16..24].copy_from_slice(&self.layout.blocks.to_le_bytes());
        block[24..32].copy_from_slice(&self.layout.chunk.to_le_bytes());
        block[32..40].copy_from_slice(&self.layout.entries.to_le_bytes());
        block[40..56].copy_from_slice(&self.uuid);
        let sum = Sha256::digest(&block[..BLOCK as usize - 32]);
        block[BLOCK as usize - 32..].copy_from_slice(&sum);
        block
    }

    fn decode(block: &[u8], blocks: u64) -> Result<Super, Error> {
        if &block[..8] != SUPER_MAGIC {
            return Err(Error::NotStore);
        }
        let (body, sum) = block.split_at(BLOCK as usize - 32);
        if Sha256::digest(body).as_slice() != sum {
            return Err(Error::Corrupt("the checksum of the first block is wrong"));
        }
        let version = u32_at(block, 8);
        if version != VERSION {
            return Err(Error::Version(version));
        }
        // Everything else follows from the size, which leaves nothing to lie about.
        let layout = Layout::of(u64_at(block, 16))?;
        let told = (u32_at(block, 12), u64_at(block, 24), u64_at(block, 32));
        if told != (BLOCK as u32, layout.chunk, layout.entries) {
            return Err(Error::Corrupt("the layout in the first block is wrong"));
        }
        if layout.blocks > blocks {
            return Err(Error::Corrupt("the disk is smaller than the file system"));
        }
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&block[40..56]);
        Ok(Super { layout, uuid })
    }

    /// Writes both copies.
    pub fn write(&self, disk: &mut impl Disk) -> Result<(), Error> {
        let block = self.encode();
        disk.write(0, &block)?;
        disk.write(BLOCK, &block)?;
        Ok(())
    }

    /// Reads the first copy that is right.
    pub fn read(disk: &mut impl Disk) -> Result<Super, Error> {
        let blocks = disk.bytes() / BLOCK;
        if blocks < 2 {
            return Err(Error::NotStore);
        }
        let mut first = Error::NotStore;
        for copy in 0..2 {
            let mut block = vec![0; BLOCK as usize];
            let found = disk
                .read(copy * BLOCK, &mut block)
                .map_err(Error::from)
                .and_then(|()| Super::decode(&block, blocks));
            match found {
                Ok(found) => return Ok(found),
                Err(error) if error != Error::NotStore => first = error,
                Err(_) => {}
            }
        }
        Err(first)
    }

    /// Overwrites all fixed blocks, so that the disk holds no file system while one is being made.
    pub fn erase(layout: &Layout, disk: &mut impl Disk) -> Result<(), Error> {
        let zeros = vec![0; BLOCK as usize];
        for block in 0..layout.first() {
            disk.write(block * BLOCK, &zeros)?;
        }
        Ok(disk.flush()?)
    }
}

/// The map of the metadata's chunks.
#[derive(Clone, Debug)]
pub struct Map {
    /// Grows with each map that was written; its parity says to which copy.
    pub sequence: u64,
    /// The length of the metadata in bytes, as its database sees it.
    pub bytes: u64,
    /// For each chunk of the metadata, which one of the disk it is; 0: none yet.
    pub chunks: Vec<u32>,
    /// Chunks of the disk that are the metadata's, but not in use: at most [`SPARES`].
    pub spares: Vec<u32>,
}

impl Map {
    /// The map of no metadata.
    pub fn new(layout: &Layout) -> Map {
        Map {
            sequence: 0,
            bytes: 0,
            chunks: vec![0; layout.entries as usize],
            spares: Vec::new(),
        }
    }

    /// Writes the map over the older copy.
    pub fn write(&self, layout: &Layout, disk: &mut impl Disk) -> Result<(), Error> {
        let used = self
            .chunks
            .iter()
            .rposition(|&c| c != 0)
            .map_or(0, |i| i + 1);
        let mut data = vec![0; (MAP_HEAD + used * 4).next_multiple_of(BLOCK as usize)];
        data[..8].copy_from_slice(MAP_MAGIC);
        data[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        data[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        data[24..28].copy_from_slice(&(used as u32).to_le_bytes());
        for (place, chunk) in data[64..]
            .chunks_exact_mut(4)
            .zip(self.spares.iter().take(SPARES))
        {
            place.copy_from_slice(&chunk.to_le_bytes());
        }
        for (place, chunk) in data[MAP_HEAD..]
            .chunks_exact_mut(4)
            .zip(&self.chunks[..used])
        {
            place.copy_from_slice(&chunk.to_le_bytes());
        }
        let sum = Self::sum(&data, used);
        data[32..64].copy_from_slice(&sum);
        disk.write(layout.map_at(self.sequence) * BLOCK, &data)?;
        Ok(())
    }

    fn sum(data: &[u8], used: usize) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(&data[..32]);
        hash.update(&data[64..MAP_HEAD + used * 4]);
        hash.finalize().into()
    }

    /// Reads the newer one of the right copies.
    pub fn read(layout: &Layout, disk: &mut impl Disk) -> Result<Map, Error> {
        let mut found: Option<Map> = None;
        let mut failed = Error::Corrupt("neither copy of the chunk map is right");
        for copy in 0..2 {
            let mut data = vec![0; (layout.map_blocks * BLOCK) as usize];
            match disk.read(layout.map_at(copy) * BLOCK, &mut data) {
                Ok(()) => {
                    let map = Self::decode(layout, &data).filter(|m| m.sequence & 1 == copy);
                    found = match (found, map) {
                        (Some(a), Some(b)) if b.sequence > a.sequence => Some(b),
                        (None, b) => b,
                        (a, _) => a,
                    };
                }
                Err(fault) => failed = fault.into(),
            }
        }
        // The copy that cannot be read may be the newer one.
        match (found, failed) {
            (Some(_), Error::Disk(fault)) => Err(fault.into()),
            (Some(map), _) => Ok(map),
            (None, error) => Err(error),
        }
    }

    fn decode(layout: &Layout, data: &[u8]) -> Option<Map> {
        let used = u32_at(data, 24) as usize;
        if &data[..8] != MAP_MAGIC || used as u64 > layout.entries {
            return None;
        }
        if Self::sum(data, used) != data[32..64] {
            return None;
        }
        let mut map = Map::new(layout);
        map.sequence = u64_at(data, 8);
        map.bytes = u64_at(data, 16);
        if map.bytes > layout.entries * layout.chunk * BLOCK {
            return None;
        }
        let mut taken: Vec<u32> = Vec::new();
        let entries = data[MAP_HEAD..].chunks_exact(4).take(used);
        for (chunk, told) in map.chunks.iter_mut().zip(entries) {
            *chunk = u32_at(told, 0);
            taken.extend((*chunk != 0).then_some(*chunk));
        }
        for spare in data[64..].chunks_exact(4).take(SPARES) {
            let spare = u32_at(spare, 0);
            map.spares.extend((spare != 0).then_some(spare));
        }
        taken.extend(&map.spares);
        if !taken
            .iter()
            .all(|&c| layout.holds(u64::from(c) * layout.chunk, layout.chunk))
        {
            return None;
        }
        taken.sort_unstable();
        taken.windows(2).all(|w| w[0] != w[1]).then_some(map)
    }
}

/// The number at this place; the place is within the data.
pub fn u32_at(data: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&data[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// The number at this place; the place is within the data.
pub fn u64_at(data: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&data[at..at + 8]);
    u64::from_le_bytes(bytes)
}
