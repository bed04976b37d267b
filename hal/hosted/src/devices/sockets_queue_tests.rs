//! What the device takes from its driver, and what it serves before its thread does.

use super::{Idle, Job, Jobs, Next, Served, SocketsModel, WAITING, take};
use crate::devices::mmio::Transport;
use crate::devices::sockets_host::{QUICK, Sockets};
use crate::devices::sockets_policy::HostSockets;
use crate::devices::sockets_stream::Batch;
use rustix::event::{EventfdFlags, eventfd};
use sing_sockets::{BLOCK, HEAD, Head, Op, SEND};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const SIZE: usize = 8;

/// The queue's descriptors, the driver's part and the device's part.
type Ring = Box<[AtomicU64; 64]>;

/// A device without its thread, and with a queue of this ring.
fn device(ring: &Ring) -> (Arc<Transport>, Arc<Jobs>, Idle) {
    let wake = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    let sockets = Sockets::new(HostSockets::Loopback, 8).unwrap();
    let host = sockets.epoll().as_raw_fd();
    let batch = Batch::new();
    let served = Arc::new(Mutex::new(Served { sockets, batch }));
    let jobs = Arc::new(Jobs::new(wake));
    // Line 30 stays masked, so that nobody is signalled.
    let transport = Arc::new(Transport::new(30));
    let idle = Idle {
        jobs: Arc::clone(&jobs),
        served: Arc::clone(&served),
        transport: Arc::clone(&transport),
        host,
    };
    let model = SocketsModel {
        jobs: Arc::clone(&jobs),
        served,
        bytes: Vec::new(),
        quick: 0,
    };
    transport.install(Box::new(model));
    let set = |register, value: u64| transport.write(register, 4, value);
    for (register, value) in [(0x24, 1), (0x20, 1), (0x70, 11), (0x30, u64::from(SEND))] {
        set(register, value);
    }
    set(0x38, SIZE as u64);
    let at = ring.as_ptr() as u64;
    for (register, at) in [(0x80, at), (0x90, at + 256), (0xa0, at + 384)] {
        set(register, at & 0xffff_ffff);
        set(register + 4, at >> 32);
    }
    set(0x44, 1);
    assert_eq!(transport.read(0x44, 4), 1, "the queue was refused");
    set(0x70, 15);
    (transport, jobs, idle)
}

/// Has the driver's part say that so many requests were added, in the order of their descriptors.
fn add(ring: &Ring, count: u64) {
    let word = |from: u64| (0..4).fold(0, |word, at| word | (from + at) << (at * 16));
    // Two words of 16 bits stand before the first number.
    ring[33].store(word(2), Ordering::SeqCst);
    ring[34].store(word(6), Ordering::SeqCst);
    ring[32].store(count << 16 | 1 << 48, Ordering::SeqCst);
}

/// How many requests have come back.
fn used(ring: &Ring) -> usize {
    usize::from((ring[48].load(Ordering::SeqCst) >> 16) as u16)
}

#[test]
fn a_queue_of_large_blocks_is_not_copied_at_once_and_is_served_in_order() {
    let blocks: Vec<Vec<u8>> = (0..SIZE).map(|n| vec![n as u8; BLOCK]).collect();
    let ring: Ring = Box::new([const { AtomicU64::new(0) }; 64]);
    let (transport, jobs, idle) = device(&ring);
    // The thread is at work.
    let _busy = idle.served.lock().unwrap();
    assert_eq!(idle.look(), Next::Sleep);
    for (place, block) in blocks.iter().enumerate() {
        ring[place * 2].store(block.as_ptr() as u64, Ordering::SeqCst);
        ring[place * 2 + 1].store(BLOCK as u64, Ordering::SeqCst);
    }
    add(&ring, SIZE as u64);
    transport.write(0x50, 4, u64::from(SEND));
    let copied = used(&ring);
    assert!(copied > 0 && copied < SIZE, "{copied} are copied at once");
    assert!(jobs.waiting() < WAITING + BLOCK);
    // The thread has them all, as they were added, and each has come back then.
    let mut taken = Vec::new();
    for (served, block) in blocks.iter().enumerate() {
        match jobs.next() {
            Some(Job::Serve(message)) => assert!(message == *block, "{served}"),
            Some(Job::Take(ticket)) => {
                take(&transport, ticket, &mut taken);
                assert!(taken == *block, "{served}");
                assert_eq!(used(&ring), served + 1);
            }
            _ => panic!("{served} is lost"),
        }
    }
    assert!(jobs.is_empty() && used(&ring) == SIZE);
    // A request of before a reset is nobody's any more.
    add(&ring, 2 * SIZE as u64);
    transport.write(0x50, 4, u64::from(SEND));
    let mut left = std::iter::from_fn(|| jobs.next());
    let Some(Job::Take(ticket)) = left.find(|job| matches!(job, Job::Take(_))) else {
        panic!("none was left to be copied");
    };
    transport.reset();
    take(&transport, ticket, &mut taken);
    assert!(taken.is_empty());
}

#[test]
fn what_takes_few_calls_is_served_at_once_and_in_order() {
    let ring: Ring = Box::new([const { AtomicU64::new(0) }; 64]);
    let (transport, jobs, idle) = device(&ring);
    let hello = Head::new(Op::Hello, 0, 0).encode().to_vec();
    // Many that mean nothing, as no such socket is there.
    let quick = Head::new(Op::End, 1, 0).encode();
    let many = quick.repeat(2 * QUICK);
    let half = &many[..many.len() / 2];
    let blocks = [&hello[..], &quick, &many, &quick, half, &quick];
    for (place, block) in blocks.iter().enumerate() {
        ring[place * 2].store(block.as_ptr() as u64, Ordering::SeqCst);
        ring[place * 2 + 1].store(block.len() as u64, Ordering::SeqCst);
    }
    let mut count = 0;
    let mut add_some = |more| {
        count += more;
        add(&ring, count);
        transport.write(0x50, 4, u64::from(SEND));
        used(&ring)
    };
    // To begin a session is the thread's, and what comes behind it waits for that.
    assert_eq!((add_some(1), add_some(1)), (1, 2));
    assert_eq!(idle.look(), Next::Sleep);
    let next = || match jobs.next() {
        Some(Job::Serve(message)) => message,
        _ => panic!("a block is lost"),
    };
    for block in [&hello[..], &quick] {
        assert!(next() == block);
        idle.served.lock().unwrap().sockets.serve(block);
    }
    assert!(jobs.is_empty());
    assert_eq!(idle.look(), Next::Watch);
    // Of many, the thread has the rest, and all that comes behind it.
    assert_eq!((add_some(1), add_some(1)), (3, 4));
    assert_eq!(next().len(), many.len() / 2);
    assert!(next() == quick && quick.len() == HEAD);
    assert!(jobs.is_empty());
    // Blocks that come together count together.
    assert_eq!(add_some(2), 6);
    assert!(next() == quick && jobs.is_empty());
}
