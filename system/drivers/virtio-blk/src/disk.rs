//! The device: its features, its geometry, and requests in its terms ([virtio], 5.2).
//!
//! [virtio]: https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html

use sing_sdk::device::{Device, Done, Irq, MAX_QUEUE, Part, Queue, Registers};
use sing_sdk::prelude::*;
use sing_sdk::set::Refused;

/// The largest block that is taken, in bytes: what all clients have here together fits the budget.
const LARGEST: usize = 1 << 20;
/// Bytes of a sector: the device counts in these, whatever its own are.
pub const SECTOR: u32 = 512;
/// The most bytes of a request's data.
const MOST: u32 = 512 << 10;
/// Requests that the device has at once, at most.
pub const PARALLEL: usize = 32;

/// Features: the number of segments is limited, the disk is read-only, it can be told to flush its
/// cache, and to forget sectors.
const SEGMENTS: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const FLUSH: u64 = 1 << 9;
const DISCARD: u64 = 1 << 13;

/// Places in the device's configuration.
const CAPACITY: u32 = 0;
const SEGMENTS_MOST: u32 = 12;
const DISCARD_MOST: u32 = 36;

/// Kinds of request.
const IN: u32 = 0;
const OUT: u32 = 1;
const DO_FLUSH: u32 = 4;
const DO_DISCARD: u32 = 11;

/// Places in a request's own block: what the device reads, and the byte that it answers with.
const HEADER: u32 = 16;
const STATUS: u32 = 32;
const BLOCK: usize = 64;
/// The answer of a request that was done.
const DONE: u8 = 0;
/// An answer that no device gives: the byte is untouched.
const UNANSWERED: u8 = 0xff;

/// What is asked of the disk.
pub enum Request {
    /// Fill these bytes of the block from the disk.
    Read {
        sector: u64,
        block: Block,
        start: u32,
        count: u32,
    },
    /// Write these bytes of the block to the disk.
    Write {
        sector: u64,
        block: Block,
        start: u32,
        count: u32,
    },
    /// Make all that was written before safe.
    Flush,
    /// Forget these sectors.
    Discard { sector: u64, sectors: u64 },
}

/// A request that is not begun.
pub struct NotBegun {
    /// The request.
    pub request: Request,
    /// Why.
    pub reason: Error,
}

/// A request that is done.
pub struct Answer {
    /// Its number.
    pub number: usize,
    /// Whether it was.
    pub done: bool,
    /// The client's block, if it has one.
    pub block: Option<Block>,
}

/// The disk.
pub struct Disk {
    // Dropped first: nothing is under way then.
    queue: Queue,
    /// Its interrupt.
    pub irq: Irq,
    _registers: Registers,
    _device: Device,
    /// Own blocks of requests that are not under way.
    free: Vec<Block>,
    sectors: u64,
    most: u32,
    read_only: bool,
    flushes: bool,
    /// The most sectors that can be discarded at once; 0 if none.
    discards: u32,
}

impl Disk {
    /// Starts the device.
    pub fn start(device: Device) -> Result<Disk, Error> {
        let offered = device.reset()?;
        let features = offered & (SEGMENTS | READ_ONLY | FLUSH | DISCARD);
        device.accept(features)?;
        let registers = device.registers(0)?;
        let has = |feature: u64| features & feature != 0;
        let low = registers.read_u32(CAPACITY);
        let high = registers.read_u32(CAPACITY + 4);
        let segments = if has(SEGMENTS) {
            registers.read_u32(SEGMENTS_MOST).max(1)
        } else {
            1
        };
        let discards = if has(DISCARD) {
            registers.read_u32(DISCARD_MOST)
        } else {
            0
        };
        let irq = device.irq()?;
        let queue = device.queue(0, MAX_QUEUE)?;
        device.ready()?;
        let mut free = Vec::new();
        for _ in 0..PARALLEL {
            free.push(Block::new(BLOCK)?);
        }
        Ok(Disk {
            queue,
            irq,
            _registers: registers,
            _device: device,
            free,
            sectors: u64::from(high) << 32 | u64::from(low),
            // A block that begins within a page has one piece more than whole pages.
            most: segments
                .saturating_sub(1)
                .max(1)
                .saturating_mul(4096)
                .min(MOST),
            read_only: has(READ_ONLY),
            flushes: has(FLUSH),
            discards,
        })
    }

    /// How many sectors it has.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// The most bytes of a request.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Whether it cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether a flush does anything: without a cache, what was written is safe.
    pub fn flushes(&self) -> bool {
        self.flushes
    }

