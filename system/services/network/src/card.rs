//! A network card, by its driver: frames on their way from and to it.
//!
//! There are two channels to the driver: over one a buffer always waits for frames, over the other
//! go those that are to be sent, as many in a block as have come together.
//!
//! Invariants:
//! - A block is at the driver or here, and never at both; frames that there is no room for wait in
//!   the stack.
//! - Every block is of [`BUFFER`] bytes, and those for frames to be sent can be written: a driver
//!   that gives back another is lost.

use alloc::vec::Vec;
use core::time::Duration;
use sing_packets::beginnings::{Beginnings, Inward};
use sing_packets::icmp::Heard;
use sing_sdk::frames::{self, Frames, LONGEST, ROOM};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use smoltcp::phy::{DeviceCapabilities, Medium};

/// Bytes of a buffer, and how many the driver has beside the one of the request.
const BUFFER: usize = 32 << 10;
const LENT: usize = 4;
/// How long the name server and a driver may take to connect, all in all: clients wait meanwhile.
const CONNECT: Duration = Duration::from_millis(200);

pub type Ready = NicContract::Imp<NicContract::Ready>;
type Receiving = NicContract::Imp<NicContract::Ready_Receive>;
type Sending = NicContract::Imp<NicContract::Ready_Send>;

/// Frames that have come.
struct Come {
    block: Block,
    /// Where the last one that was taken ends, and how many are left.
    end: usize,
    left: u32,
}

/// A card, connected or not: its driver may be starting again.
#[derive(Default)]
pub struct Card {
    come: Option<Come>,
    /// The channel over which frames are received, while nothing waits on it.
    receiver: Option<Ready>,
    /// Frames to be sent, and a buffer for more while these are under way.
    out: Option<Frames>,
    spare: Option<Block>,
    /// The channel over which frames are sent, while none are under way.
    sender: Option<Ready>,
    /// What frames say of others.
    pub heard: Vec<Heard>,
    /// What is known of beginnings of connections; it outlives the driver.
    pub beginnings: Beginnings,
}

