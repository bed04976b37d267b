//! The device: messages in the requests of its queue, one at a time.
//!
//! Data of reads and writes are the client's own block: it goes to the device as it came, and back,
//! uncopied.

use core::ops::Range;
use core::time::Duration;
use sing_p9::{BadPath, DATA_HEAD, MOUNT_TAG, mount_path};
use sing_sdk::device::{Device, Done, Irq, MAX_QUEUE, Part, Queue};
use sing_sdk::prelude::*;
use sing_sdk::rt::Waitable;
use sing_sdk::set::Refused;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{Timeout, uptime};
use virtio_9p::{ANSWER, Failed, Moved, REQUEST, Transport};

/// How long an answer is waited for. A host whose file system takes longer is taken for gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest mount tag that is looked at; a longer one is no path all the same.
const TAG: u16 = 64;

/// The device.
pub struct Host {
    // Dropped first: nothing is under way then.
    queue: Queue,
    irq: Irq,
    _device: Device,
    /// The request's own block: the message, and behind it the answer.
    own: Option<Block>,
}

/// What is wrong with a device.
pub enum Bad {
    /// The system refuses something.
    System(Error),
    /// It does not say where its directory is to be.
    NoTag,
    /// Its mount tag is no path.
    Tag(BadPath),
}

impl From<Error> for Bad {
    fn from(error: Error) -> Bad {
        Bad::System(error)
    }
}

impl Host {
    /// Starts the device; the path where its directory is to be.
    pub fn start(device: Device) -> Result<(Host, String), Bad> {
        let offered = device.reset()?;
        if offered & MOUNT_TAG == 0 {
            return Err(Bad::NoTag);
        }
        device.accept(MOUNT_TAG)?;
        let registers = device.registers(0)?;
        let room = registers.len().saturating_sub(2).min(TAG.into()) as u16;
        if registers.len() < 2 {
            return Err(Bad::NoTag);
        }
        let len = registers.read_u16(0);
        let tag: Vec<u8> = (0..len.min(room))
            .map(|i| registers.read_u8(2 + u32::from(i)))
            .collect();
        let path = mount_path(&tag).map_err(Bad::Tag)?;
        if usize::from(len) != tag.len() {
            return Err(Bad::Tag(BadPath::TooLong));
        }
        let irq = device.irq()?;
        let queue = device.queue(0, MAX_QUEUE)?;
        device.ready()?;
        let own = Some(Block::new(REQUEST + ANSWER)?);
        let host = Host {
            queue,
            irq,
            _device: device,
            own,
        };
        Ok((host, path.into()))
    }

    /// Hands the device a request and waits until it is done. `data` is a further block, with the
    /// part of it that the device reads or writes. Returns the block, and how many bytes the device
    /// says it has written.
    fn request(
        &mut self,
        message: &[u8],
        room: usize,
        data: Option<(Block, Part)>,
    ) -> Moved<Block> {
        // Nothing has gone to the device: the session goes on.
        if message.len() > REQUEST {
            return (data.map(|(block, _)| block), Err(Failed::NotSent));
        }
        let Some(mut own) = self.own.take() else {
            return (None, Err(Failed::Lost));
        };
        own.write(0, message);
        let asked = Part::read(0, 0..message.len() as u32);
        let answered = Part::written(0, REQUEST as u32..(REQUEST + room) as u32);
        let mut blocks = vec![own];
        let mut parts = vec![asked];
        match data {
            // What the device reads stands before what it writes.
            Some((block, part)) if part.writes => {
                blocks.push(block);
                parts.extend([answered, part]);
            }
            Some((block, part)) => {
                blocks.push(block);
                parts.extend([part, answered]);
            }
            None => parts.push(answered),
        }
        if let Err(Refused { content, error }) = self.queue.add(blocks, &parts) {
            let mut content = content.into_iter();
            self.own = content.next();
            let why = match error {
                Error::Closed => Failed::Lost,
                _ => Failed::NotSent,
            };
            return (content.next(), Err(why));
        }
        // Done already or not: `done` looks before it waits.
        let _ = self.queue.notify();
        let Some(done) = self.done() else {
            return (None, Err(Failed::Lost));
        };
        let mut blocks = done.blocks.into_iter();
        self.own = blocks.next();
        (blocks.next(), done.written.ok_or(Failed::Lost))
    }

    /// Waits until the device is done with the request; `None` if that is not to be expected.
    fn done(&mut self) -> Option<Done> {
        let until = uptime() + PATIENCE;
        loop {
            match self.queue.take() {
                Ok(done) => return Some(done),
                Err(Error::WouldBlock) => {}
                Err(_) => return None,
            }
            let left = Timeout::from(until.saturating_sub(uptime()));
            wait_any(&[self.irq.handle()], left).ok()?;
            self.irq.acknowledge();
        }
    }

    /// Copies the answer out, as far as it was written.
    fn answer(&self, written: u32, most: usize, reply: &mut Vec<u8>) {
        reply.clear();
        if let Some(own) = &self.own {
            reply.resize(most.min(written as usize), 0);
            own.read(REQUEST, reply);
        }
    }
}

impl Transport for Host {
    type Data = Block;

    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failed> {
        let (_, written) = self.request(request, ANSWER, None);
        self.answer(written?, ANSWER, reply);
        Ok(())
    }

    fn send(
        &mut self,
        head: &[u8],
        data: Block,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Block> {
        let data = (data, Part::read(1, part));
        let moved = self.request(head, DATA_HEAD, Some(data));
        self.answer(moved.1.unwrap_or(0), DATA_HEAD, reply);
        moved
    }

    fn fill(
        &mut self,
        request: &[u8],
        data: Block,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Block> {
        let data = (data, Part::written(1, part));
        let moved = self.request(request, DATA_HEAD, Some(data));
        self.answer(moved.1.unwrap_or(0), DATA_HEAD, reply);
        moved
    }
}
