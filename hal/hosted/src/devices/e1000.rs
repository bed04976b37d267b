//! A network card like Intel's 82540EM ([Intel]), on the networks that the virtio card has
//! (`net.rs`).
//!
//! It has what drivers need: both rings, with descriptors of the legacy form, filters of addresses,
//! the causes of interrupts with its pin, and the words that its own memory holds (EEPROM). It has
//! no checksums, no large packets, no virtual LANs, and no registers of the PHY: its link is always
//! up. The four bytes of a frame's checksum are on no network here: none comes, whatever the driver
//! says.
//!
//! A driver that breaks the rules of the rings (indexes behind the end, more than 256 descriptors,
//! another form of them, addresses that lead nowhere) finds the link down, with the interrupt for
//! that, and nothing comes or goes until it resets the card.
//!
//! Invariants: memory is reached with the state locked, by the window alone (`window.rs`). What one
//! access to a register does is bounded by a ring's descriptors, and the bytes of a frame for each.
//!
//! [Intel]: PCI/PCI-X Family of Gigabit Ethernet Controllers, Software Developer's Manual

use super::e1000_ring::{DONE, END, Ring, TAIL};
use super::lines;
use super::net::{HEAD, LONGEST, Network, NetworkError, Receiver, Room, listen};
use super::pci::{Description, Function};
use super::turns::Turns;
use super::window::{Nowhere, Window};
use std::net::UdpSocket;
use std::sync::{Arc, MutexGuard};

/// Bytes of the registers.
const REGISTERS: u32 = 128 << 10;
/// Bytes of the shortest frame: shorter ones are padded.
const SHORTEST: usize = 60;

/// Offsets of registers.
mod at {
    pub(super) const CONTROL: u32 = 0x0000;
    pub(super) const STATUS: u32 = 0x0008;
    pub(super) const MEMORY: u32 = 0x0014;
    pub(super) const CAUSES: u32 = 0x00c0;
    pub(super) const RAISE: u32 = 0x00c8;
    pub(super) const WANTED: u32 = 0x00d0;
    pub(super) const UNWANTED: u32 = 0x00d8;
    pub(super) const RECEIVE: u32 = 0x0100;
    pub(super) const SEND: u32 = 0x0400;
    pub(super) const GAP: u32 = 0x0410;
    pub(super) const RECEIVE_RING: u32 = 0x2800;
    pub(super) const SEND_RING: u32 = 0x3800;
    /// Bytes of a ring's registers.
    pub(super) const RING: u32 = 0x20;
    pub(super) const MULTICAST: u32 = 0x5200;
    pub(super) const ADDRESS: u32 = 0x5400;
    pub(super) const ADDRESS_HIGH: u32 = 0x5404;
}

/// Control: reset.
const RESET: u32 = 1 << 26;
/// Status: full duplex, link up, 1 Gbit/s.
const LINK_UP: u32 = 1 << 1;
const LINK: u32 = 1 | 1 << 7;
/// Causes: frames were sent, all of them; the link has changed; frames have come.
const SENT: u32 = 1 << 0;
const ALL_SENT: u32 = 1 << 1;
const CHANGED: u32 = 1 << 2;
const CAME: u32 = 1 << 7;
/// Receiving and sending: on. Receiving: all addresses, all of groups, those for all.
const ON: u32 = 1 << 1;
const ANY: u32 = 1 << 3;
const ANY_GROUP: u32 = 1 << 4;
const FOR_ALL: u32 = 1 << 15;
/// Sending: pad short frames.
const PAD: u32 = 1 << 3;
/// A descriptor to send: the frame ends here; say when it is done; another form.
const LAST: u8 = 1 << 0;
const TELL: u8 = 1 << 3;
const OTHER_FORM: u8 = 1 << 5;
/// The address is valid.
const VALID: u32 = 1 << 31;
/// A word of the card's memory: read it; it was read.
const READ: u32 = 1 << 0;
const WAS_READ: u32 = 1 << 4;
/// Where the sum of the words stands, and what that makes all together.
const SUM_AT: usize = 0x3f;
const SUM: u16 = 0xbaba;

/// How it is described.
pub(super) fn description() -> Description {
    Description {
        signature: "/pci/02/00/8086/100e",
        registers: REGISTERS,
    }
}

/// The card's state.
struct State {
    control: u32,
    memory: u32,
    causes: u32,
    wanted: u32,
    receiving: u32,
    sending: u32,
    gap: u32,
    receive: Ring,
    send: Ring,
    groups: [u32; 128],
    address: [u32; 2],
    /// The frame on its way, and whether it has become too long.
    frame: Vec<u8>,
    too_long: bool,
    /// The driver has broken a rule.
    stopped: bool,
}

/// The card.
pub(super) struct E1000 {
    line: u32,
    mac: [u8; 6],
    window: Window,
    socket: Arc<UdpSocket>,
    room: Arc<Room>,
    state: Turns<State>,
}

