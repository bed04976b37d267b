//! The other side of a card's network in the tests: sends frames of all lengths, and compares what
//! comes back with what should.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Frames with data that are sent, and how many of them may be without an answer.
const FRAMES: u32 = 10_000;
const WINDOW: usize = 32;
/// Of so many frames, this many go at once, without a wait.
const BURST_EVERY: u32 = 1_000;
const BURST: u32 = 150;
/// Frames between two attempts to end.
const BETWEEN: u32 = 500;
/// When a frame without an answer is sent again: a network may lose some.
const AGAIN: Duration = Duration::from_millis(500);
/// How long an answer is waited for before that is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The most bytes of a frame, those of the shortest on a wire, and those before its data.
const LONGEST: usize = 1514;
const PADDED: usize = 60;
const HEADS: usize = 42;
const HOST: [u8; 4] = [10, 0, 0, 1];
const GUEST: [u8; 4] = [10, 0, 0, 2];
const HOST_MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
/// The ports: the host's holds the upper half of a frame's number, too.
const PORTS: [u16; 2] = [4000, 7];

/// The other side of the card's network.
pub struct Peer {
    socket: UdpSocket,
    guest: SocketAddr,
    deadline: Instant,
    mac: [u8; 6],
    /// Frames that wait for their answer, by number, and when they were sent.
    waiting: BTreeMap<u32, Instant>,
    next: u32,
    /// Frames that were answered, and those that were sent again.
    pub answered: u32,
    pub again: u32,
}

impl Peer {
    /// One that sends from this socket to the guest's address.
    pub fn new(socket: UdpSocket, guest: SocketAddr, deadline: Instant) -> Peer {
        Peer {
            socket,
            guest,
            deadline,
            mac: [0xff; 6],
            waiting: BTreeMap::new(),
            next: 0,
            answered: 0,
            again: 0,
        }
    }

    /// Sends all, until the program inside has heard that it is to end. Why something that came
    /// is wrong.
    pub fn play(&mut self) -> Result<(), String> {
        let set = self.socket.set_read_timeout(Some(LOOK));
        set.map_err(|e| e.to_string())?;
        while self.mac == [0xff; 6] {
            self.send(&arp())?;
            self.receive()?;
        }
        self.exchange(FRAMES)?;
        loop {
            self.send(&udp(self.mac, u32::MAX, b"end"))?;
            let until = Instant::now() + AGAIN;
            while Instant::now() < until {
                if self.receive()? {
                    return Ok(());
                }
            }
            self.exchange(BETWEEN)?;
        }
    }

    /// Sends so many frames, and waits for the answers to all.
    fn exchange(&mut self, count: u32) -> Result<(), String> {
        for number in self.next..self.next + count {
            let burst = number % BURST_EVERY < BURST;
            let window = WINDOW + if burst { BURST as usize } else { 0 };
            while self.waiting.len() >= window {
                self.receive()?;
            }
            self.send(&numbered(self.mac, number))?;
            self.waiting.insert(number, Instant::now());
            if number % 100 == 0 {
                self.send_nonsense(number)?;
            }
        }
        self.next += count;
        while !self.waiting.is_empty() {
            self.receive()?;
        }
        Ok(())
    }

    /// What is no frame, or none that is answered: a few bytes, more than a frame has, an unknown
    /// kind, another's.
    fn send_nonsense(&self, number: u32) -> Result<(), String> {
        let mut frame = numbered(self.mac, number);
        frame.resize(2000, 0x77);
        self.send(&frame)?;
        self.send(&frame[..LONGEST + 1])?;
        frame[12] = 0x99;
        self.send(&frame[..1 + number as usize / 100 % (HEADS - 1)])?;
        frame.truncate(200);
        self.send(&frame)?;
        frame[12] = 8;
        frame[5] ^= 1;
        self.send(&frame)
    }

    fn send(&self, frame: &[u8]) -> Result<(), String> {
        let sent = self.socket.send_to(frame, self.guest);
        sent.map(drop).map_err(|e| format!("cannot send: {e}"))
    }

    /// Takes an answer, if one comes soon; else sends again what has waited long. Whether the
    /// program inside ends.
    fn receive(&mut self) -> Result<bool, String> {
        if Instant::now() > self.deadline {
            return Err(format!(
                "too slow: {} answered, {} sent again, {} wait",
                self.answered,
                self.again,
                self.waiting.len()
            ));
        }
        let mut bytes = [0; 2048];
        match self.socket.recv(&mut bytes) {
            Ok(len) => self.take(&bytes[..len]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let now = Instant::now();
                let late = self.waiting.iter().filter(|(_, at)| now - **at > AGAIN);
                let late: Vec<u32> = late.map(|(number, _)| *number).take(WINDOW).collect();
                for number in late {
                    self.again += 1;
                    self.send(&numbered(self.mac, number))?;
                    self.waiting.insert(number, now);
                }
                Ok(false)
            }
            Err(e) => Err(format!("cannot receive: {e}")),
        }
    }

