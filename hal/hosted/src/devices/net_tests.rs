//! The network card, driven as the kernel drives it.

use super::mmio::Transport;
use super::net::{Network, start};
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE: u16 = 8;
const HEAD: usize = 12;
const LONGEST: usize = 1514;
/// How long something may take, and how long is waited for what must not come.
const SOON: Duration = Duration::from_secs(20);
const NEVER: Duration = Duration::from_millis(200);

/// A card with both queues, and the socket at the other end of its network.
struct Bench {
    transport: Arc<Transport>,
    /// Of each queue: descriptors, the driver's part, the device's part.
    rings: Box<[[u64; 64]; 2]>,
    added: [u16; 2],
    peer: UdpSocket,
    network: Network,
}

fn bench() -> Bench {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(SOON)).unwrap();
    // A port that nobody has.
    let local = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let network = Network {
        local,
        remote: peer.local_addr().unwrap(),
        e1000: false,
    };
    // Line 30 stays masked, so that nobody is signalled.
    let transport = Arc::new(Transport::new(30));
    transport.install(start(&network, &transport).unwrap());
    let mut bench = Bench {
        transport,
        rings: Box::new([[0; 64]; 2]),
        added: [0; 2],
        peer,
        network,
    };
    bench.set_up();
    bench
}

impl Bench {
    fn set(&self, register: u32, value: u32) {
        assert!(!self.transport.write(register, 4, value.into()));
    }

    fn set_up(&mut self) {
        self.set(0x70, 0);
        self.set(0x24, 1);
        self.set(0x20, 1);
        self.set(0x70, 11);
        for queue in 0..2 {
            self.rings[queue].fill(0);
            self.added[queue] = 0;
            self.set(0x30, queue as u32);
            self.set(0x38, u32::from(SIZE));
            let at = self.rings[queue].as_ptr() as u64;
            for (register, at) in [(0x80, at), (0x90, at + 256), (0xa0, at + 384)] {
                self.set(register, at as u32);
                self.set(register + 4, (at >> 32) as u32);
            }
            self.set(0x44, 1);
            assert_eq!(self.transport.read(0x44, 4), 1, "a queue was refused");
        }
        // There is no third one.
        self.set(0x30, 2);
        assert_eq!(self.transport.read(0x34, 4), 0);
        self.set(0x70, 15);
    }

    /// Adds a request of one block, and tells the card.
    fn add(&mut self, queue: usize, block: &mut [u8], written: bool) {
        self.put(queue, block, written);
        self.transport.write(0x50, 4, queue as u64);
    }

    /// Adds a request of one block.
    fn put(&mut self, queue: usize, block: &mut [u8], written: bool) {
        let place = self.added[queue] % SIZE;
        let ring = &mut self.rings[queue];
        ring[usize::from(place) * 2] = block.as_mut_ptr() as u64;
        ring[usize::from(place) * 2 + 1] = block.len() as u64 | u64::from(written) << 33;
        self.added[queue] += 1;
        let driver = ring[32..].as_mut_ptr().cast::<u16>();
        // SAFETY: within the ring, which has 128 bytes for this part.
        unsafe {
            driver.add(2 + usize::from(place)).write_volatile(place);
            driver.add(1).write_volatile(self.added[queue]);
        }
    }

    fn used(&self, queue: usize) -> u16 {
        // SAFETY: within the ring; the card's thread may write it.
        let word = unsafe { self.rings[queue].as_ptr().add(48).read_volatile() };
        (word >> 16) as u16
    }

    /// Waits until so many requests of a queue have come back; whether they have.
    fn wait(&self, queue: usize, count: u16, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.used(queue) != count && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.used(queue) == count
    }

    fn send(&self, frame: &[u8]) {
        self.peer.send_to(frame, self.network.local).unwrap();
    }
}

#[test]
fn frames_go_both_ways() {
    let mut bench = bench();
    let mut out = vec![0; HEAD + 60];
    out[HEAD..].fill(7);
    bench.add(1, &mut out, false);
    assert!(bench.wait(1, 1, SOON));
    let mut came = [0; 2048];
    assert_eq!(bench.peer.recv(&mut came).unwrap(), 60);
    assert_eq!(came[..60], [7; 60]);
    // Nothing is sent of a frame that is too long, and the request comes back.
    let mut long = vec![0; HEAD + LONGEST + 1];
    bench.add(1, &mut long, false);
    assert!(bench.wait(1, 2, SOON));
    // It waits for room, and is there when there is some.
    bench.send(&[9; LONGEST]);
    let mut block = vec![0; 2048];
    bench.add(0, &mut block, true);
    assert!(bench.wait(0, 1, SOON));
    assert_eq!(block[..HEAD], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    assert!(block[HEAD..HEAD + LONGEST].iter().all(|b| *b == 9));
    assert!(block[HEAD + LONGEST..].iter().all(|b| *b == 0));
    bench.transport.reset();
}

#[test]
fn a_queue_full_of_large_requests_comes_back() {
    let mut bench = bench();
    let mut long = vec![0; 256 << 10];
    for _ in 0..SIZE {
        bench.put(1, &mut long, false);
    }
    // All in one: the card is not told again.
    bench.transport.write(0x50, 4, 1);
    assert_eq!(bench.used(1), SIZE);
    bench.transport.reset();
}

#[test]
fn frames_of_others_are_not_taken() {
    let mut bench = bench();
    let mut block = vec![0; 2048];
    bench.add(0, &mut block, true);
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    other.send_to(&[1; 60], bench.network.local).unwrap();
    // A datagram that is too long, or empty, is no frame.
    bench.send(&[2; LONGEST + 1]);
    bench.send(&[]);
    assert!(!bench.wait(0, 1, NEVER), "a frame of another was taken");
    bench.send(&[3; 60]);
    assert!(bench.wait(0, 1, SOON));
    assert_eq!(block[HEAD..HEAD + 60], [3; 60]);
    bench.transport.reset();
}

#[test]
fn a_card_that_was_reset_touches_nothing() {
    let mut bench = bench();
    let mut block = vec![0; 2048];
    bench.add(0, &mut block, true);
    bench.transport.reset();
    bench.send(&[4; 60]);
    assert!(!bench.wait(0, 1, NEVER));
    assert!(
        block.iter().all(|b| *b == 0),
        "a card wrote after its reset"
    );
    // The frame that waits goes to the next driver.
    bench.set_up();
    bench.add(0, &mut block, true);
    assert!(bench.wait(0, 1, SOON));
    assert_eq!(block[HEAD..HEAD + 60], [4; 60]);
    bench.transport.reset();
}
