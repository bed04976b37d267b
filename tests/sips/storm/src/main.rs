//! Creates SIPs by the thousand, wired up in pairs with messages and blocks in flight, and ends
//! them at random moments; then everything must be back where it was: pages, blocks, handles,
//! channels, threads.
//!
//! `storm [SIPS] [SEED]`. Run as `storm actor`, it is one of the SIPs.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::BenchContract;
use sing_sdk::inspect;
use sing_sdk::process::Child;
use sing_sdk::rt::Vector;

sing_sdk::manifest! {
    name: "storm",
    description: "creates and kills SIPs at random, and looks for what they left behind",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        asks: optional BenchContract.Imp:Start,
        answers: optional BenchContract.Exp:Start,
    },
}

/// Pairs alive at a time.
const ALIVE: usize = 40;

/// A small generator of numbers; the same seed gives the same storm.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// One of the SIPs: asks or answers until it is ended.
fn actor() -> i32 {
    if let Some(mut imp) = startup::asks() {
        let mut n = 0_u64;
        loop {
            n += 1;
            let Ok((_, next)) = imp.send_ping(n).recv_pong() else {
                return 0;
            };
            let Ok(block) = Vector::from_bytes(&[7; 300]) else {
                return 3;
            };
            let Ok((block, next)) = next.send_give(block).recv_return() else {
                return 0;
            };
            drop(block);
            imp = next;
            // A pair that never rests would leave the storm itself one quantum in as many as there
            // are pairs.
            if n.is_multiple_of(8) {
                sing_sdk::time::sleep(Duration::from_micros(500));
            }
        }
    }
    if let Some(mut exp) = startup::answers() {
        use BenchContract::exp::Start;
        loop {
            exp = match exp.recv() {
                Start::Ping(word, next) => next.send_pong(word),
                Start::Give(data, next) => next.send_return(data),
                Start::Plant(tree, next) => next.send_planted(tree),
                Start::Carry(endpoint, next) => next.send_carried(endpoint),
                Start::Yield(_, next) => next.send_yielded(),
                // These are never requested here.
                Start::Closed => return 0,
            };
        }
    }
    4
}

fn pair() -> Result<(Child, Child), Error> {
    let (imp, exp) = BenchContract::new_channel()?;
    let a = Child::of("storm")
        .args(["storm", "actor"])
        .endpoint("asks", imp)
        .start()?;
    let b = Child::of("storm")
        .args(["storm", "actor"])
        .endpoint("answers", exp)
        .start()?;
    Ok((a, b))
}

fn storm(sips: usize, random: &mut Random) -> Result<usize, Error> {
    let mut alive: Vec<(Child, Child)> = Vec::with_capacity(ALIVE);
    let (mut made, mut killed) = (0, 0);
    while made < sips {
        if alive.len() < ALIVE {
            alive.push(pair()?);
            made += 2;
        }
        if random.below(3) == 0 {
            sing_sdk::thread::yield_now();
        }
        if random.below(200) == 0 {
            sing_sdk::time::sleep(Duration::from_micros(300));
        }
        if alive.len() == ALIVE || random.below(4) == 0 {
            let (a, b) = alive.swap_remove(random.below(alive.len() as u64) as usize);
            // One is killed; the other then finds its channel closed and ends by itself, or is
            // killed, too.
            let (first, second) = if random.below(2) == 0 { (a, b) } else { (b, a) };
            if let Err(e) = first.stop(1) {
                println!(
                    "storm: {} had ended by itself: {}",
                    first.id(),
                    first.join()?
                );
                return Err(e);
            }
            killed += 1;
            if random.below(2) == 0 {
                let _ = second.stop(1);
                killed += 1;
            }
            second.join()?;
        }
    }
    for (a, b) in alive {
        a.stop(1)?;
        b.join()?;
        killed += 1;
    }
    Ok(killed)
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    if sing_sdk::args::get(1).as_deref() == Some("actor") {
        return Ok(actor());
    }
    let number = |i, default| {
        sing_sdk::args::get(i)
            .and_then(|s: String| s.parse::<u64>().ok())
            .unwrap_or(default)
    };
    let (sips, seed) = (number(1, 10_000) as usize, number(2, 42));
    let mut random = Random(seed | 1);
    // Once before counting, so that objects made at first use exist.
    storm(ALIVE * 4, &mut random)?;
    let before = inspect::memory()?;
    let killed = storm(sips, &mut random)?;
    let after = inspect::memory()?;
    match inspect::difference(&before, &after) {
        None => {
            println!("storm: {sips} SIPs created, {killed} killed, nothing left behind");
            Ok(0)
        }
        Some(left) => {
            println!("storm: left behind: {left}");
            Ok(1)
        }
    }
}