impl State {
    /// After a reset, with the address that the card's memory has.
    fn new([a, b, c, d, e, f]: [u8; 6]) -> State {
        State {
            control: 0,
            memory: 0,
            causes: 0,
            wanted: 0,
            receiving: 0,
            sending: 0,
            gap: 0,
            receive: Ring::default(),
            send: Ring::default(),
            groups: [0; 128],
            address: [
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, 0, 0]) | VALID,
            ],
            frame: Vec::new(),
            too_long: false,
            stopped: false,
        }
    }

    /// Stops, as the driver has broken a rule.
    fn stop(&mut self) {
        self.stopped = true;
        self.causes |= CHANGED;
    }

    /// Whether a frame that has come is for this card.
    fn is_ours(&self, frame: &[u8]) -> bool {
        let [a, b, c, d, e, f, ..] = *frame else {
            return false;
        };
        let to = [a, b, c, d, e, f];
        if to == [0xff; 6] {
            return self.receiving & FOR_ALL != 0;
        }
        if a & 1 == 1 {
            let shift = [4, 3, 2, 0][(self.receiving >> 12 & 3) as usize];
            let hash = u16::from_le_bytes([e, f]) >> shift & 0xfff;
            let listed = self.groups[usize::from(hash >> 5)] >> (hash & 31) & 1 == 1;
            return listed || self.receiving & ANY_GROUP != 0;
        }
        let [low, high] = self.address;
        let [g, h, ..] = high.to_le_bytes();
        let own = low.to_le_bytes() == [a, b, c, d] && [g, h] == [e, f] && high & VALID != 0;
        own || self.receiving & ANY != 0
    }

    /// Bytes of the driver's places for frames.
    fn place(&self) -> usize {
        let size = 2048usize >> (self.receiving >> 16 & 3);
        // Sizes of another order; the first of these is reserved.
        match self.receiving >> 25 & 1 == 1 && size < 2048 {
            true => size * 16,
            false => size,
        }
    }

    /// Puts a frame into the ring. `None` if there is no room for it yet.
    fn take(&mut self, window: &Window, frame: &[u8]) -> Option<()> {
        if self.receiving & ON == 0 || self.stopped {
            return None;
        }
        if !self.is_ours(frame) {
            return Some(());
        }
        let place = self.place();
        let parts = frame.chunks(place);
        let Some(ready) = self.receive.ready() else {
            self.stop();
            return None;
        };
        if (ready as usize) < parts.len() {
            return None;
        }
        let last = parts.len() - 1;
        for (i, part) in parts.enumerate() {
            let state = if i == last { DONE | END } else { DONE };
            let put = self.receive.receive(&mut window.reach(), part, state);
            if put.is_err() {
                self.stop();
                return None;
            }
        }
        self.causes |= CAME;
        Some(())
    }

    /// Sends what the ring has.
    fn send(&mut self, window: &Window, socket: &UdpSocket) {
        if self.sending & ON == 0 || self.stopped {
            return;
        }
        let Some(ready) = self.send.ready() else {
            self.stop();
            return;
        };
        for _ in 0..ready {
            if self.send_part(window, socket).is_err() {
                self.stop();
                return;
            }
        }
        if ready > 0 {
            self.causes |= ALL_SENT;
        }
    }

    /// Takes what the next descriptor has of a frame, and sends the frame if it ends there.
    fn send_part(&mut self, window: &Window, socket: &UdpSocket) -> Result<(), Nowhere> {
        let mut reach = window.reach();
        let part = self.send.sent(&mut reach)?;
        if part.command & OTHER_FORM != 0 {
            return Err(Nowhere);
        }
        let before = self.frame.len();
        let all = before + usize::from(part.len);
        self.too_long |= all > LONGEST;
        if !self.too_long {
            self.frame.resize(all, 0);
            reach.read(part.at, &mut self.frame[before..])?;
        }
        if part.command & LAST != 0 {
            if !self.too_long && all > 0 {
                if self.sending & PAD != 0 {
                    self.frame.resize(all.max(SHORTEST), 0);
                }
                // A network loses frames that it has no room for.
                let _ = socket.send(&self.frame);
            }
            self.frame.clear();
            self.too_long = false;
        }
        let tell = part.command & TELL != 0;
        self.send.finish(&mut reach, tell)?;
        if tell {
            self.causes |= SENT;
        }
        Ok(())
    }

    /// Reads a word of the card's memory: the address, zeros, and their sum.
    fn read_memory(&mut self, value: u32, mac: [u8; 6]) {
        let words = [0, 2, 4].map(|i| u16::from_le_bytes([mac[i], mac[i + 1]]));
        let word = match (value >> 8 & 0xff) as usize {
            i if i < words.len() => words[i],
            SUM_AT => words.iter().fold(SUM, |sum, word| sum.wrapping_sub(*word)),
            _ => 0,
        };
        if value & READ != 0 {
            self.memory = u32::from(word) << 16 | value & 0xff00 | WAS_READ;
        }
    }

    fn get(&mut self, offset: u32) -> u32 {
        match offset {
            at::CONTROL => self.control,
            at::STATUS if self.stopped => LINK,
            at::STATUS => LINK | LINK_UP,
            at::MEMORY => self.memory,
            at::CAUSES => std::mem::take(&mut self.causes),
            at::WANTED => self.wanted,
            at::RECEIVE => self.receiving,
            at::SEND => self.sending,
            at::GAP => self.gap,
            at::ADDRESS => self.address[0],
            at::ADDRESS_HIGH => self.address[1],
            _ => match parts(offset) {
                Part::Receive(offset) => self.receive.get(offset),
                Part::Send(offset) => self.send.get(offset),
                Part::Group(i) => self.groups[i],
                Part::None => 0,
            },
        }
    }
}

