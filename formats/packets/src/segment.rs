//! A segment of TCP in a frame of Ethernet: where it is, and its fields.
//!
//! Invariant: a [`Segment`] lies whole within its frame, and so do the heads before it; it is no part of a
//! larger packet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes before the packet in a frame.
const FRAME_HEAD: usize = 14;
/// Bytes of a segment's head without options.
const HEAD: usize = 20;
/// The protocol's number.
const TCP: u8 = 6;

/// Flags of a segment.
pub mod flag {
    /// The last one of its sender.
    pub const FIN: u8 = 1;
    /// The first one.
    pub const SYN: u8 = 2;
    /// The connection is reset.
    pub const RST: u8 = 4;
    /// It acknowledges what has come.
    pub const ACK: u8 = 16;
}

/// The two ends of a connection: the far one's address and port, and those of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// The other machine's.
    pub far: (IpAddr, u16),
    /// This machine's.
    pub near: (IpAddr, u16),
}

/// Where a segment is in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins, and where the packet ends.
    start: usize,
    end: usize,
    is_v6: bool,
}

/// The sum of the Internet's protocols, not turned over yet.
fn sum(bytes: &[u8], begun: u32) -> u32 {
    let word = |w: &[u8]| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b));
    let mut all = begun + bytes.chunks(2).map(word).sum::<u32>();
    while all >> 16 != 0 {
        all = (all & 0xffff) + (all >> 16);
    }
    all
}

impl Segment {
    /// Finds the segment of a frame.
    #[must_use]
    pub fn find(frame: &[u8]) -> Option<Segment> {
        let packet = frame.get(FRAME_HEAD..)?;
        let half = |at: usize| {
            Some(usize::from(u16::from_be_bytes([
                *packet.get(at)?,
                *packet.get(at + 1)?,
            ])))
        };
        let (start, end, is_v6) = match (frame[12], frame[13], packet.first()? >> 4) {
            (0x08, 0x00, 4) => {
                let head = usize::from(packet[0] & 15) * 4;
                // A part of a larger packet has no segment that could be read.
                let whole = half(6)? & 0x3fff == 0 && packet.get(9) == Some(&TCP);
                (whole && head >= 20).then_some((head, half(2)?, false))?
            }
            (0x86, 0xdd, 6) => {
                let direct = packet.get(6) == Some(&TCP);
                direct.then_some((40, 40 + half(4)?, true))?
            }
            _ => return None,
        };
        let segment = Segment {
            start: FRAME_HEAD + start,
            end: FRAME_HEAD + end,
            is_v6,
        };
        let fits = end <= packet.len() && start + HEAD <= end;
        let data = fits.then(|| usize::from(frame[segment.start + 12] >> 4) * 4)?;
        (data >= HEAD && start + data <= end).then_some(segment)
    }

    /// Its flags.
    #[must_use]
    pub fn flags(self, frame: &[u8]) -> u8 {
        frame[self.start + 13] & 0x3f
    }

    fn word(self, frame: &[u8], at: usize) -> u32 {
        let at = self.start + at;
        u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
    }

    fn half(self, frame: &[u8], at: usize) -> u16 {
        u16::from_be_bytes([frame[self.start + at], frame[self.start + at + 1]])
    }

    /// The number of its first byte.
    #[must_use]
    pub fn number(self, frame: &[u8]) -> u32 {
        self.word(frame, 4)
    }

    /// The number of the byte that its sender wants next.
    #[must_use]
    pub fn wanted(self, frame: &[u8]) -> u32 {
        self.word(frame, 8)
    }

    fn put(self, frame: &mut [u8], at: usize, value: u32) {
        frame[self.start + at..][..4].copy_from_slice(&value.to_be_bytes());
        self.seal(frame);
    }

    /// Gives its first byte another number.
    pub fn set_number(self, frame: &mut [u8], number: u32) {
        self.put(frame, 4, number);
    }

    /// Has it want another byte.
    pub fn set_wanted(self, frame: &mut [u8], number: u32) {
        self.put(frame, 8, number);
    }

    fn addresses(self, frame: &[u8]) -> [IpAddr; 2] {
        if self.is_v6 {
            let of = |at: usize| {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(&frame[at..at + 16]);
                IpAddr::V6(Ipv6Addr::from(bytes))
            };
            [of(FRAME_HEAD + 8), of(FRAME_HEAD + 24)]
        } else {
            let of = |at: usize| {
                let bytes = [frame[at], frame[at + 1], frame[at + 2], frame[at + 3]];
                IpAddr::V4(Ipv4Addr::from(bytes))
            };
            [of(FRAME_HEAD + 12), of(FRAME_HEAD + 16)]
        }
    }

