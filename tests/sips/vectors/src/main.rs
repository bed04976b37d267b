//! Threads that keep vectors in all registers while the kernel switches between them.
//!
//! Each thread works on sixteen vectors of its own, as many as the processor has registers, and
//! computes the same with integers: a register that came back changed in any of its 128 bits makes
//! the two differ. It does so within the longest stretch of code without a call, where the kernel
//! can only come in between by an interrupt, and with calls of the kernel in between.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use sing_sdk::{thread, time};

sing_sdk::manifest! {
    name: "vectors",
    description: "keeps vectors in registers across switches",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {}

const THREADS: u32 = 3;
/// Vectors of a thread.
const VECTORS: usize = 16;
/// Rounds without a call.
const ROUNDS: u32 = 20_000;
/// Switches between the threads that the program waits to see.
const SWITCHES: u32 = 30;
/// How long it waits for them at most.
const PATIENCE: Duration = Duration::from_secs(50);

/// What becomes of a lane and its neighbour in a round.
fn step(a: u64, b: u64) -> u64 {
    let sum = a.wrapping_add(b);
    sum ^ sum << 7 ^ a >> 9
}

/// The two lanes of the first vector after so many rounds, by integers.
fn by_integers(seed: u64, rounds: u32) -> [u64; 2] {
    let mut lanes = [[0; 2]; VECTORS];
    for (n, lane) in (0..).zip(&mut lanes) {
        *lane = [seed ^ n, !seed.wrapping_mul(n + 3)];
    }
    for _ in 0..rounds {
        for n in 0..VECTORS {
            let next = lanes[(n + 1) % VECTORS];
            lanes[n] = [step(lanes[n][0], next[0]), step(lanes[n][1], next[1])];
        }
    }
    lanes[0]
}

/// The same by vectors; with calls of the kernel in between if `pauses`.
#[cfg(target_arch = "wasm32")]
#[target_feature(enable = "simd128")]
fn by_vectors(seed: u64, rounds: u32, pauses: bool) -> [u64; 2] {
    use core::arch::wasm32::{
        u64x2, u64x2_add, u64x2_extract_lane, u64x2_shl, u64x2_shr, v128, v128_xor,
    };
    let mut lanes = [u64x2(0, 0); VECTORS];
    for (n, lane) in (0..).zip(&mut lanes) {
        *lane = u64x2(seed ^ n, !seed.wrapping_mul(n + 3));
    }
    let step = |a: v128, b: v128| {
        let sum = u64x2_add(a, b);
        v128_xor(v128_xor(sum, u64x2_shl(sum, 7)), u64x2_shr(a, 9))
    };
    for round in 0..rounds {
        // Without a loop, so that all of them are variables and none lies in memory.
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = lanes;
        let (a, b, c, d) = (step(a, b), step(b, c), step(c, d), step(d, e));
        let (e, f, g, h) = (step(e, f), step(f, g), step(g, h), step(h, i));
        let (i, j, k, l) = (step(i, j), step(j, k), step(k, l), step(l, m));
        let (m, n, o, p) = (step(m, n), step(n, o), step(o, p), step(p, a));
        lanes = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
        if pauses && round % 1024 == 0 {
            thread::yield_now();
        }
    }
    let first = lanes[0];
    [
        u64x2_extract_lane::<0>(first),
        u64x2_extract_lane::<1>(first),
    ]
}

/// On the host, where the program is only checked.
#[cfg(not(target_arch = "wasm32"))]
fn by_vectors(seed: u64, rounds: u32, pauses: bool) -> [u64; 2] {
    if pauses {
        thread::yield_now();
    }
    by_integers(seed, rounds)
}

/// The thread that ran last, and how often it was another one.
static LAST: AtomicU32 = AtomicU32::new(0);
static SWITCHED: AtomicU32 = AtomicU32::new(0);
static WRONG: AtomicU32 = AtomicU32::new(0);

/// Works until there were enough switches; the rounds that it made.
fn work(own: u32) -> u32 {
    let end = time::uptime() + PATIENCE;
    let mut rounds = 0;
    while SWITCHED.load(Relaxed) < SWITCHES && time::uptime() < end {
        let seed = u64::from(own) << 32 | u64::from(rounds);
        let pauses = rounds % 4 == 3;
        if by_vectors(seed, ROUNDS, pauses) != by_integers(seed, ROUNDS) {
            WRONG.fetch_add(1, Relaxed);
        }
        rounds += 1;
        if LAST.swap(own, Relaxed) != own {
            SWITCHED.fetch_add(1, Relaxed);
        }
    }
    rounds
}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<i32, Error> {
    let started: Result<Vec<_>, Error> = (1..=THREADS)
        .map(|own| thread::spawn(move || work(own)))
        .collect();
    let mut rounds = 0;
    for handle in started? {
        rounds += handle.join()?;
    }
    let (wrong, switched) = (WRONG.load(Relaxed), SWITCHED.load(Relaxed));
    println!("vectors: {rounds} rounds, {switched} switches, {wrong} wrong");
    Ok(i32::from(wrong > 0 || switched < SWITCHES))
}
