//! The queue of output between the kernel, which never waits for a reader, and a HAL's device.
//!
//! One queue keeps the order of everything that goes to one device. Each class of output has a
//! share of it, so that no class can crowd out another: a program that floods the debug log costs
//! debug lines, not the console or a crash report.
//!
//! Invariant: `used` counts the bytes of each class in the queue, and never exceeds its share.

/// Classes of output, by the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// The console's owner. Bytes without room are not taken: the writer keeps them and waits.
    Console,
    /// The kernel: crash reports, the end of the system. A line without room is lost, and counted.
    Kernel,
    /// SIPs, by `debug_print`. A line without room is lost, and counted.
    Debug,
}

const CLASSES: usize = 3;

/// A queue of at most `N` bytes; half of them for the console, a quarter each for the kernel and
/// the SIPs.
#[derive(Debug)]
pub struct Queue<const N: usize> {
    bytes: [u8; N],
    classes: [Class; N],
    first: usize,
    count: usize,
    used: [usize; CLASSES],
    /// Classes that were refused room and have not been told yet that there is room again.
    refused: [bool; CLASSES],
    /// Whether the console's owner waits until all of its bytes are written.
    settling: bool,
}

impl<const N: usize> Default for Queue<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Queue<N> {
    /// Makes an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Queue {
            bytes: [0; N],
            classes: [Class::Console; N],
            first: 0,
            count: 0,
            used: [0; CLASSES],
            refused: [false; CLASSES],
            settling: false,
        }
    }

    const fn share(class: Class) -> usize {
        match class {
            Class::Console => N / 2,
            Class::Kernel | Class::Debug => N / 4,
        }
    }

    /// Adds as many bytes as the class has room for; returns how many.
    pub fn put(&mut self, class: Class, bytes: &[u8]) -> usize {
        let room = Self::share(class) - self.used[class as usize];
        let taken = &bytes[..bytes.len().min(room)];
        for &byte in taken {
            let at = (self.first + self.count) % N;
            self.bytes[at] = byte;
            self.classes[at] = class;
            self.count += 1;
        }
        self.used[class as usize] += taken.len();
        self.refused[class as usize] |= taken.len() < bytes.len();
        taken.len()
    }

    /// Adds all of a line and a line end, or nothing; returns whether there was room.
    pub fn put_line(&mut self, class: Class, line: &[u8]) -> bool {
        let room = Self::share(class) - self.used[class as usize];
        let fits = line.len() < room;
        if fits {
            self.put(class, line);
            self.put(class, b"\n");
        } else {
            self.refused[class as usize] = true;
        }
        fits
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of console bytes in the queue. If there are any, [`Queue::take`] reports
    /// when they are gone.
    pub fn unsettled(&mut self) -> usize {
        let used = self.used[Class::Console as usize];
        self.settling |= used > 0;
        used
    }

    /// Returns the bytes to be written next, all of one class; empty if the queue is.
    #[must_use]
    pub fn next(&self) -> (Class, &[u8]) {
        let class = self.classes[self.first];
        let most = self.count.min(N - self.first);
        let run = &self.classes[self.first..self.first + most];
        let len = run.iter().position(|c| *c != class).unwrap_or(most);
        (class, &self.bytes[self.first..self.first + len])
    }

    /// Removes the first bytes of the queue, which have been written. Returns whether the kernel
    /// must be told: a class that was refused room has half of its share again, or the bytes that
    /// the console's owner waits for are gone.
    pub fn take(&mut self, bytes: usize) -> bool {
        let class = self.classes[self.first];
        let bytes = bytes.min(self.count);
        self.first = (self.first + bytes) % N;
        self.count -= bytes;
        let used = &mut self.used[class as usize];
        *used -= bytes;
        let room =
            *used <= Self::share(class) / 2 && core::mem::take(&mut self.refused[class as usize]);
        let settled = class == Class::Console && *used == 0 && core::mem::take(&mut self.settling);
        room || settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    type Small = Queue<64>;

    fn drained(queue: &mut Small) -> Vec<(Class, Vec<u8>)> {
        let mut out = Vec::new();
        while !queue.is_empty() {
            let (class, bytes) = queue.next();
            let bytes = bytes.to_vec();
            queue.take(bytes.len());
            out.push((class, bytes));
        }
        out
    }

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let mut queue = Small::new();
        for round in 0..50_usize {
            assert_eq!(queue.put(Class::Console, b"abc"), 3);
            assert!(queue.put_line(Class::Kernel, b"crash"));
            assert_eq!(queue.put(Class::Console, &b"defgh"[..round % 6]), round % 6);
            let mut out = Vec::new();
            for (class, bytes) in drained(&mut queue) {
                match out.last_mut() {
                    // A run that wraps round the end of the queue comes in two pieces.
                    Some((last, text)) if *last == class => Vec::extend(text, bytes),
                    _ => out.push((class, bytes)),
                }
            }
            assert_eq!(out[0], (Class::Console, b"abc".to_vec()));
            assert_eq!(out[1], (Class::Kernel, b"crash\n".to_vec()));
        }
    }

    #[test]
    fn no_class_takes_anothers_room() {
        let mut queue = Small::new();
        let mut debug = 0;
        while queue.put_line(Class::Debug, b"flood") {
            debug += 1;
        }
        assert_eq!(debug, 2);
        assert_eq!(queue.put(Class::Console, &[b'x'; 100]), 32);
        assert_eq!(queue.put(Class::Console, b"x"), 0);
        assert!(queue.put_line(Class::Kernel, b"crash: a"));
        assert!(!queue.put_line(Class::Kernel, b"too long"));
    }

    #[test]
    fn whoever_was_refused_hears_of_room_once() {
        let mut queue = Small::new();
        queue.put(Class::Console, &[b'x'; 33]);
        assert!(!queue.take(15), "less than half");
        assert!(queue.take(1));
        assert!(!queue.take(1), "nobody was refused since");
        assert_eq!(queue.unsettled(), 15);
        assert!(!queue.take(14));
        assert!(queue.take(1));
        assert_eq!(queue.unsettled(), 0);
        assert!(!queue.take(0));
    }
}
