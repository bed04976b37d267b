//! What goes over the link of a flood's test: the frames of the attacks, and who stands between the
//! card and the good client's machine.

use crate::fuzz::packets::mend;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Frames that are sent in each millisecond at most, and together: what is late is not made up for at
/// once.
const RATE: u64 = 4;
const TOGETHER: u64 = 64;
/// Connections that are completed and then left alone: few, as they take places of the server's. More
/// of them are played by sockets of the host ([`super::super::crowd`]).
pub const COMPLETED: u64 = 16;
/// How long the answer to a question that paces an attack is waited for until it is asked again.
const AGAIN: Duration = Duration::from_millis(300);

const GUEST: [u8; 4] = [10, 0, 0, 2];
const PEER: [u8; 4] = [10, 0, 0, 1];
const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
/// The first bytes of addresses whose owner completes what it begins.
const COMPLETES: [u8; 2] = [198, 18];

/// What happens on the link.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Act {
    /// Frames are passed on, and nothing else.
    Pass,
    /// Every port is asked from one address after the other, in all ways that scanners know.
    Scan,
    /// Connections to the server are begun by the thousand.
    Flood,
    End,
}

impl Act {
    pub fn of(number: u8) -> Act {
        let all = [Act::Pass, Act::Scan, Act::Flood];
        all.get(usize::from(number)).copied().unwrap_or(Act::End)
    }
}

/// What the system has said to those that do not exist.
#[derive(Default)]
pub struct Heard {
    pub sent: AtomicU64,
    pub refused: AtomicU64,
    pub begun: AtomicU64,
    pub completed: AtomicU64,
    pub other: AtomicU64,
}

