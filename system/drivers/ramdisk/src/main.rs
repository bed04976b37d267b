//! A disk in memory: serves `DiskContract` at a path of the name space, empty at its start and gone
//! with its end.
//!
//! Invariants:
//! - The memory is taken at the start, so no request fails for want of it.
//! - No client can stop another: a request takes a bounded time, and nothing is kept for one but
//!   its channel.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "ramdisk",
    description: "a disk in memory: ramdisk PATH MIB",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    memory: 1 GiB,
}

const SECTOR: usize = 512;
/// Bytes of one request at most.
const MOST: usize = 1 << 20;
/// A disk of memory is as quick with one request as with several.
const PARALLEL: u32 = 1;
/// MiB at most.
const LARGEST: u32 = 896;

/// The sectors, in pieces: one allocation of the whole size would need as much in one place.
struct Sectors(Vec<Vec<u8>>);

/// Bytes of a piece; a multiple of a sector.
const PIECE: usize = 256 << 10;

impl Sectors {
    fn new(mib: u32) -> Result<Sectors, Error> {
        let mut pieces = Vec::new();
        for _ in 0..mib as usize * (1 << 20) / PIECE {
            let mut piece: Vec<u8> = Vec::new();
            piece
                .try_reserve_exact(PIECE)
                .map_err(|_| Error::NoResources)?;
            piece.resize(PIECE, 0);
            pieces.push(piece);
        }
        Ok(Sectors(pieces))
    }

    fn bytes(&self) -> usize {
        self.0.len() * PIECE
    }

    /// The bytes of a request on the disk, if it is one.
    fn place(
        &self,
        sector: u64,
        block: &Block,
        start: u32,
        count: u32,
    ) -> Result<usize, DiskFault> {
        let (start, count) = (start as usize, count as usize);
        let inside = start <= block.len() && count <= block.len() - start;
        let whole = start.is_multiple_of(SECTOR) && count.is_multiple_of(SECTOR);
        if !inside || !whole || count > MOST {
            return Err(DiskFault::OutOfRange);
        }
        let place = usize::try_from(sector)
            .ok()
            .and_then(|s| s.checked_mul(SECTOR));
        let place = place.filter(|p| *p <= self.bytes() && count <= self.bytes() - p);
        place.ok_or(DiskFault::OutOfRange)
    }

    /// Goes through the pieces of a range of the disk: `each` gets bytes of it, and how far they
    /// are behind its beginning.
    fn each(&mut self, place: usize, count: usize, mut each: impl FnMut(&mut [u8], usize)) {
        let mut done = 0;
        while done < count {
            let (piece, at) = ((place + done) / PIECE, (place + done) % PIECE);
            let len = (PIECE - at).min(count - done);
            each(&mut self.0[piece][at..at + len], done);
            done += len;
        }
    }

    fn read(
        &mut self,
        sector: u64,
        block: &mut Block,
        start: u32,
        count: u32,
    ) -> Result<(), DiskFault> {
        let place = self.place(sector, block, start, count)?;
        // A block with another view cannot be written; to write it all the same ends the process.
        block.unshare().map_err(|_| DiskFault::OutOfRange)?;
        self.each(place, count as usize, |bytes, at| {
            block.write(start as usize + at, bytes)
        });
        Ok(())
    }

    fn write(
        &mut self,
        sector: u64,
        block: &Block,
        start: u32,
        count: u32,
    ) -> Result<(), DiskFault> {
        let place = self.place(sector, block, start, count)?;
        self.each(place, count as usize, |bytes, at| {
            block.read(start as usize + at, bytes)
        });
        Ok(())
    }
}

sing_sdk::arguments! {
    /// Where in the name space, such as /dev/ram0.
    path: one Path "PATH";
    /// The size in MiB.
    mib: one u32 "MIB";
}

#[sing_sdk::main]
fn main(Arguments { path, mib }: Arguments) -> i32 {
    match serve(&path, mib) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("ramdisk: {path}, {mib} MiB: {error}");
            1
        }
    }
}

fn serve(path: &str, mib: u32) -> Result<(), Error> {
    if !(1..=LARGEST).contains(&mib) {
        return Err(Error::BadArgument);
    }
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut sectors = Sectors::new(mib)?;
    let count = (sectors.bytes() / SECTOR) as u64;
    let mut disk = Provider::register(&mut names, path, DiskContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case disk.clients[key].GetGeometry() as client => {
                let client = client.send_geometry(count, SECTOR as u32, false, PARALLEL, MOST as u32);
                disk.clients.put(key, client);
            }
            case disk.clients[key].Read(sector, buffer, start, count) as client => {
                let mut block = buffer.into_block();
                let client = match sectors.read(sector, &mut block, start, count) {
                    Ok(()) => client.send_data(Vector::from_block(block)),
                    Err(fault) => client.send_failed(fault, Vector::from_block(block)),
                };
                disk.clients.put(key, client);
            }
            case disk.clients[key].Write(sector, data, start, count) as client => {
                let block = data.into_block();
                let client = match sectors.write(sector, &block, start, count) {
                    Ok(()) => client.send_written(Vector::from_block(block)),
                    Err(fault) => client.send_failed(fault, Vector::from_block(block)),
                };
                disk.clients.put(key, client);
            }
            // Nothing is kept anywhere but in this memory.
            case disk.clients[key].Flush() as client => disk.clients.put(key, client.send_flushed()),
            case disk.clients[key].Discard(_, _) as client => {
                disk.clients.put(key, client.send_discarded());
            }
            case disk.clients[_].ChannelClosed() => {}
            case &disk.lookup => {
                // Clients bind the disk itself; there is nothing below it.
                if disk.answer(|path| (path == "/").then_some(())).is_err() {
                    disk.come_back(&mut names)?;
                }
            }
        }
    }
}
