//! Reading and writing by copying: any bytes, through the disk.

use crate::disk::{Disk, DiskFault};
use crate::error::Error;
use crate::region::{read_bytes, write_bytes};
use crate::store::Store;
use crate::types::*;
use alloc::vec;

/// Bytes that a copying write has in flight.
const COPIED: u64 = 64 * BLOCK;
/// How often a copying write tries to get space back.
const MOST_TRIES: usize = 1000;

impl<D: Disk> Store<D> {
    /// Reads from `offset` on, by copying; returns how many bytes, fewer than asked for only at
    /// the end of the file.
    pub fn read_at(
        &mut self,
        file: NodeId,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset.saturating_add(done as u64);
            let want = (buffer.len() - done) as u64;
            let reading = self.map(file, at, want, MOST_PIECES)?;
            let bytes = reading.bytes;
            let target = &mut buffer[done..done + bytes as usize];
            let read = self.with_disk(|disk| {
                for piece in &reading.pieces {
                    let from = piece.offset.max(at);
                    let to = (piece.offset + piece.bytes).min(at + bytes);
                    let part = &mut target[(from - at) as usize..(to - at) as usize];
                    match piece.disk {
                        Some(disk_at) => read_bytes(disk, disk_at + (from - piece.offset), part)?,
                        None => part.fill(0),
                    }
                }
                Ok(())
            });
            self.done(reading);
            read.map_err(Error::Disk)?;
            if bytes == 0 {
                break;
            }
            done += bytes as usize;
        }
        Ok(done)
    }

    /// Writes all of `data` from `offset` on, by copying. If it fails, a part of it may have been
    /// written, from its beginning on.
    pub fn write_at(
        &mut self,
        file: NodeId,
        offset: u64,
        data: &[u8],
        now: u64,
    ) -> Result<(), Error> {
        let end = offset
            .checked_add(data.len() as u64)
            .filter(|e| *e <= LARGEST_FILE);
        let end = end.ok_or(Error::TooLarge)?;
        let size = self.file(file)?.size;
        if offset > size && !data.is_empty() {
            self.writable()?;
            self.settle(file)?;
            self.zero_tail(file, size)?;
        }
        let mut at = offset;
        let mut tries = 0;
        while at < end {
            let first = at - at % BLOCK;
            let bytes = (end.next_multiple_of(BLOCK) - first).min(COPIED);
            let writing = match self.prepare_write(file, first, bytes, MOST_PIECES) {
                Ok(writing) => writing,
                Err(Error::NoSpace) if tries < MOST_TRIES && self.reclaim()? => {
                    tries += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let to = writing.end().min(end);
            let part = &data[(at - offset) as usize..(to - offset) as usize];
            if let Err(fault) = self.with_disk(|disk| write_pieces(disk, &writing.pieces, at, part))
            {
                self.abandon(writing);
                return Err(fault.into());
            }
            self.written(writing, to, now)?;
            at = to;
        }
        Ok(())
    }
}

/// Writes a part of the range that the pieces cover. A new block is written whole.
fn write_pieces<D: Disk>(
    disk: &mut D,
    pieces: &[Piece],
    at: u64,
    data: &[u8],
) -> Result<(), DiskFault> {
    let end = at + data.len() as u64;
    for piece in pieces {
        let Some(disk_at) = piece.disk else { continue };
        let from = piece.offset.max(at);
        let to = (piece.offset + piece.bytes).min(end);
        let part = &data[(from - at) as usize..(to - at) as usize];
        if !piece.fresh {
            write_bytes(disk, disk_at + (from - piece.offset), part)?;
        } else if part.len() as u64 == piece.bytes {
            disk.write(disk_at, part)?;
        } else {
            let mut whole = vec![0; piece.bytes as usize];
            let within = (from - piece.offset) as usize;
            whole[within..within + part.len()].copy_from_slice(part);
            disk.write(disk_at, &whole)?;
        }
    }
    Ok(())
}
