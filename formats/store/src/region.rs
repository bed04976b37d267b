//! The metadata's part of the disk, as the database sees it: one run of bytes.
//!
//! Its chunks are given to it as they are first written, from a reserve that the allocator of the
//! store fills: the database doubles its length as it grows, but uses the front of it. The map of
//! the chunks is written before the flush that makes the pages in them safe, so whatever a commit
//! names is in the map.
//!
//! In a read-only region, writes stay in memory: the database writes as it opens.

use crate::disk::{Disk, DiskFault, SECTOR};
use crate::error::Error;
use crate::layout::{Layout, Map, SPARES};
use crate::types::BLOCK;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use redb::{BackendError, StorageBackend};
use spinning_top::Spinlock;

/// The most blocks that a read-only region keeps in memory.
const MOST_KEPT: usize = 1024;

/// The disk and the state of the region; the lock is never contended, as a store has one user.
pub struct Inner<D> {
    pub disk: D,
    layout: Layout,
    map: Map,
    /// The map in memory differs from the one on the disk.
    dirty: bool,
    /// Chunks of the disk that are the metadata's, but not in use yet. The first of them are the
    /// spares of the map: those that the map on the disk names are here or in use.
    reserve: Vec<u32>,
    /// Chunks that the map no longer names, but perhaps that on the disk.
    dropped: Vec<u32>,
    /// In a read-only region: the blocks written.
    kept: Option<BTreeMap<u64, Box<[u8]>>>,
    /// Why the last request failed.
    fault: Option<Error>,
}

/// A region; clones are the same one.
pub struct Region<D>(Arc<Spinlock<Inner<D>>>);

impl<D> Clone for Region<D> {
    fn clone(&self) -> Self {
        Region(self.0.clone())
    }
}

impl<D> fmt::Debug for Region<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Region")
    }
}

impl<D: Disk> Region<D> {
    pub fn new(disk: D, layout: Layout, map: Map, read_only: bool) -> Self {
        let reserve = map.spares.clone();
        Region(Arc::new(Spinlock::new(Inner {
            disk,
            layout,
            map,
            dirty: false,
            reserve,
            dropped: Vec::new(),
            kept: read_only.then(BTreeMap::new),
            fault: None,
        })))
    }

    /// Works with the disk.
    pub fn with_disk<R>(&self, work: impl FnOnce(&mut D) -> R) -> R {
        work(&mut self.0.lock().disk)
    }

    /// Gives the disk back, if this is the last clone.
    pub fn into_disk(self) -> Option<D> {
        Some(Arc::into_inner(self.0)?.into_inner().disk)
    }

    /// The chunks of the disk that are the metadata's.
    pub fn chunks(&self) -> Vec<u32> {
        let inner = self.0.lock();
        let mapped = inner.map.chunks.iter().copied().filter(|&c| c != 0);
        mapped
            .chain(inner.dropped.iter().chain(&inner.reserve).copied())
            .collect()
    }

    /// How many chunks the metadata uses.
    pub fn mapped(&self) -> u64 {
        self.0.lock().map.chunks.iter().filter(|&&c| c != 0).count() as u64
    }

    /// How many chunks are there for growth.
    pub fn reserve(&self) -> usize {
        self.0.lock().reserve.len()
    }

    /// Adds a chunk of the disk for growth.
    pub fn give(&self, chunk: u32) {
        let mut inner = self.0.lock();
        inner.dirty |= inner.reserve.len() < SPARES;
        inner.reserve.push(chunk);
    }

    /// Takes a chunk for growth back, but no spare.
    pub fn take(&self) -> Option<u32> {
        let mut inner = self.0.lock();
        if inner.reserve.len() > SPARES {
            inner.reserve.pop()
        } else {
            None
        }
    }

    /// Why the last request failed, if one did since the last call.
    pub fn take_fault(&self) -> Option<Error> {
        self.0.lock().fault.take()
    }

    fn run<R>(
        &self,
        work: impl FnOnce(&mut Inner<D>) -> Result<R, Error>,
    ) -> Result<R, BackendError> {
        let mut inner = self.0.lock();
        work(&mut inner).map_err(|error| {
            inner.fault = Some(error);
            BackendError::Other(Box::new(error))
        })
    }
}

impl<D: Disk> Inner<D> {
    /// The parts of a range of the region that lie together on the disk: where, and how many bytes.
    fn place(&self, offset: u64, bytes: usize) -> Result<(u64, Option<u64>, usize), Error> {
        let size = self.layout.chunk * BLOCK;
        let index = offset / size;
        let within = offset % size;
        let part = (size - within).min(bytes as u64) as usize;
        match self.map.chunks.get(index as usize) {
            None => Err(Error::Disk(DiskFault::OutOfRange)),
            Some(0) => Ok((index, None, part)),
            Some(&chunk) => Ok((index, Some(u64::from(chunk) * size + within), part)),
        }
    }

    fn inside(&self, offset: u64, bytes: usize) -> Result<(), Error> {
        match offset.checked_add(bytes as u64) {
            Some(end) if end <= self.map.bytes => Ok(()),
            _ => Err(Error::Corrupt("metadata points beyond its end")),
        }
    }

