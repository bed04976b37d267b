//! The card's clients: frames on their way to the device, and from it to all who receive.

use crate::client::Buffers;
use crate::{LARGEST, NicDevice};
use alloc::collections::{BTreeMap, VecDeque};
use core::fmt;
use core::time::Duration;
use sing_sdk::contracts::NamespaceContract;
use sing_sdk::frames::{self, Frames, LONGEST, ROOM};
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::time::Timeout;

/// Channels at a time. A frame is copied to each that receives, so they are few; with all the
/// buffers that they may have they are well within the budget.
const CLIENTS: usize = 32;
/// Frames that are taken from the device, or handed to it, before the clients' next requests.
const TURN: usize = 256;
/// The most bytes behind a frame's head.
const MTU: u32 = 1500;

type Start = NicContract::Exp<NicContract::Start>;
type Ready = NicContract::Exp<NicContract::Ready>;
type Receiving = NicContract::Exp<NicContract::Ready_Receive>;

/// Frames that a client sends, as far as the device has not got them.
struct Sending {
    key: usize,
    client: NicContract::Exp<NicContract::Ready_Send>,
    block: Block,
    /// How many are left, and where the last one that was sent ends.
    left: u32,
    end: usize,
}

/// What the card has done since the driver was started.
#[derive(Default)]
struct Statistics {
    received: u64,
    received_bytes: u64,
    sent: u64,
    sent_bytes: u64,
    dropped: u64,
    errors: u64,
}

/// The server of a network card.
pub struct Server<D> {
    nic: D,
    provider: Provider<Start, Ready>,
    /// The buffers of those who receive, by the key of the channel.
    buffers: BTreeMap<usize, Buffers>,
    /// Those of them who wait for frames.
    waiting: BTreeMap<usize, Receiving>,
    sending: VecDeque<Sending>,
    statistics: Statistics,
    /// A frame on its way between a block of the device and one of a client.
    frame: Box<[u8; LONGEST]>,
    /// Whether the device may have more frames than the last turn has taken.
    more: bool,
}

impl<D> fmt::Debug for Server<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({:?})", self.provider)
    }
}

/// A block as a buffer for frames; the block itself if it has not the size of one, or somebody has
/// a view of it, so that it cannot be written.
fn buffer(block: Block) -> Result<Frames, Block> {
    if (ROOM..=LARGEST).contains(&block.len()) {
        Frames::new(block)
    } else {
        Err(block)
    }
}

/// Whether a block holds so many frames.
fn holds(block: &Block, count: u32) -> bool {
    let mut end = 0;
    for _ in 0..count {
        match frames::next(block, end) {
            Some(frame) => end = frame.end,
            None => return false,
        }
    }
    true
}