/// Where a segment comes from and goes to, its numbers and flags.
struct Segment {
    from: [u8; 4],
    ports: [u16; 2],
    numbers: [u32; 2],
    flags: u8,
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PUSH: u8 = 8;
const ACK: u8 = 16;

/// A frame to the system with a packet of IPv4.
fn frame(from: [u8; 4], protocol: u8, content: &[u8]) -> Vec<u8> {
    // The card's own address is known by what it sends; all hear what is sent to all.
    let mut frame = [&[0xff; 6][..], &MAC, &[8, 0, 0x45, 0]].concat();
    frame.extend((20 + content.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    frame.extend(from);
    frame.extend(GUEST);
    frame.extend(content);
    mend(&mut frame);
    frame
}

impl Segment {
    /// With data behind it.
    fn frame(&self, to: [u8; 6], data: &[u8]) -> Vec<u8> {
        let mut tcp = Vec::new();
        self.ports
            .iter()
            .for_each(|port| tcp.extend(port.to_be_bytes()));
        self.numbers
            .iter()
            .for_each(|number| tcp.extend(number.to_be_bytes()));
        tcp.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend(data);
        let mut frame = frame(self.from, 6, &tcp);
        frame[..6].copy_from_slice(&to);
        frame
    }
}

/// A frame of an attack.
fn made(draw: &mut fastrand::Rng, act: Act, number: u64, server: u16, to: [u8; 6]) -> Vec<u8> {
    let far = [203, draw.u8(..), draw.u8(..), draw.u8(1..255)];
    let near = [10, 0, 0, draw.u8(3..255)];
    let mut segment = Segment {
        from: far,
        ports: [draw.u16(1024..), server],
        numbers: [draw.u32(..), 0],
        flags: SYN,
    };
    let kind = draw.u8(..100);
    match (act, kind) {
        // Each port in turn, from one address.
        (Act::Scan, 0..60) => {
            segment.from = [198, 51, 100, 7];
            segment.ports[1] = number as u16;
        }
        // No beginning, and nothing that was begun.
        (Act::Scan, 60..80) => {
            segment.ports[1] = draw.u16(..);
            let odd = [
                0,
                FIN,
                ACK,
                FIN | PUSH | 32,
                SYN | FIN,
                SYN | RST,
                SYN | ACK,
                RST,
            ];
            segment.flags = odd[draw.usize(..odd.len())];
        }
        (Act::Scan, _) => {
            let mut datagram = segment.ports[0].to_be_bytes().to_vec();
            datagram.extend(draw.u16(..).to_be_bytes());
            datagram.extend([0, 12, 0, 0, 1, 2, 3, 4]);
            let mut frame = frame(far, 17, &datagram);
            frame[..6].copy_from_slice(&to);
            return frame;
        }
        (_, 0..80) => {}
        (_, 80..98) => segment.from = near,
        _ => segment.from = [COMPLETES[0], COMPLETES[1], draw.u8(..), draw.u8(1..255)],
    }
    segment.frame(to, b"")
}

/// What the system says to an address that does not exist; the frame that completes the connection, if
/// it is one of those.
fn answered(frame: &[u8], heard: &Heard, server: u16) -> Option<Vec<u8>> {
    let word = |at: usize| {
        let bytes = frame.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let (ports, number, flags) = (word(34)?, word(38)?, *frame.get(47)?);
    let to: [u8; 4] = frame.get(30..34)?.try_into().ok()?;
    let count = match flags {
        _ if frame.get(23) != Some(&6) => &heard.other,
        flags if flags & RST != 0 => &heard.refused,
        flags if flags & (SYN | ACK) == SYN | ACK => &heard.begun,
        _ => &heard.other,
    };
    count.fetch_add(1, Relaxed);
    let is_begun = std::ptr::eq(count, &heard.begun);
    if !is_begun || to[..2] != COMPLETES || heard.completed.fetch_add(1, Relaxed) >= COMPLETED {
        return None;
    }
    let own = word(42)?;
    let segment = Segment {
        from: to,
        ports: [ports as u16, server],
        numbers: [own, number.wrapping_add(1)],
        flags: ACK | PUSH,
    };
    // Half of a request.
    let data: &[u8] = if own % 2 == 0 {
        b"GET / HTTP/1.1\r\nHost: "
    } else {
        b""
    };
    Some(segment.frame(frame[6..12].try_into().ok()?, data))
}

/// How fast an attack goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// By the clock alone.
    Clock,
    /// After so many frames the system is asked something, and no further ones come until it has
    /// answered. An emulated machine is attacked as fast as it can take it, however slow the host is,
    /// and the good client's frames are not lost in queues of the host.
    Asked(u64),
}

/// Where the questions that pace an attack come from.
const ASKS: [u8; 4] = [198, 51, 100, 8];

/// What paces an attack.
struct Pacer {
    pace: Pace,
    since: Instant,
    /// Frames of this attack.
    sent: u64,
    /// The question that is not answered yet: its port, and when it was sent last, if it was.
    asked: Option<(u16, Option<Instant>)>,
    port: u16,
}

impl Pacer {
    fn new(pace: Pace) -> Pacer {
        Pacer {
            pace,
            since: Instant::now(),
            sent: 0,
            asked: None,
            port: 1024,
        }
    }

    /// Another attack begins.
    fn begin(&mut self) {
        (self.since, self.sent, self.asked) = (Instant::now(), 0, None);
    }

    /// How many frames are due now.
    fn due(&self) -> u64 {
        let due = (self.since.elapsed().as_millis() as u64 * RATE).saturating_sub(self.sent);
        match self.pace {
            Pace::Clock => due.min(TOGETHER),
            Pace::Asked(_) if self.asked.is_some() => 0,
            Pace::Asked(every) => due.min(every - self.sent % every),
        }
    }

    /// Counts frames that were sent; a question is due after some of them.
    fn sent(&mut self, count: u64) {
        self.sent += count;
        if let Pace::Asked(every) = self.pace
            && count > 0
            && self.sent.is_multiple_of(every)
        {
            self.port = self.port.checked_add(1).unwrap_or(1024);
            self.asked = Some((self.port, None));
        }
    }

    /// The question, if it is to be sent now, for the first time or again.
    fn question(&mut self, to: [u8; 6]) -> Option<Vec<u8>> {
        let (port, at) = self.asked.as_mut()?;
        if at.is_some_and(|at| at.elapsed() < AGAIN) {
            return None;
        }
        *at = Some(Instant::now());
        let question = Segment {
            from: ASKS,
            // Nobody listens there, which is said to all who ask.
            ports: [*port, 1],
            numbers: [1, 0],
            flags: SYN,
        };
        Some(question.frame(to, b""))
    }

    /// Whether a frame from the system is to who asks; if it is the answer, the attack goes on.
    fn hears(&mut self, frame: &[u8]) -> bool {
        let is_ours = frame.get(30..34) == Some(&ASKS);
        if let Some((port, _)) = self.asked
            && is_ours
            && frame.get(36..38) == Some(&port.to_be_bytes())
        {
            self.asked = None;
        }
        is_ours
    }
}

/// Stands between the card and the good client's machine, until the end.
pub fn between(
    [near, far]: [&UdpSocket; 2],
    [card, peer]: [SocketAddr; 2],
    server: u16,
    pace: Pace,
    act: &AtomicU8,
    heard: &Heard,
) {
    let mut draw = fastrand::Rng::with_seed(1);
    let (mut number, mut room, mut mac) = (0, [0; 2048], [0xff; 6]);
    let (mut pacer, mut last) = (Pacer::new(pace), Act::Pass);
    loop {
        let now = Act::of(act.load(Relaxed));
        if now == Act::End {
            return;
        }
        if now != last {
            pacer.begin();
            last = now;
        }
        let mut idle = true;
        for (socket, from, back, to) in [(near, card, far, peer), (far, peer, near, card)] {
            while let Ok((length, whence)) = socket.recv_from(&mut room) {
                idle = false;
                let frame = &room[..length];
                if whence != from || length < 14 {
                    continue;
                }
                let outward = from == card;
                if outward {
                    mac.copy_from_slice(&frame[6..12]);
                }
                let is_ip = frame[12..14] == [8, 0] && length >= 34;
                let good = !is_ip || frame[30..34] == PEER || frame[30] >= 224;
                if !outward || good {
                    // A frame that is lost is sent again by who misses it.
                    let _ = back.send_to(frame, to);
                } else if !pacer.hears(frame)
                    && let Some(next) = answered(frame, heard, server)
                {
                    let _ = near.send_to(&next, card);
                }
            }
        }
        if now != Act::Pass {
            let count = pacer.due();
            for _ in 0..count {
                let frame = made(&mut draw, now, number, server, mac);
                let _ = near.send_to(&frame, card);
                number += 1;
                heard.sent.fetch_add(1, Relaxed);
            }
            pacer.sent(count);
            if let Some(question) = pacer.question(mac) {
                let _ = near.send_to(&question, card);
            }
        }
        if idle {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_begun_is_completed() {
        let mut draw = fastrand::Rng::with_seed(1);
        let heard = Heard::default();
        let mut completed = 0;
        for number in 0..2000 {
            let frame = made(&mut draw, Act::Flood, number, 80, [2; 6]);
            assert_eq!((frame.len(), &frame[..6]), (54, &[2; 6][..]));
            // As the system answers it.
            let mut back = frame.clone();
            back[26..30].copy_from_slice(&GUEST);
            back[30..34].copy_from_slice(&frame[26..30]);
            back[34..36].copy_from_slice(&frame[36..38]);
            back[36..38].copy_from_slice(&frame[34..36]);
            back[47] = SYN | ACK;
            completed +=
                u32::from(answered(&back, &heard, 80).is_some_and(|f| f[47] == ACK | PUSH));
            assert_eq!(answered(&frame[..40], &heard, 80), None);
        }
        assert!((10..100).contains(&completed), "{completed}");
        assert_eq!(heard.begun.into_inner(), 2000);
    }

    #[test]
    fn an_attack_waits_for_the_answer_to_its_question() {
        let mut pacer = Pacer::new(Pace::Asked(8));
        pacer.since -= Duration::from_secs(1);
        assert_eq!(pacer.due(), 8);
        assert_eq!(pacer.question([2; 6]), None);
        pacer.sent(3);
        assert_eq!((pacer.due(), pacer.question([2; 6])), (5, None));
        pacer.sent(5);
        let question = pacer.question([2; 6]).unwrap();
        assert_eq!(pacer.question([2; 6]), None);
        assert_eq!(pacer.due(), 0);
        // Not yet answered: something to another, and to another port.
        let mut answer = question.clone();
        answer[30..34].copy_from_slice(&PEER);
        assert!(!pacer.hears(&answer));
        answer[30..34].copy_from_slice(&ASKS);
        answer[36..38].copy_from_slice(&[0, 0]);
        assert!(pacer.hears(&answer));
        assert_eq!(pacer.due(), 0);
        let (port, at) = pacer.asked.unwrap();
        pacer.asked = Some((port, at.map(|at| at - AGAIN)));
        assert_eq!(pacer.question([2; 6]), Some(question.clone()));
        answer[36..38].copy_from_slice(&question[34..36]);
        assert!(pacer.hears(&answer));
        assert_eq!(pacer.due(), 8);
    }

    #[test]
    fn what_is_late_is_not_sent_at_once() {
        let mut pacer = Pacer::new(Pace::Clock);
        pacer.since -= Duration::from_secs(60);
        assert_eq!(pacer.due(), TOGETHER);
        pacer.sent(TOGETHER);
        assert_eq!((pacer.due(), pacer.question([2; 6])), (TOGETHER, None));
        pacer.begin();
        assert!(pacer.due() < TOGETHER);
    }
}
