//! The device for calls of a host program, driven as its driver would.

use super::super::tests::Bench;
use super::*;
use std::thread;

/// A device whose driver has handed in a block.
fn device(port: &Arc<Port>, block: &mut [u8]) -> Bench {
    let mut bench = Bench::new(|transport| Ok(start(port, transport))).unwrap();
    bench.add(&[(block.as_mut_ptr(), block.len(), true)]);
    bench.transport.write(0x50, 4, RECEIVE.into());
    bench
}

#[test]
fn nothing_reaches_a_system_that_has_ended() {
    let port = Arc::new(Port::default());
    let mut block = vec![0; BLOCK];
    let bench = device(&port, &mut block);
    let ticket = locked(&port.state).free.front().copied().unwrap();
    // A thread of the host fills the block while the system ends.
    let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            bench.transport.finish(ticket, |_| {
                begun.store(true, SeqCst);
                thread::sleep(Duration::from_millis(50));
                assert!(!ended.load(SeqCst), "the system has ended meanwhile");
                0
            })
        });
        while !begun.load(SeqCst) {
            thread::yield_now();
        }
        port.end(0);
        ended.store(true, SeqCst);
    });
    // Nor does one that comes later.
    let late = |_: &mut Chain| panic!("a block of a system that has ended is filled");
    assert!(!bench.transport.finish(ticket, late));
    assert_eq!(port.ask(Op::Call, 0, 0, "x", b"y").wait().outcome, None);
}
