//! A client of a disk: reads what the host has put there, writes what the host will look for, with
//! many requests under way, and asks for what cannot be.
//!
//! Byte `n` of a disk that is as it should be is [`pattern`]`(n)`. The host writes so the second
//! MiB before the test, and expects the first MiB so afterwards.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "disk",
    description: "tests a disk",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    memory: 64 MiB,
}

sing_sdk::arguments! {
    /// The disk: /dev/disk0.
    path: one String "PATH";
}

type Start = DiskContract::Imp<DiskContract::Start>;
type Ready = DiskContract::Imp<DiskContract::Ready>;
type Reading = DiskContract::imp::Ready_Read;
type Writing = DiskContract::imp::Ready_Write;

const SECTOR: u32 = 512;
const MIB: u64 = 1 << 20;
/// Channels with a request under way each.
const CHANNELS: usize = 40;

/// The byte at this place of the disk.
fn pattern(at: u64) -> u8 {
    let mixed = (at / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (at % 8 * 8)) as u8
}

/// A channel to the disk.
fn connect(names: &mut Names, path: &str) -> Result<Ready, Error> {
    let (imp, exp): (Start, _) = DiskContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(imp.recv_success()?)
}

/// A block of `len` bytes of the pattern, from this place of the disk on.
fn written(at: u64, len: u32) -> Result<Vector<u8>, Error> {
    let bytes: Vec<u8> = (0..u64::from(len)).map(|i| pattern(at + i)).collect();
    Vector::from_bytes(&bytes)
}

/// How many bytes are not as the pattern has them.
fn wrong(at: u64, bytes: &[u8]) -> usize {
    let places = bytes.iter().zip(at..);
    places.filter(|(b, at)| **b != pattern(*at)).count()
}

fn read(disk: Ready, at: u64, len: u32) -> Result<(Ready, Vec<u8>), Error> {
    let block = Vector::<u8>::new(len as usize)?;
    match disk.call_read(at / u64::from(SECTOR), block, 0, len) {
        Reading::Data(block, next) => Ok((next, block.to_vec())),
        Reading::Failed(..) => Err(Error::BadState),
        Reading::Closed => Err(Error::Closed),
    }
}

