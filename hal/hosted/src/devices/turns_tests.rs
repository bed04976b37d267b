//! A slow model's thread and the kernel, at one device's registers.

use super::mmio::{Model, Ticket};
use super::queue::Chain;
use super::tests::Bench;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const REQUEST: Duration = Duration::from_millis(4);
const ROUNDS: usize = 10;
/// As many as the queue has room for.
const REQUESTS: u32 = 8;

/// Counts its requests, each of which takes long.
struct Slow(Arc<AtomicU32>);

impl Model for Slow {
    fn id(&self) -> u32 {
        2
    }

    fn most(&self) -> usize {
        1
    }

    fn serve(&mut self, _: &mut Chain, _: Ticket) -> Option<u32> {
        self.0.fetch_add(1, SeqCst);
        thread::sleep(REQUEST);
        Some(0)
    }

    fn resumes(&self) -> bool {
        true
    }
}

#[test]
fn a_slow_model_keeps_the_kernel_for_one_request() {
    let served = Arc::new(AtomicU32::new(0));
    let model = Slow(Arc::clone(&served));
    let mut bench = Bench::new(|_| Ok(Box::new(model))).unwrap();
    let byte = 0u8;
    let mut waited = Vec::new();
    for round in 0..ROUNDS as u32 {
        for _ in 0..REQUESTS {
            bench.add(&[(&raw const byte, 1, false)]);
        }
        let transport = Arc::clone(&bench.transport);
        // As the disk's thread goes on with what the kernel's thread has left.
        let resuming = thread::spawn(move || while transport.resume().1 {});
        while served.load(SeqCst) == round * REQUESTS {
            thread::yield_now();
        }
        let before = served.load(SeqCst);
        assert_eq!(bench.get(0x70), 15);
        waited.push(served.load(SeqCst) - before);
        resuming.join().unwrap();
        assert_eq!(served.load(SeqCst), (round + 1) * REQUESTS);
    }
    // One more if the host has taken the processor away.
    let more = waited.iter().filter(|requests| **requests > 1).count();
    assert!(more <= ROUNDS / 4, "requests: {waited:?}");
}
