//! Drawn arguments: descriptors, paths, lists, addresses and offsets.
//!
//! Invariant: unless a run is wild, flags are some and all addresses lie in the buffer.

use super::{Border, DATA, LISTS, NAMES, OTHERS, PAGE, RESULT};
use std::arch::wasm32::memory_size;
use std::fmt::Write as _;

impl Border {
    /// Whether something that a host may end the program for is drawn: once in so many times.
    pub(super) fn wild(&mut self, count: u32) -> bool {
        self.random.one_in(count) && self.wild
    }

    /// One of these flags, or seldom one of those that are none.
    pub(super) fn flags(&mut self, good: &[u32], none: &[u32]) -> u32 {
        match self.wild(8) {
            true => self.random.of(none),
            false => self.random.of(good),
        }
    }

    /// An address of some use, with `len` bytes behind it.
    pub(super) fn edge(&mut self) -> u32 {
        let end = (memory_size(0) as u32) * PAGE;
        let by = self.random.below(40);
        match self.random.below(4) {
            0 => end - by,
            1 => end,
            2 => end.wrapping_add(by * 1000),
            _ => u32::MAX - by,
        }
    }

    /// Where a result goes.
    pub(super) fn to(&mut self) -> u32 {
        match self.wild(20) {
            true => self.edge(),
            // Not always aligned.
            false => self.at + RESULT + u32::from(self.wild(20)),
        }
    }

    pub(super) fn fd(&mut self) -> u32 {
        match self.opened.len() {
            0 => self.random.of(&OTHERS),
            _ if self.random.one_in(4) => self.random.of(&OTHERS),
            count => {
                let back = self.random.below(count.min(6) as u32) as usize;
                self.opened[count - 1 - back]
            }
        }
    }

    pub(super) fn directory(&mut self) -> u32 {
        match self.random.below(4) {
            0 => self.fd(),
            _ => 3,
        }
    }

    /// A path in the buffer, from this place on: its address and length.
    pub(super) fn path(&mut self, place: u32) -> (u32, u32) {
        let mut path = Vec::new();
        if self.random.one_in(20) {
            path.push(b'/');
        }
        let parts = [1, 1, 1, 2, 2, 3, 5];
        for part in 0..self.random.of(&parts) {
            if part > 0 {
                path.push(b'/');
            }
            match self.random.below(40) {
                0 => path.extend(std::iter::repeat_n(b'n', 256)),
                1 => path.extend(std::iter::repeat_n(b'n', 255)),
                _ => path.extend(self.random.of(&NAMES)),
            }
        }
        if self.random.one_in(12) {
            path.push(b'/');
        }
        if self.random.one_in(60) {
            let long: Vec<u8> = std::iter::repeat_n(*b"dir/../", 800).flatten().collect();
            path.splice(0..0, long);
        }
        self.buffer[place as usize..][..path.len()].copy_from_slice(&path);
        let text = String::from_utf8_lossy(&path);
        let shown = match path.len() {
            0..100 => text.escape_debug().to_string(),
            len => {
                let text: Vec<char> = text.chars().collect();
                let ends = [&text[..20], &text[text.len() - 40..]].map(|part| part.iter().collect::<String>());
                format!("{}…{}({len})", ends[0].escape_debug(), ends[1].escape_debug())
            }
        };
        let _ = write!(self.said, " {shown}");
        let len = match self.wild(50) {
            true => u32::MAX,
            false if self.random.one_in(50) => 0,
            false => path.len() as u32,
        };
        match self.wild(50) {
            true => (self.edge(), len),
            false => (self.at + place, len),
        }
    }

    /// A list of pieces of the data: its address and count.
    pub(super) fn list(&mut self) -> (u32, u32) {
        // wasmtime takes the first piece alone that has a byte.
        let count = match self.wild(2) {
            true => self.random.of(&[2, 3, 17]),
            false => self.random.of(&[0, 1, 1, 1]),
        };
        for piece in 0..count {
            let len = self.random.of(&[0u32, 1, 5, 100, 3000, 20_000]);
            let (at, len) = match self.wild(30) {
                true if self.random.one_in(2) => (self.at + DATA, u32::MAX),
                true => (self.edge(), len),
                false => (self.at + DATA + self.random.below(1000), len),
            };
            let place = (LISTS + 8 * piece) as usize;
            self.buffer[place..][..4].copy_from_slice(&at.to_le_bytes());
            self.buffer[place + 4..][..4].copy_from_slice(&len.to_le_bytes());
        }
        match self.wild(20) {
            true => match self.random.below(3) {
                0 => (self.edge(), count),
                1 => (self.at + LISTS, 0x2000_0001),
                _ => (self.at + LISTS + 1, count),
            },
            false => (self.at + LISTS, count),
        }
    }

    /// An offset or a length in a file.
    pub(super) fn offset(&mut self) -> u64 {
        let small = u64::from(self.random.below(30_000));
        let edges = [0, 1, 11, 12, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
        match self.random.one_in(4) {
            true => self.random.of(&edges),
            false => small,
        }
    }

    pub(super) fn times(&mut self) -> (u64, u64, u32) {
        let time = self.random.of(&[0, 1, 1_000_000_000, 1_700_000_000_123_456_789]);
        let flags = self.flags(&[0, 1, 4, 5, 2, 8, 3, 12], &[16, 0xffff]);
        (time, time / 2, flags)
    }

    pub(super) fn read<const N: usize>(&self, place: u32) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[place as usize..][..N]);
        bytes
    }

    /// The bytes of a result, at `at` behind where it went.
    pub(super) fn u32_at(&self, to: u32, behind: u32) -> u32 {
        match self.is_mine(to) {
            true => u32::from_le_bytes(self.read(to - self.at + behind)),
            false => 0,
        }
    }

    pub(super) fn u64_at(&self, to: u32, behind: u32) -> u64 {
        match self.is_mine(to) {
            true => u64::from_le_bytes(self.read(to - self.at + behind)),
            false => 0,
        }
    }

    pub(super) fn is_mine(&self, to: u32) -> bool {
        (self.at..self.at + LISTS).contains(&to)
    }

    /// A sum of the data that lists refer to.
    pub(super) fn sum(&self) -> u32 {
        let data = &self.buffer[DATA as usize..];
        data.iter().fold(0x811c_9dc5, |sum: u32, byte| {
            (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
    }

    /// What a read has brought: a sum, and whether that is of a file outside.
    pub(super) fn has_read(&self) -> String {
        // `fill` leaves no two bytes alike beside each other.
        let outside = self.buffer[DATA as usize..].windows(16);
        let outside = outside.into_iter().any(|bytes| bytes == [b's'; 16]);
        let outside = if outside { " of the secret" } else { "" };
        format!("sum {:x}{outside}", self.sum())
    }

    /// Data that the next read or write has.
    pub(super) fn fill(&mut self) {
        let byte = self.random.next() as u8;
        for (at, place) in self.buffer[DATA as usize..].iter_mut().enumerate() {
            *place = byte.wrapping_add(at as u8);
        }
    }

    pub(super) fn stat(&self, to: u32) -> String {
        // Kind, and the size of a file; the rest is the host's.
        let kind = self.u64_at(to, 16) as u8;
        let size = if kind == 4 { self.u64_at(to, 32) } else { 0 };
        format!("kind {kind} size {size}")
    }
}
