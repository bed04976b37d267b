//! T3 and T4: a message to another process and its answer, on one core and across two.

use crate::host::{Child, Cores, check, exchange, pipe, sockets};
use crate::measure::{Peer, sample};
use crate::yields::Shared;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Sizes of T4's messages.
const SIZES: [(&str, usize); 6] = [
    ("1 B", 1),
    ("64 B", 64),
    ("1.5 KiB", 1500),
    ("4 KiB", 4096),
    ("16 KiB", 16_384),
    ("64 KiB", 65_536),
];

/// Two pairs of files: (from here, at the other side), (from there, at this side).
type Pairs = fn() -> io::Result<((File, File), (File, File))>;

fn pipes() -> io::Result<((File, File), (File, File))> {
    let ((there, to), (here, back)) = (pipe()?, pipe()?);
    Ok(((to, there), (back, here)))
}

fn socket_pair() -> io::Result<((File, File), (File, File))> {
    let (ours, theirs) = sockets()?;
    Ok(((ours.try_clone()?, theirs.try_clone()?), (theirs, ours)))
}

/// The peers.
pub fn peers(cores: Cores) -> Vec<Peer> {
    let mut peers = Vec::new();
    let places = [
        Some((cores.first, "")),
        cores.second.map(|core| (core, ", two cores")),
    ];
    for (core, place) in places.into_iter().flatten() {
        let by_files = |name: &str, pairs: Pairs| {
            Peer::new("T3", format!("linux {name}{place}"), move |n| {
                files(n, pairs, core, 8)
            })
        };
        peers.push(by_files("pipe", pipes));
        peers.push(by_files("socketpair", socket_pair));
        peers.push(Peer::new("T3", format!("linux futex{place}"), move |n| {
            futexes(n, core)
        }));
    }
    for (text, size) in SIZES {
        peers.push(Peer::new(
            "T4",
            format!("linux socketpair {text}"),
            move |n| files(n, socket_pair, cores.first, size),
        ));
    }
    peers
}

/// The least work of a process on a message: it reads and changes both ends.
fn touch(buffer: &mut [u8]) {
    let last = buffer.len() - 1;
    buffer[0] = buffer[0].wrapping_add(1);
    buffer[last] = std::hint::black_box(buffer[last]).wrapping_add(1);
}

fn files(n: usize, pairs: Pairs, core: usize, size: usize) -> io::Result<Vec<f64>> {
    let ((mut to, mut there), (mut back, mut here)) = pairs()?;
    let mut buffer = vec![0; size];
    let mut copy = buffer.clone();
    let _child = Child::fork(core, || {
        there.read_exact(&mut copy)?;
        touch(&mut copy);
        back.write_all(&copy)
    })?;
    let count = if size > 5000 { 10 } else { 30 };
    sample(n, count, || {
        touch(&mut buffer);
        exchange(&mut to, &mut here, &mut buffer)
    })
}

/// The word's lower half, which a futex is.
fn futex(word: &AtomicU64, operation: libc::c_int, value: u32) {
    let at = word.as_ptr().cast::<u32>();
    let none = std::ptr::null::<libc::timespec>();
    // SAFETY: the word is valid for the call, the rest are numbers. A wait that finds another value
    // returns at once, and may return without cause: the callers check again.
    unsafe { libc::syscall(libc::SYS_futex, at, operation, value, none) };
}

/// Sets a word and wakes its waiter.
fn tell(word: &AtomicU64, value: u32) {
    word.store(value.into(), Release);
    futex(word, libc::FUTEX_WAKE, 1);
}

/// Waits until a word is no longer what it was.
fn hear(word: &AtomicU64, was: u32) -> u32 {
    loop {
        let value = word.load(Acquire) as u32;
        if value != was {
            return value;
        }
        futex(word, libc::FUTEX_WAIT, was);
    }
}

fn futexes(n: usize, core: usize) -> io::Result<Vec<f64>> {
    let page = Shared::new()?;
    let (question, answer) = (page.word(0), page.word(1));
    let mut heard = 0;
    let _child = Child::fork(core, || {
        heard = hear(question, heard);
        tell(answer, heard);
        Ok(())
    })?;
    let mut asked = 0u32;
    sample(n, 30, || {
        let was = asked;
        asked = asked.wrapping_add(1);
        tell(question, asked);
        let got = hear(answer, was);
        check(if got == asked { 0 } else { -1 }).map(drop)
    })
}
