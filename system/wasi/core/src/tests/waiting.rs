//! `poll_oneoff`.

use super::fake::Happens;
use super::*;
use std::boxed::Box;

/// A subscription: its name, and what follows.
fn clock(name: u64, clock: u32, timeout: u64, absolute: bool) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&name.to_le_bytes());
    bytes[16..20].copy_from_slice(&clock.to_le_bytes());
    bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
    bytes[40] = absolute.into();
    bytes
}

fn stream(name: u64, kind: u8, fd: u32) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&name.to_le_bytes());
    bytes[8] = kind;
    bytes[16..20].copy_from_slice(&fd.to_le_bytes());
    bytes
}

/// An event: its name, the error, the kind, bytes and flags.
type Event = (u64, u16, u8, u64, u16);

fn poll(world: &mut World, all: &[[u8; 48]]) -> Result<Vec<Event>> {
    world.put(LIST, all.as_flattened());
    let count = all.len() as u32;
    world.wasi.poll_oneoff(LIST, DATA, count, OUT)?;
    let events = (0..world.u32(OUT)).map(|number| {
        let bytes = world.get(DATA + number * 32, 32);
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        (long(0), short(8), bytes[10], long(16), short(24))
    });
    Ok(events.collect())
}

#[test]
fn the_first_clock_ends_the_wait() {
    let mut world = world();
    let all = [
        clock(1, 1, 900, false),
        clock(2, 1, 300, false),
        clock(3, 0, 300, false),
    ];
    let events = poll(&mut world, &all).unwrap();
    assert_eq!(events, [(2, 0, 0, 0, 0), (3, 0, 0, 0, 0)]);
    assert_eq!(world.wasi.host().now, 5300);
    // Absolute ones, one of them past.
    let all = [clock(1, 1, 5299, true), clock(2, 1, 9999, true)];
    assert_eq!(poll(&mut world, &all).unwrap(), [(1, 0, 0, 0, 0)]);
    assert_eq!(world.wasi.host().now, 5300);
    assert_eq!(poll(&mut world, &all[1..]).unwrap().len(), 1);
    assert_eq!(world.wasi.host().now, 9999);
}

#[test]
fn the_version_before_has_longer_subscriptions() {
    let mut world = world();
    let longer = |bytes: [u8; 48]| {
        let mut all = [0; 56];
        all[..16].copy_from_slice(&bytes[..16]);
        // A clock has a name of its own before it.
        let rest = if bytes[8] == 0 { 24 } else { 16 };
        all[16] = 0x77;
        all[rest..][..32].copy_from_slice(&bytes[16..]);
        all
    };
    let all = [
        clock(1, 1, 900, false),
        stream(2, 1, 0),
        clock(3, 1, 300, false),
    ]
    .map(longer);
    world.put(LIST, all.as_flattened());
    assert_eq!(world.wasi.unstable_poll_oneoff(LIST, DATA, 3, OUT), Ok(()));
    assert_eq!((world.u32(OUT), world.u64(DATA)), (1, 3));
    assert_eq!(world.wasi.host().now, 5300);
    let end = MEMORY as u32 - 55;
    let outside = world.wasi.unstable_poll_oneoff(end, DATA, 1, OUT);
    assert_eq!(outside, Err(Errno::Fault));
}

#[test]
fn a_time_of_day_is_looked_at_again() {
    let mut world = world();
    let day = 1_000_000_005_000;
    let all = [clock(1, 0, day + 3_500_000_000, true)];
    assert_eq!(poll(&mut world, &all).unwrap().len(), 1);
    assert_eq!(world.wasi.host().waits, 4);
    assert_eq!(world.wasi.host().now, 3_500_005_000);
}

#[test]
fn a_stream_or_the_time() {
    let mut world = world();
    let all = [stream(1, 1, 0), clock(2, 1, 100, false)];
    assert_eq!(poll(&mut world, &all).unwrap(), [(2, 0, 0, 0, 0)]);
    let comes: Happens = Box::new(|sources, _| {
        sources[0].0.borrow_mut().0.push_back(b"abc".to_vec());
    });
    world.wasi.host().happens.push_back(comes);
    assert_eq!(poll(&mut world, &all).unwrap(), [(1, 0, 1, 1, 0)]);
    assert_eq!(world.read(0, 1).unwrap(), b"a");
    assert_eq!(poll(&mut world, &all).unwrap(), [(1, 0, 1, 2, 0)]);
    assert_eq!(world.read(0, 9).unwrap(), b"bc");
    world.input.0.borrow_mut().1 = true;
    assert_eq!(poll(&mut world, &all).unwrap(), [(1, 0, 1, 0, 1)]);
}

#[test]
fn reading_and_writing_at_once_without_a_clock() {
    let mut world = world();
    world.output.0.borrow_mut().full = true;
    let fd = world.file("f", b"12345");
    world.seek(fd, 2, 0).unwrap();
    let streams = [stream(1, 1, 0), stream(2, 2, 1), stream(2, 2, 1)];
    let taken: Happens = Box::new(|sources, sinks| {
        assert_eq!((sources.len(), sinks.len()), (1, 1));
        sinks[0].0.borrow_mut().full = false;
    });
    let nothing: Happens = Box::new(|_, _| {});
    world.wasi.host().happens.extend([nothing, taken]);
    let events = poll(&mut world, &streams).unwrap();
    assert_eq!(events, [(2, 0, 2, 1, 0), (2, 0, 2, 1, 0)]);
    // A file is ready at once.
    let all = [stream(7, 1, 0), stream(8, 1, fd), stream(9, 2, fd)];
    let events = poll(&mut world, &all).unwrap();
    assert_eq!(events, [(8, 0, 1, 3, 0), (9, 0, 2, 1, 0)]);
}

#[test]
fn many_subscriptions() {
    let mut world = world();
    let all: Vec<_> = (0..300).map(|i| clock(i, 1, 1000 - i, false)).collect();
    world.put(LIST - 0x3000, all.as_flattened());
    world
        .wasi
        .poll_oneoff(LIST - 0x3000, DATA, 300, OUT)
        .unwrap();
    assert_eq!((world.u32(OUT), world.u64(DATA)), (1, 299));
    assert_eq!(world.wasi.host().now, 5701);
}

#[test]
fn what_is_wrong_with_one_its_event_tells() {
    let mut world = world();
    let badf = Errno::Badf as u16;
    let all = [
        stream(1, 1, 99),
        stream(2, 2, 0),
        stream(3, 1, 3),
        clock(4, 9, 1, false),
        clock(5, 1, 1 << 40, false),
    ];
    let events = poll(&mut world, &all).unwrap();
    let errors: Vec<_> = events.iter().map(|e| (e.0, e.1)).collect();
    let inval = Errno::Inval as u16;
    assert_eq!(errors, [(1, badf), (2, badf), (3, badf), (4, inval)]);
    assert_eq!(poll(&mut world, &[stream(1, 3, 0)]), Err(Errno::Inval));
    assert_eq!(poll(&mut world, &[]), Err(Errno::Inval));
    for count in [u32::MAX, 30_000] {
        assert_eq!(
            world.wasi.poll_oneoff(LIST, DATA, count, OUT),
            Err(Errno::Fault)
        );
    }
}