    /// Whether it can forget sectors.
    pub fn discards(&self) -> bool {
        self.discards > 0 && !self.read_only
    }

    /// Whether the block is not too large, and these bytes of a block of `len` bytes, and the
    /// sectors, are there.
    pub fn holds(&self, sector: u64, len: usize, start: u32, count: u32) -> bool {
        let sectors = u64::from(count / SECTOR);
        let whole = start.is_multiple_of(SECTOR) && count.is_multiple_of(SECTOR);
        let in_block = len <= LARGEST && u64::from(start) + u64::from(count) <= len as u64;
        let end = sector.checked_add(sectors);
        whole
            && (SECTOR..=self.most).contains(&count)
            && in_block
            && end.is_some_and(|e| e <= self.sectors)
    }

    /// Hands a request to the device; its number. [`Error::WouldBlock`] says that there is no room
    /// now.
    pub fn begin(&mut self, request: Request) -> Result<usize, NotBegun> {
        let Some(mut own) = self.free.pop() else {
            return Err(NotBegun {
                request,
                reason: Error::WouldBlock,
            });
        };
        let (kind, sector) = match &request {
            Request::Read { sector, .. } => (IN, *sector),
            Request::Write { sector, .. } => (OUT, *sector),
            Request::Flush => (DO_FLUSH, 0),
            Request::Discard { .. } => (DO_DISCARD, 0),
        };
        own.store_u32(0, kind);
        own.store_u32(4, 0);
        own.store_u64(8, sector);
        own.store_u8(STATUS as usize, UNANSWERED);
        let header = Part::read(0, 0..HEADER);
        let status = Part::written(0, STATUS..STATUS + 1);
        let (blocks, result) = match request {
            Request::Read {
                sector,
                block,
                start,
                count,
            } => {
                let data = Part::written(1, start..start + count);
                let added = self.queue.add(vec![own, block], &[header, data, status]);
                let again = move |block| Request::Read {
                    sector,
                    block,
                    start,
                    count,
                };
                split(added, again)
            }
            Request::Write {
                sector,
                block,
                start,
                count,
            } => {
                let data = Part::read(1, start..start + count);
                let added = self.queue.add(vec![own, block], &[header, data, status]);
                let again = move |block| Request::Write {
                    sector,
                    block,
                    start,
                    count,
                };
                split(added, again)
            }
            Request::Flush => alone(self.queue.add(vec![own], &[header, status]), Request::Flush),
            Request::Discard { sector, sectors } => {
                let count = u32::try_from(sectors)
                    .unwrap_or(u32::MAX)
                    .min(self.discards);
                own.store_u64(HEADER as usize, sector);
                own.store_u32(HEADER as usize + 8, count);
                own.store_u32(HEADER as usize + 12, 0);
                let both = Part::read(0, 0..HEADER + 16);
                let request = Request::Discard { sector, sectors };
                alone(self.queue.add(vec![own], &[both, status]), request)
            }
        };
        self.free.extend(blocks);
        result
    }

    /// Tells the device of what was begun. Whether something is done already.
    pub fn notify(&self) -> bool {
        self.queue.notify()
    }

    /// A request that is done. [`Error::WouldBlock`] if none is.
    pub fn take(&mut self) -> Result<Answer, Error> {
        let Done {
            number,
            written,
            blocks,
        } = self.queue.take()?;
        let mut blocks = blocks.into_iter();
        let own = blocks.next();
        let answered = own.as_ref().map(|own| own.load_u8(STATUS as usize));
        self.free.extend(own);
        Ok(Answer {
            number,
            done: written.is_some() && answered == Some(DONE),
            block: blocks.next(),
        })
    }
}

type Begun = Result<usize, NotBegun>;

/// The request's own block, if the request was refused, and the outcome. `again` makes the request
/// of the client's block.
fn split(
    added: Result<usize, Refused<Vec<Block>>>,
    again: impl Fn(Block) -> Request,
) -> (Option<Block>, Begun) {
    match added {
        Ok(number) => (None, Ok(number)),
        Err(Refused { mut content, error }) => {
            let block = content.pop();
            let own = content.pop();
            let request = block.map_or(Request::Flush, again);
            let reason = error;
            (own, Err(NotBegun { request, reason }))
        }
    }
}

/// The same for a request without a client's block.
fn alone(added: Result<usize, Refused<Vec<Block>>>, request: Request) -> (Option<Block>, Begun) {
    match added {
        Ok(number) => (None, Ok(number)),
        Err(Refused { mut content, error }) => {
            let reason = error;
            (content.pop(), Err(NotBegun { request, reason }))
        }
    }
}
