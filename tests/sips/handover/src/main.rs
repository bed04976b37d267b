//! Two SIPs hand the processor over to each other without end, by calls and answers, while they are
//! ended, suspended and resumed, or one of them closes: at any point of the hand-over, the other
//! one learns of it, no answer is wrong, and no reference to their records, which the next pair
//! reuses, is left. Such a pair starves no other process, and the time of all is accounted for.
//!
//! The messages are words and blocks; the answering side waits for the next one in the call that
//! answers, in a set, or in an array.
//!
//! `handover [ROUNDS]`. Run as `handover talk [ROUNDS]` it is the asking side; `bench-peer`
//! answers.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::BenchContract;
use sing_sdk::inspect;
use sing_sdk::process::{Child, Exit};
use sing_sdk::rt::Vector;
use sing_sdk::time;

sing_sdk::manifest! {
    name: "handover",
    description: "ends and suspends SIPs that hand the processor over to each other",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        bench: optional BenchContract.Imp:Start,
    },
}

/// How long the pair runs beside one that never waits.
const BESIDE: Duration = Duration::from_millis(300);
/// The least share of that for each side, in percent: half of it, less disturbances of the machine.
const SHARE: u64 = 10;

/// How the answering side waits.
const WAYS: [&str; 3] = ["call", "set", "array"];

/// Asks until the other side closes, or this many times: with a word and with a block that holds
/// it, in turn.
fn talk() -> Result<i32, Error> {
    let most = sing_sdk::args::get(2).and_then(|s| s.parse::<u32>().ok());
    let mut bench = startup::bench().ok_or(Error::NotFound)?;
    let mut block = Vector::<u8>::new(2)?;
    for i in 0..most.unwrap_or(u32::MAX) {
        let byte = i as u8;
        match bench.call_ping(u64::from(i)).pong() {
            Ok((answer, next)) if answer == u64::from(i) => bench = next,
            Ok(_) => return Ok(1),
            Err(_) => return Ok(0),
        }
        block.set(1, byte);
        match bench.call_give(block).r#return() {
            Ok((back, next)) if back.get(1) == Some(byte) => (block, bench) = (back, next),
            Ok(_) => return Ok(1),
            Err(_) => return Ok(0),
        }
    }
    Ok(0)
}

/// The asking side, with this many rounds, and the answering one, which waits in this way.
fn pair(most: Option<u32>, way: &str) -> Result<[Child; 2], Error> {
    let (imp, exp) = BenchContract::new_channel()?;
    let answers = Child::of("bench-peer").args(["bench-peer", way]);
    let answers = answers.endpoint("bench", exp).start()?;
    let talker = Child::of("handover").args(["handover", "talk"]);
    let most = most.map(|n| n.to_string());
    let talker = match &most {
        Some(n) => talker.arg(n),
        None => talker,
    };
    Ok([talker.endpoint("bench", imp).start()?, answers])
}

/// Disturbs a pair in the next way, some time after its start. Returns whether both sides ended as
/// expected.
fn disturb(round: u32) -> Result<bool, Error> {
    let (way, waits) = (round % 6, WAYS[(round / 6) as usize % WAYS.len()]);
    let [talker, pong] = pair((way == 5).then_some(round * 7 % 500), waits)?;
    time::sleep(Duration::from_micros(u64::from(round % 29) * 37));
    let (stopped, other) = if way.is_multiple_of(2) {
        (&talker, &pong)
    } else {
        (&pong, &talker)
    };
    match way {
        0 | 1 => stopped.stop(3)?,
        2 | 3 => {
            for _ in 0..5 {
                stopped.suspend(false)?;
                time::sleep(Duration::from_micros(50));
                stopped.resume(false)?;
                time::sleep(Duration::from_micros(50));
            }
            stopped.suspend(false)?;
            stopped.stop(3)?;
        }
        4 => {
            stopped.suspend(false)?;
            other.stop(3)?;
            stopped.resume(false)?;
            return Ok(other.join()? == Exit::Stopped(3) && stopped.join()? == Exit::Code(0));
        }
        _ => return Ok(talker.join()? == Exit::Code(0) && pong.join()? == Exit::Code(0)),
    }
    Ok(stopped.join()? == Exit::Stopped(3) && other.join()? == Exit::Code(0))
}

/// Nanoseconds that SIPs have run: this one, a pair, and all.
fn times(pair: &[Child; 2]) -> Result<[u64; 3], Error> {
    let all = inspect::processes()?;
    let of = |ids: &[u32]| -> u64 {
        let some = all.iter().filter(|p| ids.contains(&p.id));
        some.map(|p| p.cpu_ns).sum()
    };
    Ok([
        of(&[sing_sdk::process::id()]),
        of(&[pair[0].id(), pair[1].id()]),
        all.iter().map(|p| p.cpu_ns).sum(),
    ])
}

/// Never waits beside a pair, and compares the shares of the time.
fn beside(waits: &str) -> Result<bool, Error> {
    let pair = pair(None, waits)?;
    let (start, before) = (time::uptime(), times(&pair)?);
    while time::uptime() - start < BESIDE {
        core::hint::spin_loop();
    }
    let after = times(&pair)?;
    let elapsed = (time::uptime() - start).as_nanos() as u64;
    let [mine, theirs, all] = [0, 1, 2].map(|i| (after[i] - before[i]) * 100 / elapsed);
    // The answering side finds its channel closed and ends by itself.
    let [talker, answers] = pair;
    talker.stop(3)?;
    let ended = talker.join()? == Exit::Stopped(3) && answers.join()? == Exit::Code(0);
    let good = ended && mine >= SHARE && theirs >= SHARE && (90..=101).contains(&all);
    if !good {
        println!(
            "handover: {waits}: {mine} % here, {theirs} % for the pair, {all} % accounted for, ended as \
             expected {ended}"
        );
    }
    Ok(good)
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let first = sing_sdk::args::get(1);
    if first.as_deref() == Some("talk") {
        return talk();
    }
    let rounds = first.and_then(|s| s.parse::<u32>().ok()).unwrap_or(60);
    for round in 0..rounds {
        if !disturb(round)? {
            println!("handover: round {round} ended otherwise");
            return Ok(1);
        }
    }
    for waits in WAYS {
        if !beside(waits)? {
            return Ok(1);
        }
    }
    println!("handover: {rounds} pairs ended, a third one ran beside, all time accounted for");
    Ok(0)
}
