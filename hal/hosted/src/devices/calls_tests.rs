//! The device for calls of a host program, driven as its driver would.

use super::super::tests::Bench;
use super::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
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

/// Has a driver hand in these answers at once, two at most: numbers, and how many bytes.
fn answer(port: &Arc<Port>, answers: &[(u64, usize)]) {
    let message = |&(id, bytes): &(u64, usize)| {
        let outcome = Outcome::Done;
        let head = Answer { outcome, id, bytes }.encode();
        [&head[..], &vec![7; bytes]].concat()
    };
    let messages: Vec<Vec<u8>> = answers.iter().map(message).collect();
    let mut bench = Bench::new(|transport| Ok(start(port, transport))).unwrap();
    bench.lay_out(SEND);
    for message in &messages {
        bench.add(&[(message.as_ptr(), message.len(), false)]);
    }
    bench.transport.write(0x50, 4, SEND.into());
    assert_eq!(usize::from(bench.used()), messages.len());
}

#[test]
fn a_turn_copies_a_bounded_part_of_the_answers() {
    let port = Arc::new(Port::default());
    let ask = || port.ask(Op::Call, 0, 0, "x", b"y");
    let mut calls = [ask(), ask(), ask(), ask()];
    let long = sing_calls::ANSWER - 8;
    let ids = calls.each_ref().map(Pending::id);
    // One that nobody has asked for does not count.
    answer(&port, &[(9, long), (ids[0], long)]);
    assert_eq!(calls[0].wait().bytes.len(), long);
    answer(&port, &[(ids[1], TURN - 1), (ids[2], 1)]);
    assert_eq!(calls[1].wait().bytes.len(), TURN - 1);
    assert_eq!(calls[2].wait().bytes, [7]);
    calls[2] = ask();
    answer(&port, &[(calls[2].id(), 1), (ids[3], long)]);
    assert_eq!(calls[2].wait().bytes, [7]);
    let lost = calls[3].wait();
    assert_eq!(lost.outcome, Some(Outcome::Ended), "all were copied");
    assert!(lost.bytes.starts_with(b"its answer"));
}

/// Has the system end when it is dropped.
struct Ends(Arc<Port>);

impl Wake for Ends {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end(3);
    }
}

#[test]
fn a_waker_is_dropped_without_a_lock_and_an_end_meanwhile_is_seen() {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let port = Arc::new(Port::default());
        let mut call = port.ask(Op::Call, 0, 0, "x", b"y");
        let ends = Arc::new(Ends(Arc::clone(&port))).into();
        let first = call.poll(&Context::from_waker(&ends)).is_pending();
        drop(ends);
        // It has the other one dropped, the last of it.
        let second = call.poll(&Context::from_waker(Waker::noop()));
        tell.send((first, second)).unwrap();
    });
    let polled = told.recv_timeout(Duration::from_secs(10));
    assert_eq!(polled, Ok((true, Poll::Ready(Reply::ended()))));
}
