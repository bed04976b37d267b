//! Where calls of a host program come in, asked as the kernel asks.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

fn ask(port: &Arc<Port>, bytes: &[u8]) -> Pending {
    port.ask(&Asked {
        name: "x",
        bytes,
        ..Asked::of(Op::Call, 0)
    })
}

const ENDPOINT: Endpoint<'static> = Endpoint {
    name: "endpoint",
    contract: "Contract",
    identity: &[3; 32],
    state: "State",
    exports: true,
};

/// Takes the next request; its number and bytes.
fn take(port: &Port) -> Option<(u64, Vec<u8>)> {
    let mut taken = None;
    port.next(&mut |request| {
        taken = Some((request.id, request.bytes.to_vec()));
        true
    });
    taken
}

#[test]
fn requests_come_in_their_order_and_stay_until_they_are_taken() {
    let port = Arc::new(Port::default());
    assert!(!port.waits() && take(&port).is_none());
    let (mut first, second) = (ask(&port, b"1"), ask(&port, b"2"));
    // An image that is being loaded.
    for _ in 0..2 {
        assert!(port.next(&mut |request| {
            assert_eq!(request.id, first.id());
            false
        }));
        assert!(port.waits());
    }
    assert_eq!(take(&port), Some((first.id(), b"1".to_vec())));
    assert!(port.waits());
    assert_eq!(take(&port), Some((second.id(), b"2".to_vec())));
    assert!(!port.waits());
    port.answer(first.id(), Outcome::Done, 3, &mut |place| {
        place.copy_from_slice(b"one");
    });
    assert_eq!(first.wait().bytes, b"one");
    // One that nobody waits for any more is not copied.
    port.tell(Op::Cancel, second.id());
    port.answer(second.id(), Outcome::Done, 3, &mut |_| unreachable!());
    assert_eq!(take(&port), Some((second.id(), Vec::new())));
}

const ASKED: Asked<'static> = Asked {
    bytes: b"1",
    ..Asked::of(Op::Call, 0)
};

/// A request of a thread that runs the kernel for it, until [`Here::end`].
fn put_here(port: &Port, request: &Request<'_>) {
    // SAFETY: each test calls `end` while it has the request.
    unsafe { port.here.put(request) };
}

#[test]
fn the_request_of_the_thread_that_runs_the_kernel_is_read_once_and_answered_there() {
    let port = Arc::new(Port::default());
    let request = ASKED.request(port.next_number());
    put_here(&port, &request);
    assert!(port.waits());
    let mut other = ask(&port, b"2");
    assert_eq!(take(&port), Some((request.id, b"1".to_vec())));
    assert_eq!(take(&port), Some((other.id(), b"2".to_vec())));
    assert!(!port.waits() && take(&port).is_none());
    // Each answer goes where it is waited for, and one to nothing nowhere.
    port.say(0, Outcome::NotMade, format_args!("to nothing"));
    port.say(other.id(), Outcome::Done, format_args!("two"));
    port.say(request.id, Outcome::Done, format_args!("one"));
    assert_eq!(
        port.here.end().map(|reply| reply.bytes),
        Some(b"one".to_vec())
    );
    assert_eq!(other.wait().bytes, b"two");
    port.say(request.id, Outcome::Done, format_args!("again"));
    assert!(port.here.end().is_none());
}

#[test]
fn what_is_not_answered_while_its_thread_runs_the_kernel_is_waited_for_elsewhere() {
    let port = Arc::new(Port::default());
    for taken in [true, false] {
        let request = ASKED.request(port.next_number());
        put_here(&port, &request);
        // If not, its image is being loaded.
        assert!(port.next(&mut |_| taken));
        assert_eq!(port.waits(), !taken);
        assert!(!port.here.waits() && port.here.end().is_none());
        let mut pending = port.expect(request.id, None);
        if !taken {
            assert_eq!(take(&port), Some((request.id, b"1".to_vec())));
        }
        port.say(request.id, Outcome::Done, format_args!("late"));
        assert_eq!(pending.wait().bytes, b"late");
    }
    // The kernel has not come to it at all.
    let request = ASKED.request(port.next_number());
    put_here(&port, &request);
    assert!(port.here.end().is_none());
    let pending = port.expect(request.id, Some(&request));
    assert_eq!(take(&port).map(|(id, _)| id), Some(pending.id()));
}

#[test]
fn a_request_that_cannot_be_taken_yet_stays_before_those_that_came_after_it() {
    let port = Arc::new(Port::default());
    let request = ASKED.request(port.next_number());
    put_here(&port, &request);
    let later = [ask(&port, b"2"), ask(&port, b"3")];
    assert!(port.next(&mut |_| false));
    assert!(port.here.end().is_none());
    let _pending = port.expect(request.id, None);
    let order: Vec<u64> = (0..3).filter_map(|_| Some(take(&port)?.0)).collect();
    assert_eq!(order, [request.id, later[0].id(), later[1].id()]);
}

