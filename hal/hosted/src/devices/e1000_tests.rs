//! The e1000, driven as drivers might.

use super::e1000::E1000;
use super::net::Network;
use super::pci::Function;
use sing_abi::PAGE;
use sing_kernel::hal::DeviceAccess;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const PAGES: usize = 8;
/// The first page of the window that leads to memory. There are the rings, and then data.
const FIRST: u64 = 256;
const SEND_RING: u64 = FIRST * PAGE;
const RECEIVE_RING: u64 = SEND_RING + 2048;
const DATA: u64 = SEND_RING + PAGE;
const SIZE: u32 = 8;
const SOON: Duration = Duration::from_secs(20);
const NEVER: Duration = Duration::from_millis(100);
const LINK_UP: u32 = 2;

#[repr(align(4096))]
struct Memory([u8; PAGES * PAGE as usize]);

struct Bench {
    card: Arc<E1000>,
    memory: Box<Memory>,
    peer: UdpSocket,
    local: std::net::SocketAddr,
}

impl Bench {
    fn new() -> Bench {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        // A port that nobody has.
        let local = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr();
        let network = Network {
            local: local.unwrap(),
            remote: peer.local_addr().unwrap(),
            e1000: true,
        };
        let mut bench = Bench {
            // Line 27 stays masked, so that nobody is signalled.
            card: E1000::start(27, &network).unwrap(),
            memory: Box::new(Memory([0; PAGES * PAGE as usize])),
            peer,
            local: network.local,
        };
        let at = bench.memory.0.as_mut_ptr() as u64;
        bench.card.window().open();
        for page in 0..PAGES as u64 {
            let page32 = (FIRST + page) as u32;
            let mapped = bench
                .card
                .window()
                .map(page32, at + page * PAGE, DeviceAccess::Both);
            assert!(mapped);
        }
        bench
    }

    fn get(&self, register: u32) -> u32 {
        self.card.read(register, 4) as u32
    }

    fn set(&self, register: u32, value: u32) {
        self.card.write(register, 4, value.into());
    }

    /// Resets the card, and sets both rings up.
    fn begin(&mut self) {
        self.set(0, 1 << 26);
        self.memory.0.fill(0);
        for (base, at) in [(0x2800, RECEIVE_RING), (0x3800, SEND_RING)] {
            self.set(base, at as u32);
            self.set(base + 4, (at >> 32) as u32);
            self.set(base + 8, SIZE * 16);
        }
        self.set(0xd0, 0xff);
        self.set(0x400, 1 << 1 | 1 << 3);
        self.set(0x100, 1 << 1 | 1 << 15);
    }

    fn at(&mut self, at: u64, len: usize) -> &mut [u8] {
        &mut self.memory.0[(at - SEND_RING) as usize..][..len]
    }

    /// Writes a descriptor.
    fn describe(&mut self, ring: u64, index: u32, at: u64, len: u16, command: u8) {
        let place = self.at(ring + u64::from(index) * 16, 16);
        place.fill(0);
        place[..8].copy_from_slice(&at.to_le_bytes());
        place[8..10].copy_from_slice(&len.to_le_bytes());
        place[11] = command;
    }

    fn state(&self, ring: u64, index: u32) -> u8 {
        let at = ring + u64::from(index) * 16 + 12;
        let mut state = [0];
        assert!(self.card.window().reach().read(at, &mut state).is_ok());
        state[0]
    }

    /// The frame that has come at the other end; none if none comes soon.
    fn heard(&self, wait: Duration) -> Option<Vec<u8>> {
        self.peer.set_read_timeout(Some(wait)).unwrap();
        let mut bytes = [0; 4096];
        let len = self.peer.recv(&mut bytes).ok()?;
        Some(bytes[..len].to_vec())
    }

    fn comes(&self, index: u32, wait: Duration) -> bool {
        let start = Instant::now();
        while self.state(RECEIVE_RING, index) == 0 {
            if start.elapsed() > wait {
                return false;
            }
            thread::yield_now();
        }
        true
    }

    fn is_stopped(&self) -> bool {
        self.get(8) & LINK_UP == 0
    }
}

#[test]
fn frames_go_and_come_and_others_do_not() {
    let mut bench = Bench::new();
    bench.begin();
    // Two parts, of which the second ends the frame.
    bench.at(DATA, 100).fill(5);
    bench.describe(SEND_RING, 0, DATA, 60, 8);
    bench.describe(SEND_RING, 1, DATA + 60, 40, 1 | 8);
    bench.set(0x3818, 2);
    assert_eq!(bench.heard(SOON), Some(vec![5; 100]));
    assert_eq!(
        (bench.state(SEND_RING, 0), bench.state(SEND_RING, 1)),
        (1, 1)
    );
    assert_eq!((bench.get(0x3810), bench.get(0xc0)), (2, 3));
    assert_eq!(bench.get(0xc0), 0, "reading the causes clears them");
    // Too long altogether, and then one that is short.
    bench.describe(SEND_RING, 2, DATA, 1500, 0);
    bench.describe(SEND_RING, 3, DATA, 15, 1);
    bench.describe(SEND_RING, 4, DATA, 9, 1);
    bench.set(0x3818, 5);
    let heard = bench.heard(SOON).unwrap();
    assert_eq!((&heard[..9], &heard[9..]), (&[5; 9][..], &[0; 51][..]));
    // Its own address, with the words of its memory; another's; all; a group's that is listed.
    bench.set(0x14, 1);
    let [a, b, c, d] = bench.get(0x5400).to_le_bytes();
    let [e, f, ..] = bench.get(0x5404).to_le_bytes();
    assert_eq!(bench.get(0x14) >> 16, u32::from(u16::from_le_bytes([a, b])));
    for index in 0..4 {
        bench.describe(RECEIVE_RING, index, DATA + u64::from(index) * 2048, 0, 0);
    }
    bench.set(0x2818, 4);
    let own = [a, b, c, d, e, f];
    let group = [1, 0, 0, 0, 0x10, 0];
    bench.set(0x5200, 1 << 1);
    for to in [
        own,
        [a, b, c, d, e, f ^ 1],
        [0xff; 6],
        [1, 0, 0, 0, 0x20, 0],
        group,
    ] {
        let mut frame = [9; 200];
        frame[..6].copy_from_slice(&to);
        bench.peer.send_to(&frame, bench.local).unwrap();
    }
    assert!(bench.comes(2, SOON));
    assert!(!bench.comes(3, NEVER));
    for (index, to) in [own, [0xff; 6], group].into_iter().enumerate() {
        assert_eq!(bench.state(RECEIVE_RING, index as u32), 3);
        assert_eq!(bench.at(DATA + index as u64 * 2048, 6), to);
        let len = bench.at(RECEIVE_RING + index as u64 * 16 + 8, 2).to_vec();
        assert_eq!(len, 200u16.to_le_bytes());
    }
    assert_eq!(bench.get(0xc0) & 0x80, 0x80);
    bench.card.reset();
}

