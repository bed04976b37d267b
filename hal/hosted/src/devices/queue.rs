//! A virtqueue ("2.7 Split Virtqueues"), from the device's side.
//!
//! The kernel lays out all three parts, and writes the descriptors and the driver's part; the model
//! writes the device's part. Loops over descriptors are bounded by the queue's size all the same.

use rustix::io::Errno;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// The most descriptors of a queue.
pub(super) const MOST: u16 = 256;

/// Flags of a descriptor: another follows; the device writes it.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
/// Flag in the driver's part: it wants no interrupts.
const NO_INTERRUPT: u16 = 1;

/// A piece of memory of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) at: *mut u8,
    pub(super) len: usize,
}

impl Piece {
    /// No bytes.
    const NONE: Piece = Piece {
        at: NonNull::dangling().as_ptr(),
        len: 0,
    };

    /// The first bytes, and those behind them; `None` if there are not so many.
    fn split_at(self, count: usize) -> Option<(Piece, Piece)> {
        let rest = self.len.checked_sub(count)?;
        let part = |at, len| Piece { at, len };
        Some((
            part(self.at, count),
            part(self.at.wrapping_add(count), rest),
        ))
    }

    /// Copies its first bytes, as many as `out` has and at most all.
    pub(super) fn read(&self, out: &mut [u8]) {
        let len = self.len.min(out.len());
        // SAFETY: a piece is valid while whoever made it says so (`Chain`, `Reach`), which is as
        // long as it is used; `out` is the caller's.
        unsafe { std::ptr::copy_nonoverlapping(self.at, out.as_mut_ptr(), len) };
    }

    /// Fills its first bytes, as many as `from` has and at most all.
    pub(super) fn write(&self, from: &[u8]) {
        let len = self.len.min(from.len());
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.at, len) };
    }
}

/// Bytes that the device reads where they lie, in one piece or in two.
///
/// They are there during `'a`, but may change at any time, as those of a [`Chain`]: whoever decides
/// something by them copies them first.
#[derive(Clone, Copy)]
pub(super) struct Lying<'a> {
    /// Empty only if the other is, too.
    first: Piece,
    second: Piece,
    there: PhantomData<&'a [u8]>,
}

impl<'a> From<&'a [u8]> for Lying<'a> {
    fn from(bytes: &'a [u8]) -> Lying<'a> {
        let (at, len) = (bytes.as_ptr().cast_mut(), bytes.len());
        // It is never written through.
        Lying::of(Piece { at, len }, Piece::NONE)
    }
}

impl<'a> Lying<'a> {
    fn of(first: Piece, second: Piece) -> Lying<'a> {
        let (first, second) = match first.len {
            0 => (second, Piece::NONE),
            _ => (first, second),
        };
        let there = PhantomData;
        Lying {
            first,
            second,
            there,
        }
    }

    pub(super) fn len(self) -> usize {
        self.first.len + self.second.len
    }

    pub(super) fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The first bytes, and those behind them.
    pub(super) fn split_at(self, count: usize) -> Option<(Lying<'a>, Lying<'a>)> {
        let Lying { first, second, .. } = self;
        if let Some((near, far)) = first.split_at(count) {
            return Some((Lying::of(near, Piece::NONE), Lying::of(far, second)));
        }
        let (near, far) = second.split_at(count - first.len)?;
        Some((Lying::of(first, near), Lying::of(far, Piece::NONE)))
    }

    /// A copy of the first bytes, and those behind them.
    pub(super) fn split_first<const N: usize>(self) -> Option<([u8; N], Lying<'a>)> {
        let (near, rest) = self.split_at(N)?;
        let mut copy = [0; N];
        near.first.read(&mut copy);
        near.second.read(&mut copy[near.first.len..]);
        Some((copy, rest))
    }

    /// Copies them behind what `out` holds.
    pub(super) fn append_to(self, out: &mut Vec<u8>) {
        append(&[self.first, self.second], out);
    }

    /// A copy of them.
    pub(super) fn to_vec(self) -> Vec<u8> {
        copied(&[self.first, self.second])
    }

    /// Sends them over a socket, as many as that takes now and lie in one piece; how many.
    pub(super) fn send(self, socket: impl AsFd) -> Result<usize, Errno> {
        let socket = socket.as_fd().as_raw_fd();
        let Piece { at, len } = self.first;
        // SAFETY: they are there during the call (above), in which Linux copies them, whatever they
        // are at that moment; the socket is open as long as it is borrowed.
        let sent = unsafe { libc::send(socket, at.cast_const().cast(), len, libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| {
            let error = std::io::Error::last_os_error();
            Errno::from_io_error(&error).unwrap_or(Errno::IO)
        })
    }
}