#[test]
fn nobody_but_who_has_a_block_gives_it_back() {
    let port = Arc::new(Port::default());
    let free = Asked::of(Op::Free, 1);
    let refused = |what: &mut dyn FnMut()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).is_err()
    };
    assert!(refused(&mut || drop(port.call(&free))));
    assert!(refused(&mut || drop(port.ask(&free))));
    assert!(refused(&mut || port.tell(Op::Free, 1)));
    assert!(take(&port).is_none());
}

#[test]
fn all_that_is_asked_reaches_the_kernel() {
    let port = Arc::new(Port::default());
    let pending = port.ask(&Asked {
        name: "name",
        endpoint: Some(ENDPOINT),
        message: Some(sing_calls::Message {
            index: 2,
            words: &[5, 6],
        }),
        directories: &[3, 4],
        arguments: b"arguments",
        bytes: b"bytes",
        ..Asked::of(Op::Open, 7)
    });
    assert!(port.next(&mut |request| {
        assert_eq!((request.op, request.id), (Op::Open, pending.id()));
        assert_eq!((request.process, request.directories), (7, &[3, 4][..]));
        assert_eq!(request.name, "name");
        assert_eq!(request.endpoint, Some(ENDPOINT));
        let message = request.message.unwrap();
        assert_eq!((message.index, message.words), (2, &[5, 6][..]));
        assert_eq!(request.arguments, b"arguments");
        assert_eq!(request.bytes, b"bytes");
        true
    }));
}

#[test]
fn each_block_is_given_back_once_whoever_has_dropped_it() {
    let port = Arc::new(Port::default());
    let freed = || -> Vec<u64> {
        let mut all = Vec::new();
        while port.next(&mut |request| {
            if request.op == Op::Free {
                all.push(request.process);
            }
            true
        }) {}
        all
    };
    let block = |number| Given::Block {
        number,
        address: 0,
        len: 1,
    };
    let mut taken = ask(&port, b"1");
    let untaken = ask(&port, b"2");
    let cancelled = ask(&port, b"3");
    assert!(port.message(
        taken.id(),
        4,
        &[Given::Number(9), block(1), Given::Nothing, block(2)]
    ));
    assert!(port.message(untaken.id(), 4, &[block(3)]));
    port.tell(Op::Cancel, cancelled.id());
    // The kernel keeps this one's, as nobody waits for it.
    assert!(!port.message(cancelled.id(), 4, &[block(4)]));
    assert!(freed().is_empty());
    drop(untaken);
    assert_eq!(freed(), [3]);
    let message = taken.wait().message.unwrap();
    assert_eq!(message.index, 4);
    let mut words = message.words.into_iter();
    assert!(matches!(words.next(), Some(Word::Number(9))));
    drop(words.next());
    assert_eq!(freed(), [1]);
    assert!(matches!(words.next(), Some(Word::Nothing)));
    let last = words.next();
    // A system that has ended by itself waits for the last.
    thread::scope(|scope| {
        let ends = scope.spawn(|| {
            port.end(0);
            port.wait_for_loans();
        });
        thread::sleep(Duration::from_millis(50));
        assert!(!ends.is_finished());
        drop(last);
    });
    assert!(freed().is_empty(), "it has ended");
}

#[test]
fn nothing_is_waited_for_of_a_system_that_has_ended() {
    let port = Arc::new(Port::default());
    let mut taken = ask(&port, b"1");
    let mut waiting = ask(&port, b"2");
    assert!(take(&port).is_some());
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(taken.wait().outcome, None);
            assert!(ended.load(SeqCst));
        });
        thread::sleep(Duration::from_millis(20));
        ended.store(true, SeqCst);
        port.end(0);
    });
    assert_eq!(waiting.wait().outcome, None);
    assert!(!port.waits() && take(&port).is_none());
    assert_eq!(ask(&port, b"3").wait().outcome, None);
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
        let mut call = ask(&port, b"y");
        let ends = Arc::new(Ends(Arc::clone(&port))).into();
        let first = call.poll(&Context::from_waker(&ends)).is_pending();
        drop(ends);
        // It has the other one dropped, the last of it.
        let second = call.poll(&Context::from_waker(Waker::noop()));
        tell.send((first, second)).unwrap();
    });
    let polled = told.recv_timeout(Duration::from_secs(10));
    let polled = polled.map(|(first, second)| (first, second.map(|reply| reply.outcome)));
    assert_eq!(polled, Ok((true, Poll::Ready(None))));
}
