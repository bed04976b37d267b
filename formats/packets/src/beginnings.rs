//! The beginnings of connections, when more come than sockets wait for them: each is answered, and
//! nothing is kept of it until the other side has shown that it hears the answer (SYN cookies, RFC 4987,
//! 3.6). A flood from addresses that do not exist takes no place from those who mean it.
//!
//! The number with which the answer begins is made of the connection's ends, the time and a secret, so
//! that it is known again when the other side acknowledges it. Then the stack gets a beginning with the
//! same ends, and answers it with a number of its own; that answer goes nowhere, and the two numbers'
//! difference is added to what the stack sends over this connection, and taken from what comes back.
//!
//! Invariants:
//! - A port has as many beginnings passed on as sockets wait there, and no more.
//! - What is over is forgotten before the next second's first frame is looked at.
//! - Nobody who has not seen an answer makes a [`Beginnings`] keep anything; what it keeps is bounded by
//!   [`MOST`].
//! - Frames that are none, or of other connections, are as they were.

use crate::segment::{Ends, Segment, flag};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
#[allow(
    deprecated,
    reason = "the one in std that is not is made by chance, which core has none of"
)]
use core::hash::SipHasher;
use core::hash::{Hash, Hasher};
use core::net::IpAddr;

/// Connections whose numbers are kept: four times what a network has sockets for.
pub const MOST: usize = 2048;
/// Frames of a connection that are held until the stack has answered: the end of the beginning, and what
/// the other side sends at once.
const HELD: usize = 4;
/// Seconds within which an answer is acknowledged.
const SLOT: u64 = 32;
/// Seconds for which numbers are kept when nothing comes or goes: a network asks an idle connection's
/// other side more often. And when it has ended.
const IDLE: u64 = 150;
const ENDED: u64 = 10;
/// The largest segments of which the other side may have said one; it is sent the next smaller.
const LARGEST: [u16; 4] = [536, 1220, 1440, 1460];

/// What becomes of a frame that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inward {
    /// It goes to the stack, perhaps with another number in it.
    Pass,
    /// It goes nowhere.
    Drop,
    /// It goes nowhere, and this is sent.
    Answer(Vec<u8>),
    /// This goes to the stack in its place.
    Instead(Vec<u8>),
}

/// A connection that the stack does not know by the numbers that the other side knows.
#[derive(Clone, Debug)]
enum State {
    /// The stack is to answer; this has come before it has. The number is the one that was sent.
    Begins(u32, Vec<Vec<u8>>),
    /// What is added to the stack's numbers.
    Differs(u32),
}

#[derive(Clone, Debug)]
struct Kept {
    state: State,
    /// Until when, in seconds.
    until: u64,
    /// Which sides have ended.
    over: [bool; 2],
}

/// What is known of a link's connections.
#[derive(Default)]
pub struct Beginnings {
    secret: [u64; 2],
    /// Ports at which somebody listens, and how many beginnings may still be passed on to each.
    ports: BTreeMap<u16, usize>,
    /// This machine's addresses.
    own: Vec<IpAddr>,
    kept: BTreeMap<Ends, Kept>,
    /// Frames for the stack.
    ready: VecDeque<Vec<u8>>,
    /// Until when answers may be acknowledged.
    answered: u64,
    /// The second in which it was last looked for what is over.
    looked: u64,
}

impl Beginnings {
    /// With a secret.
    #[must_use]
    pub fn new(secret: [u64; 2]) -> Beginnings {
        Beginnings {
            secret,
            ports: BTreeMap::new(),
            own: Vec::new(),
            kept: BTreeMap::new(),
            ready: VecDeque::new(),
            answered: 0,
            looked: 0,
        }
    }

    /// Says which addresses are this machine's.
    pub fn know(&mut self, own: Vec<IpAddr>) {
        self.own = own;
    }

    /// Says at which ports how many sockets wait now.
    pub fn allow(&mut self, ports: impl IntoIterator<Item = (u16, usize)>) {
        self.ports.clear();
        for (port, sockets) in ports {
            *self.ports.entry(port).or_default() += sockets;
        }
    }