    fn take(&mut self, frame: &[u8]) -> Result<bool, String> {
        let word = |at: usize| {
            frame
                .get(at..at + 2)
                .map(|b| u16::from_be_bytes([b[0], b[1]]))
        };
        match word(12) {
            Some(0x0806) => {
                let answer = frame.get(20..32).ok_or("a short answer to ARP")?;
                if answer[..2] != [0, 2] || answer[8..12] != GUEST {
                    return Err(format!("not an answer to ARP: {frame:x?}"));
                }
                self.mac.copy_from_slice(&answer[2..8]);
                Ok(false)
            }
            Some(0x0800) => {
                let (Some(low), Some(port)) = (word(18), word(36)) else {
                    return Err(format!("a short answer: {frame:x?}"));
                };
                let high = port.wrapping_sub(PORTS[0]);
                let number = u32::from(high) << 16 | u32::from(low);
                if number == u32::MAX {
                    return Ok(true);
                }
                let wanted = echoed(numbered(self.mac, number));
                let (same, rest) = frame.split_at(wanted.len().min(frame.len()));
                let padding = frame.len() <= PADDED && rest.iter().all(|b| *b == 0);
                if same != wanted || !(rest.is_empty() || padding) {
                    return Err(format!(
                        "frame {number} of {} bytes came back as {frame:x?}",
                        wanted.len()
                    ));
                }
                // An answer to one that was sent twice may come twice.
                self.answered += u32::from(self.waiting.remove(&number).is_some());
                Ok(false)
            }
            _ => Err(format!("nobody has asked for this: {frame:x?}")),
        }
    }
}

/// Asks all for the guest's address.
fn arp() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend(HOST_MAC);
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(HOST_MAC);
    frame.extend(HOST);
    frame.extend([0; 6]);
    frame.extend(GUEST);
    frame
}

/// The frame of this number: of all lengths in turn, the longest first.
fn numbered(mac: [u8; 6], number: u32) -> Vec<u8> {
    let most = (LONGEST - HEADS) as u32;
    let len = most - number.wrapping_mul(37) % (most + 1);
    let data: Vec<u8> = (0..len)
        .map(|i| (number.wrapping_mul(31) + i * 7) as u8 | 0x80)
        .collect();
    udp(mac, number, &data)
}

fn udp(mac: [u8; 6], number: u32, data: &[u8]) -> Vec<u8> {
    let mut frame = mac.to_vec();
    frame.extend(HOST_MAC);
    frame.extend([8, 0]);
    let mut ip = vec![0x45, 0];
    ip.extend((28 + data.len() as u16).to_be_bytes());
    ip.extend((number as u16).to_be_bytes());
    ip.extend([0, 0, 64, 17, 0, 0]);
    ip.extend(HOST);
    ip.extend(GUEST);
    let words = ip
        .chunks(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend(PORTS[0].wrapping_add((number >> 16) as u16).to_be_bytes());
    frame.extend(PORTS[1].to_be_bytes());
    frame.extend((8 + data.len() as u16).to_be_bytes());
    // Without a checksum.
    frame.extend([0, 0]);
    frame.extend(data);
    frame
}

/// The frame as the guest sends it back.
fn echoed(mut frame: Vec<u8>) -> Vec<u8> {
    let swaps = [(0, 6, 6), (26, 30, 4), (34, 36, 2)];
    for (a, b, len) in swaps {
        (0..len).for_each(|i| frame.swap(a + i, b + i));
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_of_all_lengths() {
        let mut lengths: Vec<usize> = (0..FRAMES).map(|n| numbered([2; 6], n).len()).collect();
        assert_eq!(lengths[0], LONGEST);
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths, (HEADS..=LONGEST).collect::<Vec<_>>());
    }

    #[test]
    fn an_echo_goes_back() {
        let frame = echoed(udp([2; 6], 5, b"x"));
        assert_eq!((&frame[..6], &frame[6..12]), (&HOST_MAC[..], &[2; 6][..]));
        assert_eq!((&frame[26..30], &frame[30..34]), (&GUEST[..], &HOST[..]));
        assert_eq!(frame[34..38], [0, 7, 15, 160]);
    }
}