#[test]
fn a_frame_may_fill_several_places() {
    let mut bench = Bench::new();
    bench.begin();
    // Places of 256 bytes.
    bench.set(0x100, 1 << 1 | 1 << 15 | 3 << 16);
    for index in 0..3 {
        bench.describe(RECEIVE_RING, index, DATA + u64::from(index) * 256, 0, 0);
    }
    bench.set(0x2818, 2);
    bench.peer.send_to(&[0xff; 600], bench.local).unwrap();
    assert!(!bench.comes(0, NEVER), "half a frame has come");
    bench.set(0x2818, 3);
    assert!(bench.comes(2, SOON));
    let states = [0, 1, 2].map(|i| bench.state(RECEIVE_RING, i));
    assert_eq!(states, [1, 1, 3]);
    assert!(bench.at(DATA, 600).iter().all(|b| *b == 0xff));
    assert_eq!(bench.at(DATA + 600, 1), [0]);
    bench.card.reset();
}

/// Registers that are written, and a descriptor: address, length, command.
type Case<'a> = (&'a [(u32, u32)], (u64, u16, u8));

#[test]
fn a_driver_that_breaks_the_rules_finds_the_link_down() {
    let mut bench = Bench::new();
    let nowhere = (FIRST + PAGES as u64) * PAGE;
    // What is written behind the start, and the descriptor to send.
    let cases: [Case<'_>; 8] = [
        (&[(0x3818, SIZE)], (DATA, 60, 9)),
        (&[(0x3810, u32::MAX), (0x3818, 1)], (DATA, 60, 9)),
        (&[(0x3808, 0xf_ff80), (0x3818, 0xffff)], (DATA, 60, 9)),
        (&[(0x3808, 0), (0x3818, 1)], (DATA, 60, 9)),
        (&[(0x3800, 0), (0x3818, 1)], (DATA, 60, 9)),
        (&[(0x3804, u32::MAX), (0x3818, 1)], (DATA, 60, 9)),
        (&[(0x3818, 1)], (nowhere - 59, 60, 9)),
        (&[(0x3818, 1)], (DATA, 60, 9 | 0x20)),
    ];
    for (writes, (at, len, command)) in cases {
        bench.begin();
        bench.describe(SEND_RING, 0, at, len, command);
        assert!(!bench.is_stopped());
        for &(register, value) in writes {
            bench.set(register, value);
        }
        assert!(bench.is_stopped(), "{writes:x?} {at:x}");
        assert_eq!(bench.get(0xc0) & 4, 4, "no interrupt says so");
        // Nothing goes any more.
        bench.describe(SEND_RING, 0, DATA, 60, 9);
        bench.set(0x3818, 1);
    }
    assert_eq!(bench.heard(NEVER), None);
    // Places for frames that lead nowhere.
    for (register, value) in [(0x2800, 0), (0x2818, SIZE), (0x2818, 1)] {
        bench.begin();
        bench.describe(RECEIVE_RING, 0, nowhere, 0, 0);
        bench.set(register, value);
        bench.set(0x2818, value.max(1));
        bench.peer.send_to(&[0xff; 60], bench.local).unwrap();
        let start = Instant::now();
        while !bench.is_stopped() {
            assert!(start.elapsed() < SOON, "{register:x} {value:x}");
            thread::yield_now();
        }
    }
    bench.begin();
    bench.describe(SEND_RING, 0, DATA, 60, 9);
    bench.set(0x3818, 1);
    assert_eq!(bench.heard(SOON), Some(vec![0; 60]));
    bench.card.reset();
}

#[test]
fn a_card_that_was_reset_touches_nothing() {
    let mut bench = Bench::new();
    bench.begin();
    bench.describe(RECEIVE_RING, 0, DATA, 0, 0);
    bench.set(0x2818, 1);
    bench.card.reset();
    bench.peer.send_to(&[0xff; 60], bench.local).unwrap();
    assert!(!bench.comes(0, NEVER));
    assert_eq!(bench.at(DATA, 1), [0]);
    // The frame that waits goes to the next driver.
    bench.begin();
    bench.describe(RECEIVE_RING, 0, DATA, 0, 0);
    bench.set(0x2818, 1);
    assert!(bench.comes(0, SOON));
    assert_eq!(bench.at(DATA, 1), [0xff]);
    bench.card.reset();
}