/// What lies at an offset where there are many registers alike.
enum Part {
    Receive(u32),
    Send(u32),
    Group(usize),
    None,
}

fn parts(offset: u32) -> Part {
    let within = |first: u32, bytes: u32| offset.checked_sub(first).filter(|o| *o < bytes);
    if let Some(offset) = within(at::RECEIVE_RING, at::RING) {
        Part::Receive(offset)
    } else if let Some(offset) = within(at::SEND_RING, at::RING) {
        Part::Send(offset)
    } else if let Some(offset) = within(at::MULTICAST, 512) {
        Part::Group(offset as usize / 4)
    } else {
        Part::None
    }
}

impl E1000 {
    /// Opens the network, and starts the card's thread.
    pub(super) fn start(line: u32, network: &Network) -> Result<Arc<E1000>, NetworkError> {
        let socket = Arc::new(network.open()?);
        let room = Arc::new(Room::default());
        let mac = network.mac();
        let card = Arc::new(E1000 {
            line,
            mac,
            window: Window::default(),
            socket: Arc::clone(&socket),
            room: Arc::clone(&room),
            state: Turns::new(State::new(mac)),
        });
        listen(network, socket, room, Arc::clone(&card))?;
        Ok(card)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.kernel()
    }

    /// Makes the pin as the causes are. Returns whether an interrupt is now to be delivered.
    fn pin(&self, state: &State) -> bool {
        if state.causes & state.wanted == 0 {
            lines::lower(self.line);
            return false;
        }
        lines::raise(self.line)
    }
}

impl Receiver for E1000 {
    fn receive(&self, headed: &[u8]) -> Option<bool> {
        let mut padded = [0; SHORTEST];
        let mut frame = &headed[HEAD..];
        if frame.len() < SHORTEST {
            padded[..frame.len()].copy_from_slice(frame);
            frame = &padded;
        }
        let mut state = self.state.step();
        let stopped = state.stopped;
        let taken = state.take(&self.window, frame);
        if taken.is_none() && state.stopped == stopped {
            return None;
        }
        let tell = self.pin(&state);
        // What came as the card stopped is lost.
        Some(tell)
    }
}

impl Function for E1000 {
    fn window(&self) -> &Window {
        &self.window
    }

    fn read(&self, offset: u32, width: u32) -> u64 {
        let mut state = self.lock();
        if width != 4 {
            return 0;
        }
        let value = state.get(offset);
        if offset == at::CAUSES {
            self.pin(&state);
        }
        value.into()
    }

    fn write(&self, offset: u32, width: u32, value: u64) -> bool {
        let mut state = self.lock();
        let value = value as u32;
        if width != 4 {
            return false;
        }
        match offset {
            at::CONTROL if value & RESET != 0 => *state = State::new(self.mac),
            at::CONTROL => state.control = value,
            at::MEMORY => state.read_memory(value, self.mac),
            at::CAUSES => state.causes &= !value,
            at::RAISE => state.causes |= value,
            at::WANTED => state.wanted |= value,
            at::UNWANTED => state.wanted &= !value,
            at::RECEIVE => state.receiving = value,
            at::SEND => {
                state.sending = value;
                state.send(&self.window, &self.socket);
            }
            at::GAP => state.gap = value,
            at::ADDRESS => state.address[0] = value,
            at::ADDRESS_HIGH => state.address[1] = value,
            _ => match parts(offset) {
                Part::Receive(offset) => state.receive.set(offset, value),
                Part::Send(offset) => {
                    state.send.set(offset, value);
                    if offset == TAIL {
                        state.send(&self.window, &self.socket);
                    }
                }
                Part::Group(i) => state.groups[i] = value,
                Part::None => {}
            },
        }
        if matches!(offset, at::RECEIVE) || offset == at::RECEIVE_RING + TAIL {
            self.room.add();
        }
        self.pin(&state)
    }

    fn reset(&self) {
        let mut state = self.lock();
        *state = State::new(self.mac);
        lines::lower(self.line);
    }
}
