//! The device: its features, its geometry, and requests in its terms ([virtio], 5.2).
//!
//! [virtio]: https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html

use disk_driver::{Answer, DiskDevice, Geometry, MOST, NotBegun, PARALLEL, Request};
use sing_sdk::device::{Device, Done, Irq, MAX_QUEUE, Part, Queue, Registers};
use sing_sdk::prelude::*;
use sing_sdk::set::Refused;

/// The base-2 logarithm of the bytes of a sector: the device counts in these, whatever its own are.
const SHIFT: u32 = 9;

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

/// The disk.
pub struct Disk {
    // Dropped first: nothing is under way then.
    queue: Queue,
    irq: Irq,
    _registers: Registers,
    _device: Device,
    /// Own blocks of requests that are not under way.
    free: Vec<Block>,
    geometry: Geometry,
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
        let geometry = Geometry {
            sectors: u64::from(high) << 32 | u64::from(low),
            shift: SHIFT,
            // A block that begins within a page has one piece more than whole pages.
            most: segments
                .saturating_sub(1)
                .max(1)
                .saturating_mul(4096)
                .min(MOST),
            read_only: has(READ_ONLY),
            flushes: has(FLUSH),
            discards: discards > 0 && !has(READ_ONLY),
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
            geometry,
            discards,
        })
    }
}

impl DiskDevice for Disk {
    type Signal = Irq;

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn irq(&self) -> &Irq {
        &self.irq
    }

    fn begin(&mut self, request: Request) -> Result<usize, NotBegun> {
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

    fn notify(&self) -> bool {
        self.queue.notify()
    }

    fn take(&mut self) -> Result<Answer, Error> {
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