/// Binds a card, until then.
fn bind(names: &mut Names, path: &str, end: Duration) -> Result<Ready, Error> {
    // A connection of its own: one on which a bind hangs is given up.
    let names = names.connect()?;
    let names = switch_receive! {
        case names.Success() as ready => ready,
        case names.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let (nic, exp) = NicContract::new_channel()?;
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(path)?, 0, exp.into());
    switch_receive! {
        case binding.AckBind() as _ => {}
        case binding.NakBind(_reason, _exp) as _ => return Err(Error::NotFound),
        case binding.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    }
    switch_receive! {
        case nic.Success() as ready => Ok(ready),
        case nic.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}

/// The address of a card, and its channel again.
fn address(nic: Ready, end: Duration) -> Result<([u8; 6], Ready), Error> {
    let asked = nic.send_get_info();
    switch_receive! {
        case asked.Info(mac, _mtu, _up) as nic => {
            let [a, b, c, d, e, f, ..] = mac.to_le_bytes();
            Ok(([a, b, c, d, e, f], nic))
        }
        case asked.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}

/// Lends a buffer to the driver.
fn lend(nic: Ready, end: Duration) -> Result<Ready, Error> {
    let asked = nic.send_lend(Vector::new(BUFFER)?);
    switch_receive! {
        case asked.Lent() as nic => Ok(nic),
        case asked.Refused(_reason, _block) as nic => Ok(nic),
        case asked.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}

/// Whether a frame is of IPv4 from 0.0.0.0, as what machines without an address send to a DHCP
/// server. smoltcp would answer it, and panics when it is to send to that address.
fn is_from_nowhere(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&[8, 0]) && frame.get(26..30) == Some(&[0; 4])
}

impl Card {
    /// Connects to the driver of a card: the card's address. Frames that were under way are lost.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such card, [`Error::Timeout`] if its driver does not
    /// answer.
    pub fn connect(&mut self, names: &mut Names, path: &str) -> Result<[u8; 6], Error> {
        let end = uptime() + CONNECT;
        let sender = bind(names, path, end)?;
        let mut receiver = bind(names, path, end)?;
        let (mac, sender) = address(sender, end)?;
        for _ in 0..LENT {
            receiver = lend(receiver, end)?;
        }
        let come = Block::new(BUFFER)?;
        let out = Frames::new(Block::new(BUFFER)?).map_err(|_| Error::BadState)?;
        let spare = Block::new(BUFFER)?;
        *self = Card {
            come: Some(Come {
                block: come,
                end: 0,
                left: 0,
            }),
            receiver: Some(receiver),
            out: Some(out),
            spare: Some(spare),
            sender: Some(sender),
            heard: Vec::new(),
            beginnings: core::mem::take(&mut self.beginnings),
        };
        Ok(mac)
    }

    /// Whether there are frames that have come and are not taken.
    pub fn has_frames(&self) -> bool {
        self.come.as_ref().is_some_and(|come| come.left > 0)
    }

    /// Whether there is room for a frame of any length.
    pub fn has_room(&self) -> bool {
        self.out.as_ref().is_some_and(|out| out.room() >= ROOM)
    }

    /// Whether there is one that can be taken, and room for what the stack answers.
    pub fn has_come(&self) -> bool {
        self.has_room() && (self.has_frames() || self.beginnings.is_ready())
    }

    /// Takes the next frame that is for the stack. An answer needs room, and so does another one to a
    /// beginning for which no socket waits.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        while self.has_room() {
            if let Some(frame) = self.beginnings.take_ready() {
                return Some(frame);
            }
            let mut frame = self.pop()?;
            match self.beginnings.inward(&mut frame, uptime().as_secs()) {
                Inward::Pass => return Some(frame),
                Inward::Instead(other) => return Some(other),
                Inward::Answer(answer) => self.put(&answer),
                Inward::Drop => {}
            }
        }
        None
    }

    /// Takes the next frame that is from somewhere.
    fn pop(&mut self) -> Option<Vec<u8>> {
        let come = self.come.as_mut()?;
        while come.left > 0 {
            let Some(place) = frames::next(&come.block, come.end) else {
                // The driver has said what is not so.
                come.left = 0;
                return None;
            };
            come.left -= 1;
            come.end = place.end;
            let mut frame = alloc::vec![0; place.len()];
            come.block.read(place.start, &mut frame);
            if !is_from_nowhere(&frame) {
                return Some(frame);
            }
        }
        None
    }

    /// Puts a frame of the stack to those that are to be sent.
    pub fn push(&mut self, frame: &mut [u8]) {
        if self.beginnings.outward(frame, uptime().as_secs()) {
            self.put(frame);
        }
    }

    /// Puts a frame to those that are to be sent. One that is none is not sent.
    pub fn put(&mut self, frame: &[u8]) {
        if let Some(out) = &mut self.out {
            let _ = out.push(frame);
        }
    }

    /// Waits for frames again, if all that have come are taken.
    pub fn receive(&mut self) -> Option<Receiving> {
        if self.has_frames() {
            return None;
        }
        let receiver = self.receiver.take()?;
        let Some(come) = self.come.take() else {
            self.receiver = Some(receiver);
            return None;
        };
        Some(receiver.send_receive(Vector::from_block(come.block)))
    }

    /// The driver has answered; whether it is still there, and has given back what it was given.
    pub fn received(&mut self, receiving: Receiving) -> bool {
        use NicContract::imp::Ready_Receive as Answer;
        let (block, left, next) = match receiving.recv() {
            Answer::Received(block, count, _, next) => (block, count, next),
            Answer::Refused(_, block, next) => (block, 0, next),
            Answer::Closed => return false,
        };
        let block = block.into_block();
        if block.len() != BUFFER {
            return false;
        }
        self.come = Some(Come {
            block,
            end: 0,
            left,
        });
        self.receiver = Some(next);
        true
    }

    /// Hands over what is to be sent, if nothing is under way.
    pub fn send(&mut self) -> Option<Sending> {
        if self.out.as_ref().is_none_or(|out| out.count() == 0) {
            return None;
        }
        let sender = self.sender.take()?;
        let Some(out) = self.out.take() else {
            self.sender = Some(sender);
            return None;
        };
        let (block, count) = out.into_parts();
        self.out = self.spare.take().and_then(|block| Frames::new(block).ok());
        Some(sender.send_send(Vector::from_block(block), count))
    }

    /// The driver has answered; whether it is still there, and has given back what it was given.
    pub fn sent(&mut self, sending: Sending) -> bool {
        use NicContract::imp::Ready_Send as Answer;
        let (block, next) = match sending.recv() {
            Answer::Sent(block, next) | Answer::Refused(_, block, next) => (block, next),
            Answer::Closed => return false,
        };
        let mut block = block.into_block();
        // One that is shared cannot be written.
        if block.len() != BUFFER || block.unshare().is_err() {
            return false;
        }
        match self.out {
            Some(_) => self.spare = Some(block),
            None => match Frames::new(block) {
                Ok(out) => self.out = Some(out),
                // The driver has kept a view of it.
                Err(_) => return false,
            },
        }
        self.sender = Some(next);
        true
    }

    /// The most bytes of a packet.
    pub const fn mtu() -> usize {
        LONGEST - 14
    }

    pub fn capabilities() -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ethernet;
        all.max_transmission_unit = LONGEST;
        all
    }
}