    /// The next frame for the stack.
    pub fn take_ready(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The number of an answer: its time, the largest segment, and what nobody else can know.
    fn cookie(&self, ends: &Ends, begun: u32, slot: u64, largest: usize) -> u32 {
        #[allow(deprecated, reason = "see above")]
        let mut hasher = SipHasher::new_with_keys(self.secret[0], self.secret[1]);
        (ends, begun, slot, largest).hash(&mut hasher);
        let hash = hasher.finish() as u32 & 0x00ff_ffff;
        (slot as u32 & 0x3f) << 26 | (largest as u32 & 3) << 24 | hash
    }

    /// The largest segment of the one who acknowledges this number, if it was sent to it.
    fn known(&self, ends: &Ends, begun: u32, cookie: u32, now: u64) -> Option<u16> {
        let slot = now / SLOT;
        let largest = (cookie >> 24 & 3) as usize;
        let mut slots = [slot, slot.wrapping_sub(1)].into_iter();
        let is = slots.any(|slot| self.cookie(ends, begun, slot, largest) == cookie);
        is.then_some(LARGEST[largest])
    }

    /// Looks at a frame that has come, `now` in seconds.
    pub fn inward(&mut self, frame: &mut [u8], now: u64) -> Inward {
        let Some(segment) = Segment::find(frame) else {
            return Inward::Pass;
        };
        self.forget(now);
        let (ends, flags) = (segment.ends(frame, true), segment.flags(frame));
        if let Some(kept) = self.kept.get_mut(&ends) {
            // One that was damaged is dropped by the stack, and must not be mended here.
            if !segment.is_sound(frame) {
                return Inward::Pass;
            }
            let by = match &mut kept.state {
                State::Differs(by) => *by,
                // What there is no room for, the other side sends again.
                State::Begins(_, come) if come.len() >= HELD => return Inward::Drop,
                State::Begins(_, come) => {
                    come.push(frame.to_vec());
                    return Inward::Drop;
                }
            };
            kept.note(0, flags, now);
            if flags & flag::ACK != 0 {
                segment.set_wanted(frame, segment.wanted(frame).wrapping_sub(by));
            }
            return Inward::Pass;
        }
        let relevant = flags & (flag::SYN | flag::ACK | flag::RST);
        if relevant == flag::SYN {
            self.begin(segment, &ends, frame, now)
        } else if relevant == flag::ACK && now < self.answered {
            self.acknowledged(segment, ends, frame, now)
        } else {
            Inward::Pass
        }
    }

    fn begin(&mut self, segment: Segment, ends: &Ends, frame: &[u8], now: u64) -> Inward {
        let Some(left) = self.ports.get_mut(&ends.near.1) else {
            return Inward::Pass;
        };
        if *left > 0 {
            *left -= 1;
            return Inward::Pass;
        }
        // What the stack would not answer is not answered here either.
        let from = match ends.far.0 {
            IpAddr::V4(a) => {
                !a.is_unspecified() && !a.is_multicast() && !a.is_broadcast() && !a.is_loopback()
            }
            IpAddr::V6(a) => !a.is_unspecified() && !a.is_multicast() && !a.is_loopback(),
        };
        // To this card alone: the lowest bit of an address of several is set.
        let to = self.own.contains(&ends.near.0) && frame[0] & 1 == 0;
        if !from || !to || !segment.is_sound(frame) {
            return Inward::Drop;
        }
        let said = segment.largest(frame).unwrap_or(LARGEST[0]);
        let largest = LARGEST.iter().rposition(|l| *l <= said).unwrap_or(0);
        let begun = segment.number(frame);
        let number = self.cookie(ends, begun, now / SLOT, largest);
        let own = LARGEST[if ends.near.0.is_ipv4() { 3 } else { 2 }];
        let numbers = [number, begun.wrapping_add(1)];
        self.answered = now + 2 * SLOT;
        Inward::Answer(segment.other(frame, true, flag::SYN | flag::ACK, numbers, own))
    }

    fn acknowledged(&mut self, segment: Segment, ends: Ends, frame: &[u8], now: u64) -> Inward {
        if !self.ports.contains_key(&ends.near.1) || !segment.is_sound(frame) {
            return Inward::Pass;
        }
        let begun = segment.number(frame).wrapping_sub(1);
        let cookie = segment.wanted(frame).wrapping_sub(1);
        let Some(largest) = self.known(&ends, begun, cookie, now) else {
            return Inward::Pass;
        };
        self.make_room();
        let kept = Kept {
            state: State::Begins(cookie, [frame.to_vec()].into()),
            until: now + ENDED,
            over: [false; 2],
        };
        self.kept.insert(ends, kept);
        Inward::Instead(segment.other(frame, false, flag::SYN, [begun, 0], largest))
    }

    /// Looks at a frame that the stack sends; whether it goes.
    pub fn outward(&mut self, frame: &mut [u8], now: u64) -> bool {
        if self.kept.is_empty() {
            return true;
        }
        let Some(segment) = Segment::find(frame) else {
            return true;
        };
        self.forget(now);
        let (ends, flags) = (segment.ends(frame, false), segment.flags(frame));
        let Some(kept) = self.kept.get_mut(&ends) else {
            return true;
        };
        let number = segment.number(frame);
        match &mut kept.state {
            State::Begins(cookie, come) if flags & flag::SYN != 0 => {
                let by = cookie.wrapping_sub(number);
                for mut come in core::mem::take(come) {
                    if let Some(segment) = Segment::find(&come) {
                        let wanted = segment.wanted(&come).wrapping_sub(by);
                        segment.set_wanted(&mut come, wanted);
                        self.ready.push_back(come);
                    }
                }
                kept.state = State::Differs(by);
                kept.note(1, flags, now);
                false
            }
            // No socket waits any more: what the other side sends again is another attempt.
            State::Begins(..) => {
                self.kept.remove(&ends);
                false
            }
            State::Differs(by) => {
                segment.set_number(frame, number.wrapping_add(*by));
                kept.note(1, flags, now);
                true
            }
        }
    }

    /// Forgets what is over, with the frames that were held for it: once a second, as times are whole
    /// seconds.
    fn forget(&mut self, now: u64) {
        if core::mem::replace(&mut self.looked, now) != now {
            self.kept.retain(|_, kept| kept.until > now);
        }
    }

    /// Forgets what would be over first, if there is too much.
    fn make_room(&mut self) {
        if self.kept.len() >= MOST {
            let first = self.kept.iter().min_by_key(|(_, kept)| kept.until);
            if let Some(ends) = first.map(|(ends, _)| *ends) {
                self.kept.remove(&ends);
            }
        }
    }
}

impl Kept {
    /// A segment of a side, by its flags.
    fn note(&mut self, side: usize, flags: u8, now: u64) {
        self.over[side] |= flags & flag::FIN != 0;
        let over = self.over == [true; 2] || flags & flag::RST != 0;
        self.until = now + if over { ENDED } else { IDLE };
    }
}

#[cfg(test)]
mod tests;
