//! Many SIPs alive at once, each of which must answer. `crowd [SIPS]`; prints what one of them
//! costs.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::contracts::PingContract;
use sing_sdk::inspect;
use sing_sdk::process::{self, Child};

sing_sdk::manifest! {
    name: "crowd",
    description: "keeps many SIPs alive and asks each",
    privileges: [create, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let count = sing_sdk::args::get(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(1_000_u32);
    let before = inspect::memory()?;
    let mut crowd = Vec::with_capacity(count as usize);
    let pong = process::manifest("pong")?;
    for _ in 0..count {
        let (imp, exp) = PingContract::new_channel()?;
        let child = Child::of("pong").arg("pong").manifest(&pong);
        let child = child.endpoint("ping", exp).start()?;
        crowd.push((child, imp));
    }
    let mut answered = 0;
    for round in 0..3 {
        let mut next = Vec::with_capacity(crowd.len());
        for (i, (child, imp)) in crowd.into_iter().enumerate() {
            let number = i as u32 + round;
            match imp.send_ping(number).recv_pong() {
                Ok((answer, imp)) if answer == number * 2 => {
                    answered += 1;
                    next.push((child, imp));
                }
                Ok((answer, _)) => println!("crowd: {i} answered {answer} to {number}"),
                Err(_) => println!("crowd: {i} has gone"),
            }
        }
        crowd = next;
    }
    let during = inspect::memory()?;
    let alive = during.processes - before.processes;
    let pages = during.used_pages - before.used_pages;
    for (child, imp) in crowd {
        drop(imp);
        child.join()?;
    }
    println!(
        "crowd: {alive} SIPs alive, {answered} answers, {} pages each",
        pages / alive.max(1)
    );
    Ok(i32::from(
        alive != u64::from(count) || answered != count * 3,
    ))
}