impl<D: NicDevice> Server<D> {
    /// A server of this card, for the clients that are announced on this channel. Answers on it
    /// that the driver works.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn new(
        nic: D,
        lookup: NamespaceContract::Exp<NamespaceContract::Start>,
    ) -> Result<Self, Error> {
        let provider = Provider::new(lookup, NicContract::Exp::send_success)?.at_most(CLIENTS);
        Ok(Server {
            nic,
            provider,
            buffers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            sending: VecDeque::new(),
            statistics: Statistics::default(),
            frame: Box::new([0; LONGEST]),
            more: true,
        })
    }

    /// Serves until the name server or the device has gone.
    ///
    /// # Errors
    /// What [`NicDevice::receive`] and [`NicDevice::send`] say of a device that has failed.
    pub fn run(mut self) -> Result<(), Error> {
        loop {
            let wait = if self.more {
                Timeout::from(Duration::ZERO)
            } else {
                Timeout::FOREVER
            };
            switch_receive! {
                timeout wait => {}
                case &*self.nic.irq() => {
                    self.nic.interrupted();
                    self.nic.irq().acknowledge();
                    self.more = true;
                }
                case self.provider.clients[key].GetInfo() as client => {
                    let [a, b, c, d, e, f] = self.nic.mac();
                    let mac = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
                    let client = client.send_info(mac, MTU, self.nic.is_up());
                    self.provider.clients.put(key, client);
                }
                case self.provider.clients[key].GetStatistics() as client => {
                    let s = &self.statistics;
                    let client = client.send_statistics(
                        s.received, s.received_bytes, s.sent, s.sent_bytes, s.dropped, s.errors,
                    );
                    self.provider.clients.put(key, client);
                }
                case self.provider.clients[key].Lend(empty) as client => {
                    let full = self.buffers.get(&key).is_some_and(|b| !b.have_room());
                    let taken = match buffer(empty.into_block()) {
                        Err(block) => Err((NicFault::BadBuffer, block)),
                        Ok(frames) if full => Err((NicFault::NoResources, frames.into_parts().0)),
                        Ok(frames) => Ok(frames),
                    };
                    let client = match taken {
                        Err((fault, block)) => client.send_refused(fault, Vector::from_block(block)),
                        Ok(frames) => {
                            self.buffers.entry(key).or_default().add(frames);
                            client.send_lent()
                        }
                    };
                    self.provider.clients.put(key, client);
                }
                case self.provider.clients[key].Receive(empty) as client => {
                    match buffer(empty.into_block()) {
                        Ok(frames) => {
                            self.buffers.entry(key).or_default().add(frames);
                            self.waiting.insert(key, client);
                            self.answer(key);
                        }
                        Err(block) => {
                            let block = Vector::from_block(block);
                            let client = client.send_refused(NicFault::BadBuffer, block);
                            self.provider.clients.put(key, client);
                        }
                    }
                }
                case self.provider.clients[key].Send(frames, count) as client => {
                    let block = frames.into_block();
                    if block.len() <= LARGEST && holds(&block, count) {
                        let (left, end) = (count, 0);
                        self.sending.push_back(Sending { key, client, block, left, end });
                    } else {
                        let block = Vector::from_block(block);
                        let client = client.send_refused(NicFault::BadFrames, block);
                        self.provider.clients.put(key, client);
                    }
                }
                case self.provider.clients[key].ChannelClosed() => {
                    self.buffers.remove(&key);
                }
                case &self.provider.lookup => {
                    self.forget_gone();
                    if self.provider.answer(|path| (path == "/").then_some(())).is_err() {
                        return Ok(());
                    }
                }
            }
            self.turn()?;
        }
    }

    /// Moves frames both ways, as many as a turn may; what is left is for the next.
    fn turn(&mut self) -> Result<(), Error> {
        let mut left = TURN;
        loop {
            let sent = self.send_some(&mut left)?;
            let taken = if self.more {
                self.take_some(&mut left)?
            } else {
                0
            };
            // What is done already raises no interrupt.
            let done = (sent > 0 || taken > 0) && self.nic.notify();
            if left == 0 {
                self.more = true;
                break;
            }
            self.more = done;
            if !done {
                break;
            }
        }
        self.answer_all();
        Ok(())
    }

    /// Takes frames from the device, and hands them out. Returns their number.
    fn take_some(&mut self, left: &mut usize) -> Result<usize, Error> {
        let mut taken = 0;
        while *left > 0 {
            let len = match self.nic.receive(&mut self.frame[..]) {
                Ok(len) => len,
                Err(Error::WouldBlock) => break,
                Err(e) => return Err(e),
            };
            *left -= 1;
            taken += 1;
            let statistics = &mut self.statistics;
            let Some(frame) = self.frame.get(..len).filter(|f| frames::is_length(f.len())) else {
                statistics.errors += 1;
                continue;
            };
            statistics.received += 1;
            statistics.received_bytes += len as u64;
            if self.buffers.is_empty() {
                statistics.dropped += 1;
            }
            for buffers in self.buffers.values_mut() {
                statistics.dropped += u64::from(!buffers.put(frame));
            }
        }
        Ok(taken)
    }

    /// Hands frames to the device, a block of each client in turn. Returns their number.
    fn send_some(&mut self, left: &mut usize) -> Result<usize, Error> {
        let mut sent = 0;
        while let Some(mut sending) = self.sending.pop_front() {
            while sending.left > 0 && *left > 0 {
                // The client had it tested; the block is the driver's alone since then, but for
                // views of it, which cannot be written.
                let Some(place) = frames::next(&sending.block, sending.end) else {
                    sending.left = 0;
                    break;
                };
                let frame = &mut self.frame[..place.len()];
                sending.block.read(place.start, frame);
                match self.nic.send(frame) {
                    Ok(()) => {
                        self.statistics.sent += 1;
                        self.statistics.sent_bytes += place.len() as u64;
                    }
                    // It would wait for a network, and all others with it.
                    Err(Error::WouldBlock) if !self.nic.is_up() => self.statistics.dropped += 1,
                    Err(Error::WouldBlock) => {
                        self.sending.push_front(sending);
                        return Ok(sent);
                    }
                    Err(e) => return Err(e),
                }
                sending.end = place.end;
                sending.left -= 1;
                *left -= 1;
                sent += 1;
            }
            if sending.left > 0 {
                self.sending.push_back(sending);
                break;
            }
            let client = sending.client.send_sent(Vector::from_block(sending.block));
            self.provider.clients.put(sending.key, client);
        }
        Ok(sent)
    }

    /// Forgets those who have gone while they waited for frames. On a quiet network nothing else
    /// would tell, and they would keep others out.
    fn forget_gone(&mut self) {
        // It may not send before it is answered: only its end is something to receive.
        let gone = self.waiting.iter().filter(|(_, client)| client.is_ready());
        let keys: Vec<usize> = gone.map(|(key, _)| *key).collect();
        for key in keys {
            self.waiting.remove(&key);
            self.buffers.remove(&key);
            self.provider.clients.forget(key);
        }
    }

    /// Answers those who wait and have frames.
    fn answer_all(&mut self) {
        let keys: Vec<usize> = self.waiting.keys().copied().collect();
        for key in keys {
            self.answer(key);
        }
    }

    /// Answers one who waits, if there are frames.
    fn answer(&mut self, key: usize) {
        let Some(buffers) = self.buffers.get_mut(&key) else {
            return;
        };
        let Some(client) = self.waiting.remove(&key) else {
            return;
        };
        match buffers.take() {
            Some((block, count, lost)) => {
                let block = Vector::from_block(block);
                let client = client.send_received(block, count, lost);
                self.provider.clients.put(key, client);
            }
            None => {
                self.waiting.insert(key, client);
            }
        }
    }
}