/// The memory of a request: what the device reads, and what it writes.
///
/// The pieces are valid while the device's state is locked and the queue stands. Their contents may
/// change at any time: a driver may have kept a view of them. So no references are made to them.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) readable: Vec<Piece>,
    pub(super) writable: Vec<Piece>,
}

impl Chain {
    /// Copies the first bytes of what the device reads, and takes them from it. Returns false, and
    /// takes nothing, if they are not there in one piece.
    pub(super) fn take_head(&mut self, out: &mut [u8]) -> bool {
        let Some(piece) = self.readable.first_mut().filter(|p| p.len >= out.len()) else {
            return false;
        };
        piece.read(out);
        // SAFETY: stays within the piece, or comes to its end.
        piece.at = unsafe { piece.at.add(out.len()) };
        piece.len -= out.len();
        true
    }

    /// Takes the last byte of what the device writes: the place of a status.
    pub(super) fn take_status(&mut self) -> Option<Piece> {
        let piece = self.writable.last_mut()?;
        piece.len = piece.len.checked_sub(1)?;
        Some(Piece {
            at: piece.at.wrapping_add(piece.len),
            len: 1,
        })
    }

    /// Fills what the device writes, from its beginning. Returns the number of bytes that fitted.
    pub(super) fn fill(&self, mut from: &[u8]) -> usize {
        let all = from.len();
        for piece in &self.writable {
            let (now, rest) = from.split_at(piece.len.min(from.len()));
            piece.write(now);
            from = rest;
        }
        all - from.len()
    }

    /// The bytes that the device reads, where they lie; `None` if there are none, or more than two pieces.
    pub(super) fn lying(&self) -> Option<Lying<'_>> {
        match *self.readable.as_slice() {
            [first] => Some(Lying::of(first, Piece::NONE)),
            [first, second] => Some(Lying::of(first, second)),
            _ => None,
        }
    }

    /// A copy of what the device reads.
    pub(super) fn copy(&self) -> Vec<u8> {
        copied(&self.readable)
    }

    /// Copies what the device reads, in place of what `out` holds.
    pub(super) fn copy_to(&self, out: &mut Vec<u8>) {
        copy_pieces(&self.readable, out);
    }
}

/// Copies pieces, in place of what `out` holds. They are valid during the call.
fn copy_pieces(pieces: &[Piece], out: &mut Vec<u8>) {
    out.clear();
    append(pieces, out);
}

/// Copies pieces behind what `out` holds. They are valid during the call.
fn append(pieces: &[Piece], out: &mut Vec<u8>) {
    out.reserve(bytes(pieces));
    for piece in pieces {
        let len = out.len();
        // SAFETY: the room was reserved above; the piece is valid (above), and it is bytes that
        // are copied, whatever they are at that moment.
        unsafe {
            std::ptr::copy_nonoverlapping(piece.at, out.as_mut_ptr().add(len), piece.len);
            out.set_len(len + piece.len);
        }
    }
}

/// A copy of pieces, which are valid during the call.
pub(super) fn copied(pieces: &[Piece]) -> Vec<u8> {
    let mut out = Vec::new();
    copy_pieces(pieces, &mut out);
    out
}

/// The length of some pieces together.
pub(super) fn bytes(pieces: &[Piece]) -> usize {
    pieces.iter().map(|p| p.len).sum()
}

/// A queue: addresses of its parts as the kernel has written them into the registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    pub(super) size: u16,
    pub(super) ready: bool,
    pub(super) descriptors: u64,
    pub(super) driver: u64,
    pub(super) device: u64,
    /// Requests taken out of the driver's part, and given back in the device's, modulo 2^16.
    taken: u16,
    returned: u16,
}

impl Queue {
    /// Whether the parts can be used.
    pub(super) fn is_sound(&self) -> bool {
        let aligned = self.descriptors.is_multiple_of(16)
            && self.driver.is_multiple_of(2)
            && self.device.is_multiple_of(4);
        self.size.is_power_of_two() && self.size <= MOST && aligned
    }

