//! The driver of virtio's source of random bytes (virtio 1.x, device id 4), over memory-mapped
//! registers and PCI alike.
//!
//! It serves `EntropyContract` to whoever binds it; who starts it says where in the name space it
//! is. A client's block goes to the device as it came, and back: this driver never looks at the
//! bytes, and keeps none.
//!
//! Invariants:
//! - No client can stop another: each has one request at a time, of a bounded size, and clients are
//!   served in turn.
//! - A device that takes too long, or gives nothing, ends the driver, and so is reset.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::time::Duration;
use sing_sdk::device::{Device, Irq, MAX_QUEUE, Part, Queue};
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::rt::Waitable;
use sing_sdk::set::Refused;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{Timeout, uptime};

sing_sdk::manifest! {
    name: "virtio-rng",
    description: "drives a virtio source of random bytes",
    category: driver,
    serves: { random: EntropyContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    devices: {
        device: ["/virtio/4", "/pci/00/ff/1af4/1044", "/pci/00/ff/1af4/1005"] {
            registers: [], interrupt, queues: 1,
        },
    },
    memory: 4 MiB,
}

/// The most bytes of a request.
const MOST: usize = 4096;
/// How long the device may take for a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// The device.
struct Source {
    // Dropped first: nothing is under way then.
    queue: Queue,
    irq: Irq,
    _device: Device,
}

/// What has become of a block: it is filled; or it is not, and the client is told; or the device
/// does not work, and the block is lost or half filled.
enum Filled {
    Whole(Block),
    Not(Block),
    Broken,
}

impl Source {
    fn start(device: Device) -> Result<Source, Error> {
        device.reset()?;
        // It has no features of its own.
        device.accept(0)?;
        let irq = device.irq()?;
        let queue = device.queue(0, MAX_QUEUE)?;
        device.ready()?;
        Ok(Source {
            queue,
            irq,
            _device: device,
        })
    }

    /// Fills a block, however few bytes the device gives at once.
    fn fill(&mut self, mut block: Block) -> Filled {
        let len = block.len();
        if !(1..=MOST).contains(&len) || block.unshare().is_err() {
            return Filled::Not(block);
        }
        let until = uptime() + PATIENCE;
        let mut filled = 0;
        while filled < len {
            let part = Part::written(0, filled as u32..len as u32);
            match self.queue.add(vec![block], &[part]) {
                Ok(_) => {}
                Err(Refused { mut content, .. }) => {
                    return content.pop().map_or(Filled::Broken, Filled::Not);
                }
            }
            let _ = self.queue.notify();
            let Some((back, written @ 1..)) = self.done(until) else {
                return Filled::Broken;
            };
            block = back;
            filled = filled.saturating_add(written as usize);
        }
        Filled::Whole(block)
    }

    /// Waits until the device is done: the block, and how many bytes it has written. `None` if it
    /// was reset, or time is over.
    fn done(&mut self, until: Duration) -> Option<(Block, u32)> {
        loop {
            match self.queue.take() {
                Ok(mut done) => return Some((done.blocks.pop()?, done.written?)),
                Err(Error::WouldBlock) => {}
                Err(_) => return None,
            }
            let left = Timeout::from(until.saturating_sub(uptime()));
            wait_any(&[self.irq.handle()], left).ok()?;
            self.irq.acknowledge();
        }
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut source = Source::start(startup::device().ok_or(Error::NotFound)?)?;
    let lookup = startup::random().ok_or(Error::NotFound)?;
    let mut random: Provider<_, _> = Provider::new(lookup, EntropyContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case random.clients[key].Fill(block) as client => {
                let client = match source.fill(block.into_block()) {
                    Filled::Whole(block) => client.send_filled(Vector::from_block(block)),
                    Filled::Not(block) => client.send_not_filled(Vector::from_block(block)),
                    Filled::Broken => {
                        sing_sdk::log!("virtio-rng: the device gives nothing");
                        return Err(Error::BadState);
                    }
                };
                random.clients.put(key, client);
            }
            case random.clients[_].ChannelClosed() => {}
            case &random.lookup => {
                // Clients bind the device itself; there is nothing below it.
                if random.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