#[sing_sdk::main]
fn main(Arguments { path }: Arguments) -> Result<(), Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let disk = connect(&mut names, &path)?;
    let (sectors, sector, read_only, parallel, most, disk) = match disk.call_get_geometry() {
        DiskContract::imp::Ready_GetGeometry::Geometry(a, b, c, d, e, next) => {
            (a, b, c, d, e, next)
        }
        DiskContract::imp::Ready_GetGeometry::Closed => return Err(Error::Closed),
    };
    println!(
        "geometry: {sectors} sectors of {sector} bytes, read-only {read_only}, {parallel} at once, up to {most} bytes"
    );
    let (disk, bytes) = read(disk, MIB, 65536)?;
    println!("what the host wrote: {} wrong", wrong(MIB, &bytes));

    // Many at once: each channel writes its part of the first MiB.
    let mut others = Vec::new();
    for _ in 0..CHANNELS {
        others.push(connect(&mut names, &path)?);
    }
    let len = (MIB / 64) as u32;
    let mut at = 0;
    let mut failed = 0;
    while at < MIB {
        let mut busy = Vec::new();
        let mut next = Vec::new();
        for channel in others {
            if at < MIB {
                let block = written(at, len)?;
                busy.push(channel.send_write(at / u64::from(SECTOR), block, 0, len));
                at += u64::from(len);
            } else {
                next.push(channel);
            }
        }
        for channel in busy {
            match channel.recv() {
                Writing::Written(_, channel) => next.push(channel),
                Writing::Failed(_, _, channel) => {
                    failed += 1;
                    next.push(channel);
                }
                Writing::Closed => return Err(Error::Closed),
            }
        }
        others = next;
    }
    println!("writes: {failed} failed");
    let disk = match disk.call_flush() {
        DiskContract::imp::Ready_Flush::Flushed(next) => next,
        DiskContract::imp::Ready_Flush::NotFlushed(_, next) => {
            println!("not flushed");
            next
        }
        DiskContract::imp::Ready_Flush::Closed => return Err(Error::Closed),
    };

    // A part of a block, in the middle of it.
    let mut disk = disk;
    let mut differ = 0;
    for (sector, start, count) in [
        (0, 512, 512),
        (3, 1024, 4096),
        (100, 0, 65536),
        (1, 3584, 12288),
    ] {
        let block = Vector::<u8>::new(128 << 10)?;
        disk = match disk.call_read(sector, block, start, count) {
            Reading::Data(block, next) => {
                let bytes = block.to_vec();
                let (start, end) = (start as usize, (start + count) as usize);
                differ += wrong(sector * u64::from(SECTOR), &bytes[start..end]);
                differ += bytes[..start]
                    .iter()
                    .chain(&bytes[end..])
                    .filter(|b| **b != 0)
                    .count();
                next
            }
            Reading::Failed(_, _, next) => {
                differ += 1;
                next
            }
            Reading::Closed => return Err(Error::Closed),
        };
    }
    println!("what was written: {differ} wrong");

    // Blocks that share a page with others: small ones, and parts of a larger one.
    let mut differ = 0;
    let mut front = Vector::<u8>::new(16384)?.into_block();
    let back = front.split(6144)?;
    for block in [Block::new(512)?, Block::new(1024)?, front, back] {
        let len = block.len() as u32;
        disk = match disk.call_read(7, Vector::from_block(block), 0, len) {
            Reading::Data(block, next) => {
                differ += wrong(7 * u64::from(SECTOR), &block.to_vec());
                let block = written(9 * u64::from(SECTOR), 512)?;
                match next.call_write(9, block, 0, 512) {
                    Writing::Written(_, next) => next,
                    Writing::Failed(..) => return Err(Error::BadState),
                    Writing::Closed => return Err(Error::Closed),
                }
            }
            Reading::Failed(_, _, next) => {
                differ += 1;
                next
            }
            Reading::Closed => return Err(Error::Closed),
        };
    }
    println!("blocks that share pages: {differ} wrong");

    // What cannot be is refused, and the block comes back.
    let mut refused = 0;
    for (sector, start, count) in [
        (sectors, 0, 512),
        (sectors - 1, 0, 1024),
        (u64::MAX, 0, 512),
        (0, 0, 0),
        (0, 1, 512),
        (0, 0, 511),
        (0, 512, u32::MAX - 511),
        (0, 4096, 512),
    ] {
        let block = Vector::<u8>::new(4096)?;
        disk = match disk.call_read(sector, block, start, count) {
            Reading::Data(_, next) => next,
            Reading::Failed(fault, block, next) => {
                refused += usize::from(fault == DiskFault::OutOfRange && block.len() == 4096);
                next
            }
            Reading::Closed => return Err(Error::Closed),
        };
    }
    // A block that somebody else can read is not written to.
    let mut shared = Block::new(4096)?;
    let view = shared.share(0..4096)?;
    disk = match disk.call_read(0, Vector::from_block(shared), 0, 4096) {
        Reading::Data(_, next) => next,
        Reading::Failed(_, _, next) => {
            refused += 1;
            next
        }
        Reading::Closed => return Err(Error::Closed),
    };
    println!(
        "refused: {refused} of 9, the view has {} bytes set",
        view.to_vec().iter().filter(|b| **b != 0).count()
    );

    // Clients that go while their requests are under way.
    for channel in others {
        drop(channel.send_read(0, Vector::new(65536)?, 0, 65536));
    }
    let (_, bytes) = read(disk, 0, 65536)?;
    println!("after others have gone: {} wrong", wrong(0, &bytes));
    Ok(())
}