    /// Takes the next request that the driver has added: the number of its first descriptor.
    pub(super) fn take(&mut self) -> Option<u16> {
        // SAFETY: the kernel has set the queue up, and keeps its parts until the device is reset,
        // which makes `ready` false under the lock that the caller holds ([`Hal::io_write`]'s
        // contract); the indexes are within the queue.
        let head = unsafe {
            let index = (self.driver as *const u16).add(1).read_volatile();
            if index == self.taken {
                return None;
            }
            fence(Ordering::Acquire);
            let place = 2 + usize::from(self.taken % self.size);
            (self.driver as *const u16).add(place).read_volatile()
        };
        self.taken = self.taken.wrapping_add(1);
        Some(head)
    }

    /// The memory of the request that begins with this descriptor.
    pub(super) fn chain(&self, head: u16, chain: &mut Chain) {
        chain.readable.clear();
        chain.writable.clear();
        let mut at = head;
        for _ in 0..self.size {
            let descriptor = self.descriptors as usize + usize::from(at % self.size) * 16;
            // SAFETY: as in `take`; a descriptor has 16 bytes, and there are `size` of them.
            let (address, len, flags, next) = unsafe {
                (
                    (descriptor as *const u64).read_volatile(),
                    ((descriptor + 8) as *const u32).read_volatile(),
                    ((descriptor + 12) as *const u16).read_volatile(),
                    ((descriptor + 14) as *const u16).read_volatile(),
                )
            };
            let piece = Piece {
                at: address as *mut u8,
                len: len as usize,
            };
            if flags & WRITE == 0 {
                chain.readable.push(piece);
            } else {
                chain.writable.push(piece);
            }
            if flags & NEXT == 0 {
                break;
            }
            at = next;
        }
    }

    /// Gives a request back; `written` bytes of it are the device's. Returns whether the driver
    /// wants an interrupt.
    pub(super) fn give_back(&mut self, head: u16, written: u32) -> bool {
        let place = self.device as usize + 4 + usize::from(self.returned % self.size) * 8;
        self.returned = self.returned.wrapping_add(1);
        // SAFETY: as in `take`; the device's part is the model's to write.
        unsafe {
            (place as *mut u32).write_volatile(u32::from(head));
            ((place + 4) as *mut u32).write_volatile(written);
            fence(Ordering::Release);
            (self.device as *mut u16)
                .add(1)
                .write_volatile(self.returned);
            fence(Ordering::SeqCst);
            (self.driver as *const u16).read_volatile() & NO_INTERRUPT == 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_are_read_and_sent_where_they_lie() {
        let all: Vec<u8> = (0..200).collect();
        // In one piece, and in two that are cut at each place.
        for cut in 0..=all.len() {
            let at = all.as_ptr().cast_mut();
            let whole = Piece { at, len: all.len() };
            let (near, far) = whole.split_at(cut).unwrap();
            let mut chain = Chain::default();
            assert!(chain.lying().is_none());
            chain.readable.extend([near, far]);
            let lying = chain.lying().unwrap();
            let (first, rest) = lying.split_first::<3>().unwrap();
            assert_eq!((first, rest.len()), ([0, 1, 2], 197));
            assert!(rest.split_at(198).is_none() && rest.split_first::<198>().is_none());
            let (near, rest) = rest.split_at(7).unwrap();
            let mut out = vec![9];
            near.append_to(&mut out);
            assert_eq!(out, [9, 3, 4, 5, 6, 7, 8, 9]);
            assert!(rest.split_at(190).unwrap().1.is_empty());
            let (mine, mut other) = UnixStream::pair().unwrap();
            let (mut left, mut calls) = (rest, 0);
            while !left.is_empty() {
                let sent = left.send(&mine).unwrap();
                left = left.split_at(sent).unwrap().1;
                calls += 1;
            }
            // Each piece that has some of them is sent by one call.
            assert_eq!(calls, if (11..200).contains(&cut) { 2 } else { 1 }, "{cut}");
            let mut come = [0; 190];
            other.read_exact(&mut come).unwrap();
            assert_eq!((&come[..], rest.to_vec()), (&all[10..], all[10..].to_vec()));
            drop(other);
            assert_eq!(rest.send(&mine), Err(Errno::PIPE));
        }
        // Of three pieces there is no such view.
        let mut chain = Chain::default();
        chain.readable.extend([Piece::NONE; 3]);
        assert!(chain.lying().is_none());
    }
}
