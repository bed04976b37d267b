//! A link between the cards of two systems, whose frames are datagrams: it loses, doubles, delays and
//! damages some of them, as a seed says, and is the link's DHCP server.
//!
//! Invariants:
//! - What becomes of a frame follows from the seed and its number alone. When it arrives, the machine
//!   decides.
//! - Its own frames, by which each side gets its address, are not lost: a link without addresses would
//!   carry nothing.

use anyhow::{Context, Result};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How much of a thousand frames are lost, come twice, come late (behind others), and come damaged.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub lost: u32,
    pub doubled: u32,
    pub late: u32,
    pub damaged: u32,
}

/// How late a frame is at most, in milliseconds.
const LATE: u64 = 20;
/// How long a frame is waited for before late ones are looked at.
const LOOK: Duration = Duration::from_millis(1);
const LONGEST: usize = 1514;
/// Of the link's own side.
const MAC: [u8; 6] = [0x52, 0x54, 0, 9, 9, 9];
const SERVER: [u8; 4] = [10, 0, 0, 1];

/// What has become of frames.
#[derive(Debug, Default)]
pub struct Tally {
    pub carried: AtomicU32,
    pub lost: AtomicU32,
    pub doubled: AtomicU32,
    pub late: AtomicU32,
    pub damaged: AtomicU32,
}

/// A link, until it is dropped.
pub struct Link {
    /// Where the card of each side sends to.
    pub ends: [SocketAddr; 2],
    pub tally: Arc<Tally>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Link {
    /// One between the cards at these addresses; the first gets 10.0.0.2, and the other 10.0.0.3.
    pub fn new(cards: [SocketAddr; 2], rates: Rates, seed: u64) -> Result<Link> {
        let socket = || -> Result<UdpSocket> {
            let socket =
                UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
            socket.set_read_timeout(Some(LOOK))?;
            Ok(socket)
        };
        let sockets = [socket()?, socket()?];
        let ends = [sockets[0].local_addr()?, sockets[1].local_addr()?];
        let (over, tally) = (Arc::new(AtomicBool::new(false)), Arc::<Tally>::default());
        let mut threads = Vec::new();
        for (side, (own, other)) in [(0, 1), (1, 0)].into_iter().enumerate() {
            let way = Way {
                from: sockets[own].try_clone()?,
                to: sockets[other].try_clone()?,
                card: cards[own],
                other: cards[other],
                address: [10, 0, 0, 2 + side as u8],
                rates,
                draw: fastrand::Rng::with_seed(seed.wrapping_mul(2) + side as u64),
                late: Vec::new(),
                tally: Arc::clone(&tally),
            };
            let over = Arc::clone(&over);
            threads.push(std::thread::spawn(move || way.carry(&over)));
        }
        Ok(Link {
            ends,
            tally,
            over,
            threads,
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // One that has panicked has said so.
            let _ = thread.join();
        }
    }
}

/// One of its two ways.
struct Way {
    from: UdpSocket,
    to: UdpSocket,
    card: SocketAddr,
    other: SocketAddr,
    /// Of the card that sends.
    address: [u8; 4],
    rates: Rates,
    draw: fastrand::Rng,
    late: Vec<(Instant, Vec<u8>)>,
    tally: Arc<Tally>,
}

impl Way {
    fn carry(mut self, over: &AtomicBool) {
        let mut room = [0; 2048];
        while !over.load(Relaxed) {
            let now = Instant::now();
            let due: Vec<_> = self.late.extract_if(.., |(at, _)| *at <= now).collect();
            due.iter().for_each(|(_, frame)| self.send(frame));
            let Ok((length, from)) = self.from.recv_from(&mut room) else {
                continue;
            };
            let frame = &mut room[..length.min(LONGEST)];
            if from != self.card {
                continue;
            }
            match lease(frame, self.address) {
                Some(answer) => drop(self.from.send_to(&answer, self.card)),
                None => self.pass(frame),
            }
        }
    }

    /// A frame that the other card has no room for is one more that is lost.
    fn send(&self, frame: &[u8]) {
        let _ = self.to.send_to(frame, self.other);
    }

    fn pass(&mut self, frame: &mut [u8]) {
        // Each is drawn for every frame, so that no rate changes what another does.
        let [lost, doubled, late, damaged] = [0; 4].map(|_: u32| self.draw.u32(..1000));
        let (bit, delay) = (self.draw.usize(..frame.len() * 8), self.draw.u64(1..=LATE));
        let tally = &self.tally;
        tally.carried.fetch_add(1, Relaxed);
        if lost < self.rates.lost {
            tally.lost.fetch_add(1, Relaxed);
            return;
        }
        if damaged < self.rates.damaged {
            tally.damaged.fetch_add(1, Relaxed);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        if doubled < self.rates.doubled {
            tally.doubled.fetch_add(1, Relaxed);
            self.send(frame);
        }
        if late < self.rates.late {
            tally.late.fetch_add(1, Relaxed);
            let at = Instant::now() + Duration::from_millis(delay);
            self.late.push((at, frame.to_vec()));
        } else {
            self.send(frame);
        }
    }
}

/// The sum of a head of IPv4.
fn sum(head: &[u8]) -> u16 {
    let words = head
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let all: u32 = words.sum();
    let all = (all & 0xffff) + (all >> 16);
    !((all & 0xffff) + (all >> 16)) as u16
}

/// What the DHCP server answers a frame, if it is for it: the card has this address.
fn lease(frame: &[u8], address: [u8; 4]) -> Option<Vec<u8>> {
    // Ethernet, IPv4 without options, UDP to port 67, and the fixed part with its mark.
    let asked = frame.get(42..)?;
    let is = frame[12..14] == [8, 0] && frame[14] == 0x45 && frame[23] == 17;
    if !is || frame[36..38] != [0, 67] || asked.get(236..240)? != [99, 130, 83, 99] {
        return None;
    }
    let mut options = &asked[240..];
    let kind = loop {
        match *options {
            [53, 1, kind, ..] => break kind,
            [0, ref rest @ ..] => options = rest,
            [_, length, ref rest @ ..] => options = rest.get(usize::from(length)..)?,
            _ => return None,
        }
    };
    // Of a Discover an Offer, and of a Request an Ack.
    let answer = match kind {
        1 => 2,
        3 => 5,
        _ => return None,
    };
    let mut body = asked[..240].to_vec();
    body[0] = 2;
    body[16..20].copy_from_slice(&address);
    body[20..24].copy_from_slice(&SERVER);
    body.extend_from_slice(&[53, 1, answer, 54, 4]);
    body.extend_from_slice(&SERVER);
    body.extend_from_slice(&[51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 255]);
    let length = 28 + body.len() as u16;
    let mut all = Vec::from([0xff; 6]);
    all.extend_from_slice(&MAC);
    all.extend_from_slice(&[8, 0, 0x45, 0]);
    all.extend_from_slice(&length.to_be_bytes());
    all.extend_from_slice(&[0, 0, 0, 0, 64, 17, 0, 0]);
    all.extend_from_slice(&SERVER);
    all.extend_from_slice(&[255; 4]);
    let head = sum(&all[14..34]);
    all[24..26].copy_from_slice(&head.to_be_bytes());
    all.extend_from_slice(&[0, 67, 0, 68]);
    all.extend_from_slice(&(length - 20).to_be_bytes());
    all.extend_from_slice(&[0, 0]);
    all.extend(body);
    Some(all)
}
