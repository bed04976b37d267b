//! Kills of the name server, the console and the boot files, while clients bind, look for names and print.

use crate::clients::Clients;
use crate::services::{Manager, wait_for};
use crate::storm::{Draw, left_behind, settled, verdict};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::process::stop;
use sing_sdk::system;
use sing_sdk::time;

const WARDS: [&str; 3] = ["nameserver", "console", "bootfs"];
/// What clients need.
const NAMES: [&str; 3] = ["tame", "tame2", "clock"];

/// Kills them at random moments: every request is answered, and what was there before is there
/// after it, no more and no less.
pub fn kills(m: &mut Manager, times: u32) -> Result<i32, Error> {
    let mut draw = Draw(0x5eed);
    let mut round = |m: &mut Manager, times: u32| -> Result<(u32, u32), Error> {
        let mut clients = Clients::default();
        for _ in 0..4 {
            clients.start(&mut m.names, &["servicestorm", "client"])?;
        }
        let (mut killed, mut missed) = (0, 0);
        while killed < times {
            let s = m.status(WARDS[draw.below(3) as usize])?;
            if system::stop(s.process, stop::KILLED).is_ok() {
                killed += 1;
                println!("killed {killed}");
                let found = m.names.find("/boot/*.txt").is_ok_and(|all| !all.is_empty());
                missed += u32::from(!found);
            }
            time::sleep(Duration::from_micros(draw.below(3000)));
        }
        settle(m)?;
        let failed = missed + clients.end()?;
        settle(m)?;
        Ok((killed, failed))
    };
    settle(m)?;
    round(m, 20)?;
    let before = settled()?;
    let (killed, failed) = round(m, times)?;
    let left = left_behind("servicestorm", &before, 0, settled)?;
    Ok(verdict("servicestorm", left, killed, failed, "requests"))
}

/// Waits until wards and services run, and their names are back.
fn settle(m: &mut Manager) -> Result<(), Error> {
    for name in NAMES {
        let _ = m.start(name);
        wait_for(m, name, |s| s.state == ServiceState::Up)?;
    }
    let start = time::uptime();
    for path in [
        "/services/nameserver",
        "/test/tame",
        "/clock",
        "/boot/notes.txt",
    ] {
        while m.names.find(path).is_err() && time::uptime() - start < Duration::from_secs(5) {
            time::sleep(Duration::from_millis(1));
        }
    }
    // What they print is shown.
    time::sleep(Duration::from_millis(400));
    Ok(())
}