    /// The ends of its connection; `inward`: it comes from the far one.
    #[must_use]
    pub fn ends(self, frame: &[u8], inward: bool) -> Ends {
        let [from, to] = self.addresses(frame);
        let from = (from, self.half(frame, 0));
        let to = (to, self.half(frame, 2));
        match inward {
            true => Ends {
                far: from,
                near: to,
            },
            false => Ends {
                far: to,
                near: from,
            },
        }
    }

    /// The most bytes of a segment that its sender takes, if it says so.
    #[must_use]
    pub fn largest(self, frame: &[u8]) -> Option<u16> {
        let data = usize::from(frame[self.start + 12] >> 4) * 4;
        let mut options = &frame[self.start + HEAD..self.start + data];
        loop {
            match *options {
                [2, 4, high, low, ..] => return Some(u16::from_be_bytes([high, low])),
                [1, ..] => options = &options[1..],
                [0, ..] | [] | [_] => return None,
                [_, length, ..] => options = options.get(usize::from(length).max(2)..)?,
            }
        }
    }

    fn sum(self, frame: &[u8]) -> u32 {
        let addresses = match self.is_v6 {
            true => FRAME_HEAD + 8..FRAME_HEAD + 40,
            false => FRAME_HEAD + 12..FRAME_HEAD + 20,
        };
        let pseudo = u32::from(TCP) + (self.end - self.start) as u32;
        sum(&frame[self.start..self.end], sum(&frame[addresses], pseudo))
    }

    /// Whether its sum is right.
    #[must_use]
    pub fn is_sound(self, frame: &[u8]) -> bool {
        self.sum(frame) == 0xffff
    }

    /// Puts its sum right.
    fn seal(self, frame: &mut [u8]) {
        frame[self.start + 16..self.start + 18].fill(0);
        let own = !(self.sum(frame) as u16);
        frame[self.start + 16..self.start + 18].copy_from_slice(&own.to_be_bytes());
    }

    /// A frame with the heads of this one and another segment, which has no data: its flags and numbers,
    /// and the most bytes of a segment that its sender takes. `back`: to where this one comes from.
    #[must_use]
    pub fn other(
        self,
        frame: &[u8],
        back: bool,
        flags: u8,
        [number, wanted]: [u32; 2],
        largest: u16,
    ) -> alloc::vec::Vec<u8> {
        let mut other = frame[..self.start + HEAD].to_vec();
        let mut swap = |one: usize, two: usize, length: usize| {
            (0..length).for_each(|at| other.swap(one + at, two + at));
        };
        if back {
            swap(0, 6, 6);
            match self.is_v6 {
                true => swap(FRAME_HEAD + 8, FRAME_HEAD + 24, 16),
                false => swap(FRAME_HEAD + 12, FRAME_HEAD + 16, 4),
            }
            swap(self.start, self.start + 2, 2);
        }
        other.extend([2, 4]);
        other.extend(largest.to_be_bytes());
        let length = (other.len() - FRAME_HEAD) as u16;
        let segment = Segment {
            end: other.len(),
            ..self
        };
        // Its options are two words: one of five and one more.
        other[self.start + 12..][..2].copy_from_slice(&[0x60, flags]);
        other[self.start + 14..][..2].copy_from_slice(&0xfaf0_u16.to_be_bytes());
        other[self.start + 18..][..2].fill(0);
        if self.is_v6 {
            let length = length - 40;
            other[FRAME_HEAD + 4..][..2].copy_from_slice(&length.to_be_bytes());
            other[FRAME_HEAD + 7] = 64;
        } else {
            other[FRAME_HEAD + 2..][..2].copy_from_slice(&length.to_be_bytes());
            other[FRAME_HEAD + 8] = 64;
            other[FRAME_HEAD + 10..][..2].fill(0);
            let head = !(sum(&other[FRAME_HEAD..self.start], 0) as u16);
            other[FRAME_HEAD + 10..][..2].copy_from_slice(&head.to_be_bytes());
        }
        segment.set_number(&mut other, number);
        segment.set_wanted(&mut other, wanted);
        other
    }
}