    fn read(&mut self, mut offset: u64, mut out: &mut [u8]) -> Result<(), Error> {
        self.inside(offset, out.len())?;
        while !out.is_empty() {
            let (_, place, part) = self.place(offset, out.len())?;
            let (now, rest) = out.split_at_mut(part);
            match place {
                None => now.fill(0),
                Some(at) => read_bytes(&mut self.disk, at, now)?,
            }
            self.read_kept(offset, now);
            out = rest;
            offset += part as u64;
        }
        Ok(())
    }

    /// Lays what a read-only region has kept over what was read.
    fn read_kept(&self, offset: u64, out: &mut [u8]) {
        let Some(kept) = &self.kept else { return };
        let end = offset + out.len() as u64;
        for (block, data) in kept.range(offset / BLOCK..end.div_ceil(BLOCK)) {
            let from = (block * BLOCK).max(offset);
            let to = ((block + 1) * BLOCK).min(end);
            out[(from - offset) as usize..(to - offset) as usize].copy_from_slice(
                &data[(from - block * BLOCK) as usize..(to - block * BLOCK) as usize],
            );
        }
    }

    fn keep(&mut self, mut offset: u64, mut data: &[u8]) -> Result<(), Error> {
        while !data.is_empty() {
            let block = offset / BLOCK;
            let within = (offset % BLOCK) as usize;
            let part = (BLOCK as usize - within).min(data.len());
            let mut now = vec![0; BLOCK as usize].into_boxed_slice();
            let there = BLOCK.min(self.map.bytes - block * BLOCK) as usize;
            self.read(block * BLOCK, &mut now[..there])?;
            now[within..within + part].copy_from_slice(&data[..part]);
            let Some(kept) = &mut self.kept else {
                return Err(Error::ReadOnly);
            };
            if kept.len() >= MOST_KEPT && !kept.contains_key(&block) {
                return Err(Error::ReadOnly);
            }
            kept.insert(block, now);
            data = &data[part..];
            offset += part as u64;
        }
        Ok(())
    }

    fn write(&mut self, mut offset: u64, mut data: &[u8]) -> Result<(), Error> {
        self.inside(offset, data.len())?;
        if self.kept.is_some() {
            return self.keep(offset, data);
        }
        while !data.is_empty() {
            let (index, place, part) = self.place(offset, data.len())?;
            let at = match place {
                Some(at) => at,
                None => {
                    let chunk = self.reserve.pop().ok_or(Error::NoSpace)?;
                    self.map.chunks[index as usize] = chunk;
                    self.dirty = true;
                    continue;
                }
            };
            write_bytes(&mut self.disk, at, &data[..part])?;
            data = &data[part..];
            offset += part as u64;
        }
        Ok(())
    }

    fn set_len(&mut self, bytes: u64) -> Result<(), Error> {
        let size = self.layout.chunk * BLOCK;
        if bytes > self.layout.entries * size {
            return Err(Error::NoSpace);
        }
        if self.map.bytes == bytes {
            return Ok(());
        }
        self.map.bytes = bytes;
        self.dirty = true;
        if self.kept.is_none() {
            for chunk in &mut self.map.chunks[bytes.div_ceil(size) as usize..] {
                if *chunk != 0 {
                    self.dropped.push(core::mem::take(chunk));
                }
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        if self.kept.is_some() {
            return Ok(());
        }
        if self.dirty {
            // Until the flush is done, the other copy is the valid one: should it fail, the next
            // attempt writes over this copy again.
            let mut next = self.map.clone();
            next.sequence += 1;
            next.spares = self.reserve.iter().take(SPARES).copied().collect();
            next.write(&self.layout, &mut self.disk)?;
            self.disk.flush()?;
            self.map.sequence = next.sequence;
            self.dirty = false;
            self.reserve.append(&mut self.dropped);
            return Ok(());
        }
        Ok(self.disk.flush()?)
    }
}

impl<D: Disk> StorageBackend for Region<D> {
    fn len(&self) -> Result<u64, BackendError> {
        Ok(self.0.lock().map.bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), BackendError> {
        self.run(|inner| inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> Result<(), BackendError> {
        self.run(|inner| inner.set_len(len))
    }

    fn sync_data(&self) -> Result<(), BackendError> {
        self.run(Inner::sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), BackendError> {
        self.run(|inner| inner.write(offset, data))
    }
}

/// Reads any bytes: whole sectors are read where the range does not begin or end with one.
pub fn read_bytes(disk: &mut impl Disk, at: u64, out: &mut [u8]) -> Result<(), DiskFault> {
    let (start, end) = sectors(at, out.len());
    if start == at && end == at + out.len() as u64 {
        return disk.read(at, out);
    }
    let mut buffer = vec![0; (end - start) as usize];
    disk.read(start, &mut buffer)?;
    let within = (at - start) as usize;
    out.copy_from_slice(&buffer[within..within + out.len()]);
    Ok(())
}

/// Writes any bytes; the rest of the sectors they lie in stays.
pub fn write_bytes(disk: &mut impl Disk, at: u64, data: &[u8]) -> Result<(), DiskFault> {
    let (start, end) = sectors(at, data.len());
    if start == at && end == at + data.len() as u64 {
        return disk.write(at, data);
    }
    let mut buffer = vec![0; (end - start) as usize];
    disk.read(start, &mut buffer)?;
    let within = (at - start) as usize;
    buffer[within..within + data.len()].copy_from_slice(data);
    disk.write(start, &buffer)
}

fn sectors(at: u64, bytes: usize) -> (u64, u64) {
    let end = at + bytes as u64;
    (at - at % SECTOR, end.next_multiple_of(SECTOR))
}
