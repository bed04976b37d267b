//! Must answer in time beside SIPs that never yield.
//! `responder [SPINNERS] [ROUNDS] [PROGRAM [ARGUMENTS]]`: is woken by a timer, talks to another
//! SIP, and measures the longest time of either.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::process::Child;
use sing_sdk::time::{self, Timeout};

sing_sdk::manifest! {
    name: "responder",
    description: "answers in time beside SIPs that never yield",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

/// The longest that a wake-up or an answer may take beside one spinner.
const LIMIT: Duration = Duration::from_millis(20);

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let number = |i, default| {
        sing_sdk::args::get(i)
            .and_then(|s: String| s.parse::<u32>().ok())
            .unwrap_or(default)
    };
    let (spinners, rounds) = (number(1, 1), number(2, 50));
    let beside = sing_sdk::args::get(3).unwrap_or_else(|| "spin".into());
    let (mut imp, exp) = PingContract::new_channel()?;
    let pong = Child::of("pong")
        .arg("pong")
        .endpoint("ping", exp)
        .start()?;
    let arguments: Vec<String> = (4..).map_while(sing_sdk::args::get).collect();
    let start = || Child::of(&beside).arg(&beside).args(&arguments).start();
    let mut spin: Vec<Child> = (0..spinners).map(|_| start()).collect::<Result<_, _>>()?;
    let mut ended = 0;
    let mut late = Vec::new();
    for i in 0..rounds {
        let before = time::uptime();
        time::sleep(Duration::from_millis(1));
        let woken = time::uptime();
        let Ok((_, next)) = imp.send_ping(i).recv_pong() else {
            println!("responder: pong has gone");
            return Ok(1);
        };
        imp = next;
        let answered = time::uptime();
        late.push((woken - before).saturating_sub(Duration::from_millis(1)));
        late.push(answered - woken);
        // One that ends by itself may take long to reclaim: the next begins beside that.
        for s in &mut spin {
            if s.join_within(Timeout::NONE)? {
                *s = start()?;
                ended += 1;
            }
        }
    }
    for s in spin {
        // It may have ended by itself.
        let _ = s.stop(0);
    }
    drop(imp);
    pong.join()?;
    late.sort_unstable();
    let worst = late.last().copied().unwrap_or_default();
    let median = late[late.len() / 2];
    // The scheduler promises one quantum for each spinner; the limit is for one.
    let is_late = worst > LIMIT * spinners.max(1);
    println!(
        "responder: {}beside {spinners} that never yield, of whom {ended} ended: median {} us, worst {} us",
        if is_late { "late " } else { "" },
        median.as_micros(),
        worst.as_micros()
    );
    Ok(i32::from(is_late))
}
