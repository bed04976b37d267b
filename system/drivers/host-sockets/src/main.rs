//! The driver of the hosted machine's device for sockets of the host.
//!
//! It passes blocks of messages between the network and the device, as they are, and serves
//! `HostSocketsContract`. Sockets belong to a session: when the network closes a channel of one, or
//! ends, so does the driver, and a device without its driver closes every socket. A channel that goes
//! before any message has come begins no session: whoever gave up waiting for a driver that was being
//! started again does not end it once more.
//!
//! Invariants:
//! - A block that the network hands in is with the device until it is answered, or freed then; one request of
//!   each kind is under way at most.
//! - The device is told of no bytes that the network has not handed in for it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::device::{Device, Irq, Part, Queue};
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sockets::{BLOCK, RECEIVE, SEND};

sing_sdk::manifest! {
    name: "host-sockets",
    description: "drives sockets of the host",
    category: driver,
    serves: { sockets: HostSocketsContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    devices: {
        device: ["/virtio/1511"] {
            registers: [], interrupt, queues: 2,
        },
    },
    memory: 4 MiB,
}

/// Channels: one that sends, and one that receives.
const CLIENTS: usize = 2;
/// Requests of a queue: one is under way at a time.
const REQUESTS: u32 = 4;

type Start = HostSocketsContract::Exp<HostSocketsContract::Start>;
type Ready = HostSocketsContract::Exp<HostSocketsContract::Ready>;
type Sending = HostSocketsContract::Exp<HostSocketsContract::Ready_Send>;
type Receiving = HostSocketsContract::Exp<HostSocketsContract::Ready_Receive>;

struct Driver {
    // Dropped first: nothing is under way then.
    receive: Queue,
    send: Queue,
    irq: Irq,
    _device: Device,
    provider: Provider<Start, Ready>,
    sending: Option<(usize, Sending)>,
    receiving: Option<(usize, Receiving)>,
    /// The clients that have asked for something: whose end is the end of the session.
    begun: Vec<usize>,
}

impl Driver {
    fn start(
        device: Device,
        lookup: NamespaceContract::Exp<NamespaceContract::Start>,
    ) -> Result<Driver, Error> {
        device.reset()?;
        // It has no features of its own.
        device.accept(0)?;
        let irq = device.irq()?;
        let receive = device.queue(RECEIVE, REQUESTS)?;
        let send = device.queue(SEND, REQUESTS)?;
        device.ready()?;
        let provider = Provider::new(lookup, HostSocketsContract::Exp::send_success)?;
        Ok(Driver {
            receive,
            send,
            irq,
            _device: device,
            provider: provider.at_most(CLIENTS),
            sending: None,
            receiving: None,
            begun: Vec::new(),
        })
    }

    fn run(mut self) -> Result<(), Error> {
        loop {
            switch_receive! {
                case &self.irq => {
                    self.irq.acknowledge();
                    self.finish()?;
                }
                case self.provider.clients[key].Send(messages, length, data) as client => {
                    self.send(key, client, messages.into_block(), length, data)?;
                }
                case self.provider.clients[key].Receive(buffer) as client => {
                    self.receive(key, client, buffer.into_block())?;
                }
                case self.provider.clients[key].ChannelClosed() => {
                    if self.begun.contains(&key) {
                        return Ok(());
                    }
                }
                case &self.provider.lookup => {
                    // The network binds the device itself; there is nothing below it.
                    let answered = self.provider.answer(|path| (path == "/").then_some(()));
                    // One that waits may send nothing: it has something only when it is closed.
                    let gone = self.receiving.as_ref().is_some_and(|(_, c)| c.is_ready());
                    if answered.is_err() || gone {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Hands messages to the device, and behind them the data of the last one if they lie elsewhere.
    fn send(
        &mut self,
        key: usize,
        client: Sending,
        block: Block,
        length: u32,
        data: Option<Vector<u8>>,
    ) -> Result<(), Error> {
        self.begins(key);
        let behind = data.as_ref().map_or(0, Vector::len);
        let most = block.len().min(BLOCK.saturating_sub(behind));
        let fits = (1..=most).contains(&(length as usize));
        let mut refused = Some(block);
        if fits && self.sending.is_none() {
            let parts = [Part::read(0, 0..length), Part::read(1, 0..behind as u32)];
            let parts = &parts[..1 + usize::from(data.is_some())];
            let data = data.map(Vector::into_block);
            let blocks = refused.take().into_iter().chain(data).collect();
            match self.send.add(blocks, parts) {
                Ok(_) => {}
                Err(back) if back.error == Error::Closed => return Err(Error::Closed),
                Err(back) => refused = back.content.into_iter().next(),
            }
        }
        match refused {
            Some(block) => {
                let client = client.send_refused(Vector::from_block(block));
                self.provider.clients.put(key, client);
            }
            None => {
                self.sending = Some((key, client));
                if self.send.notify() {
                    self.finish()?;
                }
            }
        }
        Ok(())
    }

    /// Notes that a client has asked for something. One that has not, and goes, was given up while it
    /// waited to be taken: the session is another's.
    fn begins(&mut self, key: usize) {
        if !self.begun.contains(&key) {
            self.begun.push(key);
        }
    }

    /// Hands the device a block to be filled.
    fn receive(&mut self, key: usize, client: Receiving, mut block: Block) -> Result<(), Error> {
        self.begins(key);
        let fits = block.len() >= BLOCK && block.unshare().is_ok();
        let mut refused = Some(block);
        if fits && self.receiving.is_none() {
            let parts = [Part::written(0, 0..BLOCK as u32)];
            let blocks = refused.take().into_iter().collect();
            match self.receive.add(blocks, &parts) {
                Ok(_) => {}
                Err(back) if back.error == Error::Closed => return Err(Error::Closed),
                Err(mut back) => refused = back.content.pop(),
            }
        }
        match refused {
            Some(block) => {
                let client = client.send_refused(Vector::from_block(block));
                self.provider.clients.put(key, client);
            }
            None => {
                self.receiving = Some((key, client));
                if self.receive.notify() {
                    self.finish()?;
                }
            }
        }
        Ok(())
    }

    /// Answers the requests that the device is done with.
    fn finish(&mut self) -> Result<(), Error> {
        match self.send.take() {
            Ok(done) => {
                // That of the messages is the first.
                let block = done.blocks.into_iter().next();
                if let (Some((key, client)), Some(block)) = (self.sending.take(), block) {
                    let client = client.send_sent(Vector::from_block(block));
                    self.provider.clients.put(key, client);
                }
            }
            Err(Error::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        match self.receive.take() {
            Ok(mut done) => {
                // A request that was lost is one of a device that was reset.
                let length = done.written.ok_or(Error::Closed)?.min(BLOCK as u32);
                let waits = self.receiving.take();
                if let (Some((key, client)), Some(block)) = (waits, done.blocks.pop()) {
                    let client = client.send_received(Vector::from_block(block), length);
                    self.provider.clients.put(key, client);
                }
            }
            Err(Error::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    let lookup = startup::sockets().ok_or(Error::NotFound)?;
    Driver::start(device, lookup)?.run()
}
